use std::sync::Arc;

use befit_machine::{Bytes, ClusterId, Machine, WorkerId};
use befit_program::{Program, Sample, ScopeId};
use befit_sched::SchedulerKind;

use super::{TWO_SOCKETS, machine, program, samples, simulate, task, with_faults};
use crate::{Bounds, Outcome, Settings, account::Part, hardware::Hardware, run_within, sampled};

/// One core with the caches of a socket.
const ONE_CORE: &str = "(latency=200 bandwidth=8 parallelism=8 streams=10 window=50)
                        l3:1(size=1MiB latency=50) core:1 l2:1(size=128KiB latency=14)
                        l1:1(size=32KiB latency=4) pu:1";

/// Tasks that walk over lines of their own, twice, and now and then read one of all at random; they
/// declare their sizes.
fn mixed() -> Program {
    walks(true)
}

/// Those tasks, with or without the lines at random.
fn walks(with_random: bool) -> Program {
    program(|b| {
        let mut random = fastrand::Rng::with_seed(5);
        for round in 0..2 {
            for part in 0..64u64 {
                task(b, 1 + round, Some(Bytes::kib(128)), |b| {
                    for i in 0..1000 {
                        b.touch(part * 1000 + i, i % 4 == 0, false);
                        if with_random && random.bool() {
                            b.touch(random.u64(..64_000), false, false);
                        }
                        b.touch(part * 1000 + i % 300, false, false);
                        b.work(24, 8, 12);
                    }
                });
            }
            b.sync(ScopeId(1 + round)).unwrap();
        }
    })
}

fn simulate_sample(
    program: &Program,
    sample: &Sample,
    machine: &Machine,
    kind: SchedulerKind,
) -> Outcome {
    let bounds = Bounds::of(program, machine);
    run_within(program, Some(sample), machine, &Settings::new(kind, 1), bounds, &|_| {}).unwrap()
}

fn mean(outcomes: &[Outcome], of: impl Fn(&Outcome) -> u64) -> f64 {
    outcomes.iter().map(|outcome| of(outcome) as f64).sum::<f64>() / outcomes.len() as f64
}

#[test]
fn on_one_core_the_samples_of_all_groups_have_the_misses_of_the_whole() {
    let (program, machine) = (mixed(), machine(ONE_CORE));
    let whole = simulate(&program, &machine, SchedulerKind::Ws, 1);
    for one_in in [2, 16] {
        let samples = samples(&program, &machine, one_in);
        let of =
            |sample: &Arc<Sample>| simulate_sample(&program, sample, &machine, SchedulerKind::Ws);
        let outcomes: Vec<_> = samples.iter().map(of).collect();
        for (i, level) in whole.levels.iter().enumerate() {
            assert_eq!(mean(&outcomes, |o| o.levels[i].misses.0), level.misses.0 as f64);
        }
        assert_eq!(mean(&outcomes, |o| o.memory_reads.0), whole.memory_reads.0 as f64);
        assert_eq!(mean(&outcomes, |o| o.memory_writes.0), whole.memory_writes.0 as f64);
    }
}

#[test]
fn on_one_core_the_mean_time_of_the_samples_is_near_that_of_the_whole() {
    let machine = machine(ONE_CORE);
    // Streams overlap as those of the whole do. Misses that come at regular distances do not come
    // so in a sample, and so more of them share a window.
    for (program, near) in [(walks(false), 0.005), (mixed(), 0.14)] {
        let whole = simulate(&program, &machine, SchedulerKind::Ws, 1).time.0 as f64;
        for one_in in [2, 16] {
            let samples = samples(&program, &machine, one_in);
            let of = |sample: &Arc<Sample>| {
                simulate_sample(&program, sample, &machine, SchedulerKind::Ws)
            };
            let outcomes: Vec<_> = samples.iter().map(of).collect();
            let off = mean(&outcomes, |o| o.time.0) / whole - 1.0;
            assert!(off.abs() < near, "one in {one_in}: {off}");
        }
    }
}

