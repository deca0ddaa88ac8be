//! Tests of plans of simulations.

use std::{
    num::NonZeroU32,
    sync::atomic::{AtomicU64, Ordering},
};

use befit_machine::Bytes;
use befit_program::{Declared, Meta, ProgramBuilder, ScopeId};

use super::*;
use crate::{Silent, progress::testing::Notes, testing};

fn plan(seeds: u32) -> SimulationPlan {
    SimulationPlan {
        machines: vec![testing::machine(1), testing::machine(2)],
        schedulers: vec![SchedulerKind::Sb, SchedulerKind::Ws],
        seeds: Seeds::Fixed(NonZeroU32::new(seeds).unwrap()),
        options: Options::default(),
        shrink: 1,
        sampling: Sampling::Off,
    }
}

#[test]
fn results_come_by_machine_then_by_scheduler_as_the_plan_names_them() {
    let results = plan(2).simulate(&testing::program(), &Silent).unwrap();
    let order: Vec<_> = results.iter().map(|r| (r.workers, r.scheduler)).collect();
    let (sb, ws) = (SchedulerKind::Sb, SchedulerKind::Ws);
    assert_eq!(order, [(2, sb), (2, ws), (4, sb), (4, ws)]);
    assert!(results.iter().all(|r| r.seeds == 2 && r.command == "walks --n 8"));
}

#[test]
fn the_same_plan_gives_the_same_results() {
    let run = || plan(3).simulate(&testing::program(), &Silent).unwrap();
    assert_eq!(run(), run());
}

#[test]
fn without_an_account_all_else_is_the_same() {
    let program = testing::program();
    let with = plan(2).simulate(&program, &Silent).unwrap();
    let mut without = plan(2).simulate_unaccounted(&program, &Silent).unwrap();
    for (with, without) in with.iter().zip(&mut without) {
        assert!(with.account.total().0 > 0 && without.account.total().0 == 0);
        (without.account, without.contended) = (with.account, with.contended.clone());
        for (with, without) in with.runs.iter().zip(&mut without.runs) {
            without.account = with.account;
        }
    }
    assert_eq!(with, without);
}

#[test]
fn progress_reaches_its_end() {
    #[derive(Default)]
    struct Count {
        announced: AtomicU64,
        done: AtomicU64,
    }
    impl Progress for Count {
        fn simulating(&self, what: &str, runs: usize, touches: u64) {
            assert_eq!((what, runs), ("walks --n 8 on 2 machines", 12));
            self.announced.store(touches, Ordering::Relaxed);
        }
        fn advance(&self, touches: u64) {
            self.done.fetch_add(touches, Ordering::Relaxed);
        }
    }
    let count = Count::default();
    plan(3).simulate(&testing::program(), &count).unwrap();
    assert_eq!(count.announced.into_inner(), count.done.into_inner());
}

/// The plan with as many seeds as it takes.
fn enough(budget: u64) -> SimulationPlan {
    SimulationPlan { seeds: Seeds::Enough { budget }, ..plan(1) }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let on = |threads: usize| {
        let threads = NonZeroUsize::new(threads).unwrap();
        enough(u64::MAX).simulate_on(threads, &testing::program(), true, None, &Silent).unwrap()
    };
    let one = on(1);
    assert_eq!(one, on(3));
    // The test is of use only if seeds were added.
    assert!(one.iter().any(|r| r.seeds > 3), "{one:?}");
}

#[test]
fn seeds_are_added_until_the_interval_is_narrow_or_they_are_twenty() {
    for machine in enough(u64::MAX).simulate(&testing::program(), &Silent).unwrap().chunks(2) {
        let [base, other] = machine else { panic!("two schedulers") };
        assert_eq!(base.seeds, other.seeds);
        assert!(other.ratio.unwrap().is_narrow() || other.seeds == 20, "{other:?}");
        assert_eq!(base.ratio.map(|r| (r.estimate, r.width())), Some((1.0, 0.0)));
        // The seeds are the same as those of a fixed number.
        let fixed = plan(other.seeds).simulate(&testing::program(), &Silent).unwrap();
        assert!(fixed.contains(other));
    }
}

#[test]
fn a_budget_ends_the_seeds_and_a_note_says_so() {
    let notes = Notes::default();
    let results = enough(0).simulate(&testing::program(), &notes).unwrap();
    assert!(results.iter().all(|r| r.seeds == 3));
    let notes = notes.all();
    assert!(notes.len() == 1 && notes[0].contains("a budget of 0 touches"), "{notes:?}");
}

#[test]
fn a_budget_is_of_all_passes_together() {
    let (program, plan) = (testing::program(), enough(1_000_000));
    let machines = plan.places(&program).unwrap();
    let how = How { threads: NonZeroUsize::MIN, accounted: false, results: None };
    // Of the same budget, so much was spent by a pass before.
    let seeds = |mut spent: u64| {
        let before = spent;
        let found = plan.all_seeds(&how, &program, &machines, &mut spent, &Silent).unwrap();
        let seeds: Vec<_> = found.iter().map(Vec::len).collect();
        let made = seeds.iter().sum::<usize>() as u64;
        assert_eq!(spent - before, made * program.total_touches());
        seeds
    };
    assert!(seeds(0).iter().any(|seeds| *seeds > 3));
    assert_eq!(seeds(1_000_000), [3; 4]);
}

