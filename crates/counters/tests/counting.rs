//! Counts of a thread and of the programs that it starts, checked with the kernel's events against
//! known work; and hardware counters, or their refusal.
//!
//! A kernel that forbids even its own counters (containers) leaves nothing to check: the tests then
//! only look at the message.
#![cfg(target_os = "linux")]

use std::{
    process::Command,
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

use befit_counters::{Children, CountersError, Counts, Hardware, Quantity, Software, Source};
use rustix::param::page_size;

/// Set for a test that runs again as a program.
const PROGRAM: &str = "BEFIT_TEST_PROGRAM";

/// The counters, or nothing where they are not permitted.
fn permitted<T>(opened: Result<T, CountersError>) -> Option<T> {
    match opened {
        Ok(counters) => Some(counters),
        Err(why) => {
            use CountersError::{Blocked, Forbidden, Unsupported};
            assert!(matches!(why, Forbidden { .. } | Blocked | Unsupported { .. }), "{why}");
            eprintln!("not tested: {why}");
            None
        }
    }
}

fn open() -> Option<Software> {
    permitted(Software::open())
}

/// Counts `work`, after a read that has the code of reading itself brought in.
fn counted(software: &mut Software, work: impl FnOnce()) -> Counts {
    software.read().unwrap();
    work();
    software.read().unwrap()
}

/// Pages that nothing has touched.
struct Fresh(memmap2::MmapMut);

impl Fresh {
    fn new(pages: usize) -> Self {
        let map = memmap2::MmapMut::map_anon(pages * page_size()).unwrap();
        // A huge page would take one fault for 512 of ours. Kernels without huge pages refuse the
        // advice.
        let _ = map.advise(memmap2::Advice::NoHugePage);
        Self(map)
    }

    fn touch(&mut self) {
        self.0.iter_mut().step_by(page_size()).for_each(|byte| *byte = 1);
    }
}

/// Keeps the processor busy for `time` of the wall clock.
fn spin(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

#[test]
fn touching_n_fresh_pages_takes_n_page_faults() {
    let Some(mut software) = open() else { return };
    for pages in [1, 10, 1_000] {
        let mut fresh = Fresh::new(pages);
        let first = counted(&mut software, || fresh.touch());
        assert_eq!(first.page_faults, Some(pages as u64), "the first time");
        let second = counted(&mut software, || fresh.touch());
        assert_eq!(second.page_faults, Some(0), "the second time");
    }
}

#[test]
fn another_threads_page_faults_do_not_show() {
    let Some(mut software) = open() else { return };
    let (start, end) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut fresh = Fresh::new(1_000);
            start.wait();
            let mut own = open().unwrap();
            let counts = counted(&mut own, || fresh.touch());
            assert_eq!(counts.page_faults, Some(1_000), "on the thread that touches");
            end.wait();
        });
        let counts = counted(&mut software, || {
            start.wait();
            end.wait();
        });
        let faults = counts.page_faults;
        assert!(faults < Some(20), "on the thread that waits: {faults:?}");
    });
}

#[test]
fn the_task_clock_grows_with_work_and_stands_still_in_sleep() {
    let Some(mut software) = open() else { return };
    let clock = |counts: Counts| counts.task_clock.unwrap();
    let asleep = clock(counted(&mut software, || thread::sleep(Duration::from_millis(50))));
    assert!(asleep < Duration::from_millis(10), "asleep for 50 ms: {asleep:?}");

    // The least of several: a processor shared with others is at times slower.
    let mut work = |rounds| {
        let times = (0..5).map(|_| counted(&mut software, || assert!(generate(rounds) > 0)));
        times.map(clock).min().unwrap()
    };
    let (little, much) = (work(1_000_000), work(20_000_000));
    assert!(much > little * 5, "20 times the work took {much:?} against {little:?}");
}

/// Work that the compiler cannot shorten, in registers only: a xorshift generator's state after
/// some rounds, never 0. A `black_box` in the loop would go through memory, whose speed varies.
fn generate(rounds: u64) -> u64 {
    (0..rounds).fold(std::hint::black_box(1), |mut state, _| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^ state << 17
    })
}

#[test]
fn the_task_clock_does_not_outrun_the_wall_clock() {
    let Some(mut software) = open() else { return };
    software.read().unwrap();
    let start = Instant::now();
    software.read().unwrap();
    spin(Duration::from_millis(5));
    let counts = software.read().unwrap();
    // The two are different clocks: one of them may be adjusted to the world's.
    assert!(counts.task_clock.unwrap() <= start.elapsed().mul_f64(1.01));
}