#[test]
fn on_several_sockets_a_sample_is_near_the_whole() {
    let (program, machine) = (mixed(), machine(TWO_SOCKETS));
    for kind in [SchedulerKind::Ws, SchedulerKind::Sb] {
        let whole = simulate(&program, &machine, kind, 1);
        let samples = samples(&program, &machine, 4);
        let of = |sample: &Arc<Sample>| simulate_sample(&program, sample, &machine, kind);
        let outcomes: Vec<_> = samples.iter().map(of).collect();
        for (what, of) in [
            ("time", (|o| o.time.0) as fn(&Outcome) -> u64),
            ("L2 misses", |o| o.levels[1].misses.0),
            ("reads", |o| o.memory_reads.0),
            ("operations", |o| o.work.0),
        ] {
            let off = mean(&outcomes, of) / of(&whole) as f64 - 1.0;
            assert!(off.abs() < 0.08, "{kind} {what}: {off}");
        }
        assert_eq!(outcomes[0], simulate_sample(&program, &samples[0], &machine, kind));
    }
}

#[test]
fn lines_that_workers_fight_for_are_in_every_sample() {
    let program = program(|b| {
        for part in 0..16u64 {
            task(b, 1, None, |b| {
                for i in 0..3000 {
                    b.touch(part * 64 + i % 50, false, false);
                    if i % 10 == 0 {
                        b.touch(7, true, false);
                    }
                    b.work(24, 8, 12);
                }
            });
        }
        b.sync(ScopeId(1)).unwrap();
    });
    let machine = machine(TWO_SOCKETS);
    let whole = simulate(&program, &machine, SchedulerKind::Ws, 1).levels[0].coherence_misses.0;
    assert!(whole > 1000, "{whole}");
    for sample in samples(&program, &machine, 8) {
        assert_eq!(sample.hot().len(), 1);
        let outcome = simulate_sample(&program, &sample, &machine, SchedulerKind::Ws);
        let found = outcome.levels[0].coherence_misses.0;
        assert!(found > whole / 2 && found < 2 * whole, "{found} of {whole}");
        assert_eq!(outcome.levels[0].fought_misses.0, found, "of that line alone");
    }
}

#[test]
fn what_one_worker_gives_another_takes_as_long_in_a_sample() {
    let (program, machine) = (mixed(), machine(TWO_SOCKETS));
    let between = |sample| {
        let hardware = Hardware::new(&program, sample, &machine, 1, false).unwrap();
        let (first, last) = (WorkerId(0), WorkerId(machine.workers().len() as u32 - 1));
        [(ClusterId(1), WorkerId(1)), (ClusterId::ROOT, last)]
            .map(|(common, other)| hardware.handover(first, other, common))
    };
    let whole = between(None);
    assert!(whole.iter().all(|time| time.0 > 0), "{whole:?}");
    assert_eq!(between(Some(&samples(&program, &machine, 8)[3])), whole);
}

/// Tasks on four cores that change one word in turn.
fn counter() -> Program {
    program(|b| {
        b.atomic(7);
        for part in 0..8u64 {
            task(b, 1, None, |b| {
                for i in 0..1000 {
                    (0..9).for_each(|j| b.touch(99 * (1 + part) + (i + 11 * j) % 99, false, false));
                    b.touch(7, true, false);
                    b.work(24, 8, 12);
                }
            });
        }
        b.sync(ScopeId(1)).unwrap();
    })
}

#[test]
fn an_atomic_line_takes_no_less_than_the_machine_says_in_a_sample() {
    let machine = machine(
        "(latency=200 steal=2000 far-steal=2000) pack:2 l2:1(size=128KiB ways=8) core:2
         l1:1(size=32KiB ways=8) pu:1",
    );
    let program = counter();
    let waited = |outcome: &Outcome| outcome.account.get(Part::Handovers).0 as f64;
    let whole = waited(&simulate(&program, &machine, SchedulerKind::Ws, 1));
    for sample in samples(&program, &machine, 8) {
        let sampled = waited(&simulate_sample(&program, &sample, &machine, SchedulerKind::Ws));
        assert!((0.6..1.6).contains(&(sampled / whole)), "{sampled} of {whole}");
    }
}