/// The interval of the only scheduler is that of its sample: it has no ratio.
#[test]
fn a_note_on_the_budget_says_how_far_a_sample_may_be_off() {
    let plan = SimulationPlan {
        machines: vec![testing::machine(1)],
        schedulers: vec![SchedulerKind::Ws],
        sampling: Sampling::Auto,
        ..enough(0)
    };
    // Of lines 64 apart one of two groups has all.
    let (program, notes) = (strides(64, 1000), Notes::default());
    let groups = Sampling::OneIn(2).groups(&program, &plan.machines[0]).unwrap();
    let how = How { threads: NonZeroUsize::MIN, accounted: false, results: None };
    let mut machines = plan.places(&program).unwrap();
    machines[0].groups = groups;
    let found = plan.all_seeds(&how, &program, &machines, &mut 0, &notes).unwrap();
    let off = 100.0 * Sampled::BAR * machines[0].roughness(&found[0]);
    assert!(off > 10.0, "the test is of use only if the sample is rough: {off}");
    let said = format!("a sample's figure is off by up to ±{off:.1} %");
    let notes = notes.all();
    assert!(notes.len() == 1 && notes[0].ends_with(&said), "{notes:?}");
}

/// Two tasks that touch lines `stride` apart, so many times each.
fn strides(stride: u64, touches: u64) -> Program {
    let meta = Meta { name: "strides".to_owned(), line_size: Bytes(64), filter: 8 };
    let mut builder = ProgramBuilder::new(meta);
    for task in 0..2 {
        builder.fork(ScopeId(1), Declared::default()).unwrap();
        for i in 0..touches {
            builder.touch((task * 40_000 + i % 40_000) * stride, false, false);
        }
        builder.work(touches, touches, 0);
        builder.end().unwrap();
    }
    builder.sync(ScopeId(1)).unwrap();
    builder.finish().unwrap()
}

#[test]
fn auto_samples_as_long_as_intervals_are_narrow() {
    let auto = SimulationPlan {
        machines: vec![testing::machine(1)],
        schedulers: vec![SchedulerKind::Ws],
        sampling: Sampling::Auto,
        ..plan(2)
    };
    // Of lines 64 apart one group has all, and the others none.
    for (stride, one_in) in [(1, Some(2)), (64, None)] {
        let result = &auto.simulate(&strides(stride, 2_000_000), &Silent).unwrap()[0];
        assert_eq!(result.sampled.as_ref().map(|sampled| sampled.one_in), one_in);
    }
}

#[test]
fn one_seed_has_no_interval() {
    let results = plan(1).simulate(&testing::program(), &Silent).unwrap();
    assert!(results.iter().all(|r| r.ratio.is_none() && r.misses_ratio.is_none()));
}

#[test]
fn last_level_misses_come_from_memory_or_from_another_last_level_cache() {
    for result in plan(1).simulate(&testing::program(), &Silent).unwrap() {
        let parts = result.memory_reads.median.0 + result.remote_hits.median.0;
        assert_eq!(result.last_level_misses.median.0, parts);
        // These caches are inclusive: no sibling supplies a line that the common one lacks.
        assert_eq!(result.levels.last().unwrap().misses.median.0, parts);
        assert_eq!(result.sibling_hits.median.0, 0);
    }
}

#[test]
fn worker_time_of_one_seed_sums_to_time_times_workers() {
    for result in plan(1).simulate(&testing::program(), &Silent).unwrap() {
        let t = result.worker_time;
        let parts = [t.active, t.add, t.get, t.done, t.idle];
        let sum: u64 = parts.iter().map(|p| p.median.0).sum();
        assert_eq!(sum, result.time.median.0 * u64::from(result.workers));
    }
}

/// Steals make one run unlike the next, and a larger part of the lines does not change that.
#[test]
fn auto_takes_more_seeds_before_it_takes_more_lines() {
    let meta = Meta { name: "stolen".to_owned(), line_size: Bytes(64), filter: 8 };
    let mut builder = ProgramBuilder::new(meta);
    for round in 0..2 {
        for task in 0..100 {
            builder.fork(ScopeId(1 + round), Declared::default()).unwrap();
            for i in 0..45_000 {
                builder.touch(task % 10 * 2000 + i % 2000, i % 5 == 0, false);
            }
            builder.work(20_000 * (1 + task % 7 * (task % 3)), 2_000, 0);
            builder.end().unwrap();
        }
        builder.sync(ScopeId(1 + round)).unwrap();
    }
    let program = builder.finish().unwrap();
    let machine = "pack:2 l3:1(size=512KiB) core:2 l2:1(size=64KiB) l1:1(size=32KiB) pu:1";
    let auto = SimulationPlan {
        machines: vec![machine.parse().unwrap()],
        schedulers: vec![SchedulerKind::Ws],
        sampling: Sampling::Auto,
        seeds: Seeds::default(),
        ..plan(2)
    };
    let result = &auto.simulate(&program, &Silent).unwrap()[0];
    let one_in = result.sampled.as_ref().map(|sampled| sampled.one_in);
    assert_eq!((one_in, result.seeds > 3), (Some(4), true), "{}", result.seeds);
}