#[test]
fn waiting_gives_the_processor_away() {
    let Some(mut software) = open() else { return };
    let counts =
        counted(&mut software, || (0..5).for_each(|_| thread::sleep(Duration::from_millis(1))));
    match software.left_out().iter().find(|(quantity, _)| *quantity == Quantity::ContextSwitches) {
        // Programs without privileges may not count what happens inside the kernel.
        Some((_, why)) => {
            assert_eq!(counts.context_switches, None);
            assert!(why.to_string().contains("perf_event_paranoid"), "{why}");
        }
        None => assert!(counts.context_switches >= Some(5), "{:?}", counts.context_switches),
    }
}

#[test]
fn software_events_need_no_turns() {
    let Some(mut software) = open() else { return };
    let counts = counted(&mut software, || spin(Duration::from_millis(2)));
    assert_eq!(counts.coverage.share(), 1.0);
    assert!(counts.coverage.wanted > Duration::ZERO);
}

#[test]
fn closing_gives_the_descriptors_back() {
    if open().is_none() {
        return;
    }
    // Six descriptors each: were they kept, the usual limit of 1,024 would end this.
    for _ in 0..1_000 {
        drop(Software::open().unwrap());
    }
}

#[test]
fn hardware_counts_or_says_in_one_line_why_not() {
    match Hardware::open() {
        Ok(mut hardware) => {
            assert!(!hardware.events().is_empty());
            hardware.read().unwrap();
            (0..1_000_000).for_each(|n| _ = std::hint::black_box(n));
            let counts = hardware.read().unwrap();
            let listed =
                |quantity| hardware.events().iter().any(|event| event.quantity == quantity);
            assert_eq!(counts.private_misses.is_some(), listed(Quantity::PrivateMisses));
            if listed(Quantity::Instructions) && counts.coverage.share() == 1.0 {
                assert!(counts.instructions >= Some(1_000_000), "{counts:?}");
            }
        }
        Err(why) => {
            let message = why.to_string();
            eprintln!("here: {message}");
            assert!(!message.is_empty() && !message.contains('\n'), "{message}");
            let advice = !matches!(why, CountersError::Open { .. });
            assert!(advice, "a refusal without advice: {message}");
        }
    }
}

/// Runs the test `name` again, as a program.
fn again(name: &str) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = command.args([name, "--exact", "--nocapture"]).env(PROGRAM, "1").output().unwrap();
    assert!(output.status.success());
}

#[test]
fn a_program_is_counted_with_all_its_threads_and_what_it_starts() {
    if std::env::var_os(PROGRAM).is_some() {
        thread::scope(|scope| (0..3).for_each(|_| drop(scope.spawn(|| Fresh::new(2_000).touch()))));
        assert!(Command::new("true").status().unwrap().success());
        return;
    }
    let Some(mut children) = permitted(Children::software()) else { return };
    again("a_program_is_counted_with_all_its_threads_and_what_it_starts");
    let counts = children.read().unwrap();
    let faults = counts.page_faults.unwrap();
    assert!((6_000..12_000).contains(&faults), "{faults}");
    assert!(counts.task_clock.unwrap() > Duration::ZERO);
    assert!(counts.instructions.is_none());
}

#[test]
fn what_the_calling_thread_does_itself_is_not_counted() {
    let Some(mut children) = permitted(Children::software()) else { return };
    Fresh::new(10_000).touch();
    spin(Duration::from_millis(50));
    assert_eq!(children.read().unwrap().page_faults, Some(0));
    assert!(Command::new("true").status().unwrap().success());
    let counts = children.read().unwrap();
    assert!((1..5_000).contains(&counts.page_faults.unwrap()), "{counts:?}");
    assert!(counts.task_clock.unwrap() < Duration::from_millis(50), "{counts:?}");
}

/// Counters that had counted one program sometimes missed the next: the kernel had given them away
/// with the first.
#[test]
fn regression_each_program_is_counted_by_counters_of_its_own() {
    for _ in 0..30 {
        let Some(mut children) = permitted(Children::software()) else { return };
        assert!(Command::new("true").status().unwrap().success());
        let faults = children.read().unwrap().page_faults.unwrap();
        assert!(faults > 0);
    }
}

#[test]
fn hardware_counts_a_program_or_says_in_one_line_why_not() {
    match Children::hardware() {
        Ok(mut children) => {
            assert!(Command::new("true").status().unwrap().success());
            match children.read() {
                Ok(counts) => assert!(counts.instructions.is_none_or(|n| n > 10_000), "{counts:?}"),
                Err(why) => assert!(matches!(why, CountersError::StandStill), "{why}"),
            }
        }
        Err(why) => assert!(!why.to_string().contains('\n')),
    }
}