#[test]
fn lines_that_are_fought_for_have_the_recording_s_numbers_in_a_sample() {
    let (program, machine) = (counter(), machine(TWO_SOCKETS));
    for sample in samples(&program, &machine, 8) {
        let outcome = simulate_sample(&program, &sample, &machine, SchedulerKind::Ws);
        assert_eq!(outcome.contended.first().map(|worst| worst.line), Some(7));
    }
}

#[test]
fn a_page_costs_one_fault_in_a_sample_whatever_the_length_of_its_lines() {
    let program = program(|b| (0..64 * 50).for_each(|line| b.touch(line, true, false)));
    let program = with_faults(program);
    for mut machine in [machine(ONE_CORE), machine_with_long_lines()] {
        machine.prices.fault = 500.0;
        let faults = |outcome: &Outcome| outcome.account.get(Part::Faults).0;
        assert_eq!(faults(&simulate(&program, &machine, SchedulerKind::Ws, 1)), 50 * 500);
        for sample in samples(&program, &machine, 4) {
            let outcome = simulate_sample(&program, &sample, &machine, SchedulerKind::Ws);
            assert_eq!(faults(&outcome), 50 * 500);
        }
    }
}

#[test]
fn pages_with_few_lines_cost_as_much_in_a_sample() {
    // A line of each page, at another place each time.
    let program = program(|b| (0..2000).for_each(|i| b.touch(64 * i + i * 37 % 64, true, false)));
    let program = with_faults(program);
    let mut machine = machine(ONE_CORE);
    machine.prices.fault = 500.0;
    for sample in samples(&program, &machine, 8) {
        let outcome = simulate_sample(&program, &sample, &machine, SchedulerKind::Ws);
        let faults = outcome.account.get(Part::Faults).0 as f64;
        assert!((faults / (2000.0 * 500.0) - 1.0).abs() < 0.01, "{faults}");
    }
}

#[test]
fn a_sample_has_a_line_of_each_page_and_of_each_run_that_is_followed() {
    let long = machine_with_long_lines();
    let count = |one_in| sampled::groups(&long, Bytes(64), one_in).is_some();
    assert!(count(32) && !count(64));
    let most = |text: &str| sampled::most(&text.parse().unwrap(), Bytes(64));
    assert_eq!(most("(runs=64) l1:1(size=32KiB) pu:1"), 16);
    assert_eq!(most("(runs=64) l1:1(size=32KiB line=128) pu:1"), 8);
    assert_eq!(most("l1:1(size=32KiB) pu:1"), u32::MAX);
}

#[test]
fn a_machine_is_divided_only_as_its_sets_allow() {
    let line = Bytes(64);
    let count = |text: &str, one_in| sampled::groups(&machine(text), line, one_in).is_some();
    assert!(count("l1:1(size=32KiB ways=8) pu:1", 64));
    assert!(count("l1:1(size=2KiB ways=8) pu:1", 4) && !count("l1:1(size=2KiB ways=8) pu:1", 8));
    assert!(!count("l2:1(size=96KiB ways=16) l1:1(size=32KiB ways=8) pu:1", 64));
}

#[test]
fn a_sample_of_other_lines_than_the_machine_s_is_refused() {
    let (program, machine) = (mixed(), machine(ONE_CORE));
    let coarse = machine_with_long_lines();
    let sample = &samples(&program, &coarse, 4)[0];
    let bounds = Bounds::of(&program, &machine);
    let settings = Settings::new(SchedulerKind::Ws, 1);
    let error = run_within(&program, Some(sample), &machine, &settings, bounds, &|_| {});
    assert!(error.unwrap_err().to_string().contains("lines of another length"));
}

fn machine_with_long_lines() -> Machine {
    machine("l2:1(size=128KiB line=128 ways=8) l1:1(size=64KiB line=128 ways=4) pu:1")
}
