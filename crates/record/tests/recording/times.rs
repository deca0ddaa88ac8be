//! Programs whose work is timed: strands, regions, whole processes.

use std::{cell::Cell, path::PathBuf, process::Command, sync::LazyLock};

use befit_program::{Op, Program, TaskId};
use befit_record::{RecordError, StreamError, Timed, Watch, time};

use super::{PROBE, built, program};

/// The probe without instrumentation, to be timed.
static PLAIN: LazyLock<PathBuf> = LazyLock::new(|| built("probe-work", true));

const UNWATCHED: Watch<'_> = Watch { progress: &|_, _, _| {}, is_quiet: &|_| true };

/// Times `name` as the work run of `program`.
fn timed(name: &str, program: &Program) -> Result<Timed, RecordError> {
    timed_watched(name, program, UNWATCHED)
}

fn timed_watched(name: &str, program: &Program, watch: Watch<'_>) -> Result<Timed, RecordError> {
    let command = || {
        let mut command = Command::new(&*PLAIN);
        command.arg(name);
        command
    };
    time(&command, program, true, watch)
}

#[test]
fn strands_of_known_length_are_timed_within_a_fifth() {
    let program = program("spins");
    let wrong = || {
        let timed = timed("spins", &program).unwrap();
        assert_eq!(timed.regions, 1);
        for (task, milliseconds) in [(2, 2.0), (3, 6.0)] {
            let Some(Op::Strand(strand)) = program.ops(TaskId(task)).next() else {
                panic!("one strand")
            };
            let found = timed.strands[strand.0 as usize].picoseconds as f64 / 1e9;
            if !(0.8..1.2).contains(&(found / milliseconds)) {
                return Some(format!("{found} ms, not {milliseconds}"));
            }
        }
        let total = timed.total_ps as f64 / 1e9;
        (!(8.0..9.6).contains(&total)).then(|| format!("{total} ms in all"))
    };
    // The system may give the processor to others in the middle of every run, but not for long.
    let tries: Vec<_> = (0..20).map_while(|_| wrong()).collect();
    assert!(tries.len() < 20, "{tries:?}");
}

#[test]
fn a_total_counts_if_the_machine_was_quiet_before_it_and_after() {
    let program = program("join");
    let (begun, asked_for) = (Cell::new(0), Cell::new(0));
    let progress = |total: bool, _, of| {
        begun.set(begun.get() + usize::from(total));
        asked_for.set(of);
    };
    // Quiet until a total has begun, disturbed for two looks, and quiet from then on: the first
    // total is timed again, and something is waited for.
    let looks = Cell::new(0);
    let is_quiet = |_| {
        looks.set(looks.get() + u32::from(begun.get() > 0));
        !(1..=2).contains(&looks.get())
    };
    let watch = Watch { progress: &progress, is_quiet: &is_quiet };
    assert!(timed_watched("join", &program, watch).unwrap().undisturbed);
    assert_eq!(begun.replace(0), asked_for.get() + 1);
    looks.set(3);
    assert!(timed_watched("join", &program, watch).unwrap().undisturbed);
    assert_eq!(begun.get(), asked_for.get());
}

/// Also while other programs run: each clock counts the time of its own thread or process. A core
/// may slow down in the middle of a run, so a few runs may be wrong.
#[test]
fn of_the_processor_time_a_region_has_its_own_share() {
    let program = program("before");
    let wrong = || {
        let timed = timed("before", &program).unwrap();
        let share = timed.regions_ps as f64 / timed.process_ps as f64;
        (!(0.25..0.4).contains(&share)).then_some(share)
    };
    let tries: Vec<_> = (0..20).map_while(|_| wrong()).collect();
    assert!(tries.len() < 20, "{tries:?}");
}

#[test]
fn first_touches_of_pages_are_counted_with_their_strand() {
    let program = program("faults");
    let timed = timed("faults", &program).unwrap();
    let faults: u64 = timed.strands.iter().map(|strand| u64::from(strand.faults)).sum();
    // 64 MiB are 32 huge pages, or 16384 small ones.
    assert!((32..17_000).contains(&faults), "{faults} faults");
    assert!((32..17_000).contains(&timed.faults_total), "{} faults", timed.faults_total);
}

/// What the events of a total run say of its regions: nanoseconds, ticks, nanoseconds of processor
/// time.
fn regions(name: &str) -> Vec<[u64; 3]> {
    let mut command = Command::new(&*PLAIN);
    command.arg(name).env("BEFIT_RECORD_FD", "1").env("BEFIT_RECORD_TOTAL", "1");
    let stream = command.output().unwrap().stdout;
    let words: Vec<u64> =
        stream.as_chunks().0.iter().map(|bytes| u64::from_ne_bytes(*bytes)).collect();
    // Between what the process says at its beginning and at its end.
    let regions = words[2..words.len() - 2].chunks_exact(5);
    regions.map(|words| [words[1], words[2], words[4]]).collect()
}

#[test]
fn regression_brief_regions_have_the_time_of_their_ticks_and_no_clock_s() {
    let wrong = || {
        let regions = regions("brief");
        let [time, ticks, used] = [0, 1, 2].map(|i| {
            let brief: u64 = regions[1..].iter().map(|region| region[i]).sum();
            brief as f64
        });
        let rate = regions[0][0] as f64 / regions[0][1] as f64;
        let stretched = time / (ticks * rate);
        let right = (0.99..1.01).contains(&stretched) && (0.9..=1.0).contains(&(used / time));
        (!right).then(|| format!("{time} ns, {stretched} of its ticks, {used} used"))
    };
    let tries: Vec<_> = (0..20).map_while(|_| wrong()).collect();
    assert!(tries.len() < 20, "{tries:?}");
}

#[test]
fn a_program_that_forks_otherwise_in_its_work_run_is_an_error_that_says_so() {
    let error = timed("scope", &program("join")).unwrap_err();
    assert!(matches!(error, RecordError::Stream(StreamError::Differs(_), _)), "{error}");
    assert!(error.to_string().contains("differs from run to run"), "{error}");
}

#[test]
fn an_instrumented_build_is_no_work_run() {
    let command = || {
        let mut command = Command::new(&*PROBE);
        command.arg("join");
        command
    };
    let error = time(&command, &program("join"), true, UNWATCHED).unwrap_err();
    assert!(matches!(error, RecordError::Stream(StreamError::NotARecording, _)), "{error}");
}
