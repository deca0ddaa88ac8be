use std::cell::{Cell, RefCell};

use befit_machine::{Bytes, ClusterId, Level};
use befit_program::ScopeId;
use befit_sched::SchedulerKind;

use super::{TWO_SOCKETS, forks, machine, program, reader, simulate, task};
use crate::{Settings, engine::REPORT, run};

#[test]
fn equal_seeds_give_equal_outcomes_and_others_differ() {
    let program = program(|b| (0..64).for_each(|i| reader(b, 1, i * 500, 1000, 3)));
    let machine = machine(TWO_SOCKETS);
    for kind in SchedulerKind::ALL {
        let [one, other] = [3, 3].map(|seed| simulate(&program, &machine, kind, seed));
        assert_eq!(one, other, "{kind}");
    }
    let times: Vec<_> =
        (0..8).map(|seed| simulate(&program, &machine, SchedulerKind::Ws, seed).time).collect();
    assert!(times.iter().any(|t| *t != times[0]), "seeds choose victims");
}

#[test]
fn every_touch_reaches_the_first_cache_once_and_every_line_comes_from_memory_once() {
    let program = program(|b| (0..10).for_each(|i| reader(b, 1, i * 100, 100, 1)));
    for kind in SchedulerKind::ALL {
        let outcome = simulate(&program, &machine(TWO_SOCKETS), kind, 1);
        assert_eq!(outcome.levels[0].level, Level(1));
        assert_eq!(outcome.levels[0].accesses.0, 1000, "{kind}");
        assert_eq!(outcome.memory_reads.0, 1000, "{kind}: disjoint and cold");
        assert_eq!(outcome.tasks, 11);
    }
}

#[test]
fn a_workers_time_is_accounted_for_in_full() {
    let program = program(|b| (0..20).for_each(|i| reader(b, 1, i * 100, 100, 5)));
    for kind in SchedulerKind::ALL {
        let outcome = simulate(&program, &machine(TWO_SOCKETS), kind, 1);
        for w in &outcome.workers {
            let parts = w.active + w.add + w.get + w.done + w.idle;
            assert_eq!(parts, outcome.time, "{kind}: {w:?}");
        }
    }
}

/// Idle time is what nothing else accounts for. One worker always has something to do.
#[test]
fn one_worker_is_never_idle() {
    let program = program(|b| (0..20).for_each(|i| reader(b, 1, i * 100, 100, 5)));
    let machine = machine("l3:1(size=1MiB) core:1 l1:1(size=32KiB) pu:1");
    for kind in SchedulerKind::ALL {
        let outcome = simulate(&program, &machine, kind, 1);
        assert!(outcome.workers[0].idle.0 <= outcome.time.0 / 1000, "{kind}: {outcome:?}");
    }
}

#[test]
fn an_anchored_tasks_children_stay_on_its_socket() {
    // Two tasks of 400 KiB befit an L3 each; each forks four readers of its own data.
    let program = program(|b| {
        for half in 0..2u64 {
            let scope = 2 + half as u32;
            task(b, 1, Some(Bytes::kib(400)), |b| {
                for _ in 0..3 {
                    (0..4).for_each(|i| reader(b, scope, half * 6400 + i * 1600, 1600, 1));
                    b.sync(ScopeId(scope)).unwrap();
                }
            });
        }
        b.sync(ScopeId(1)).unwrap();
    });
    let machine = machine(TWO_SOCKETS);
    for kind in [SchedulerKind::Sb, SchedulerKind::SbD] {
        let outcome = simulate(&program, &machine, kind, 1);
        let l3_misses = outcome.levels.iter().find(|l| l.level == Level(3)).unwrap().misses.0;
        assert_eq!(l3_misses, 12_800, "{kind}: each line is brought to one socket, once");
        let anchored = outcome.anchors.iter().sum::<u64>();
        assert_eq!(anchored, 2, "{kind}: the readers do not befit an L2");
        assert_eq!(outcome.anchors[ClusterId::ROOT.index()], 0);
    }
}

#[test]
fn a_stack_belongs_to_the_worker_that_runs_the_strand() {
    let program = forks(40, |b| {
        (0..8).for_each(|line| b.touch(line, true, true));
        b.work(5000, 0, 0);
    });
    let outcome = simulate(&program, &machine(TWO_SOCKETS), SchedulerKind::Ws, 1);
    assert_eq!(outcome.levels[0].coherence_misses.0, 0, "no stack is shared");
    assert!(outcome.memory_reads.0 <= 4 * 8, "one stack a worker");
}

#[test]
fn a_false_sharing_pair_pays_in_coherence_misses() {
    let program = forks(2, |b| {
        for _ in 0..1000 {
            b.touch(7, true, false);
            b.work(2000, 0, 0);
        }
    });
    let outcome = simulate(&program, &machine(TWO_SOCKETS), SchedulerKind::Ws, 1);
    let misses = outcome.levels[0].coherence_misses.0;
    assert!(misses > 500, "{misses}");
}

#[test]
fn progress_reports_every_touch_in_the_end() {
    let program = program(|b| (0..10).for_each(|i| reader(b, 1, i * 100, 100, 1)));
    let (told, times) = (Cell::new(0), Cell::new(0));
    let tell = |n| {
        told.set(told.get() + n);
        times.set(times.get() + 1);
    };
    run(&program, &machine(TWO_SOCKETS), &Settings::new(SchedulerKind::Ws, 1), &tell).unwrap();
    assert_eq!((told.get(), times.get()), (program.total_touches(), 1), "so few are told at once");
}

#[test]
fn progress_is_reported_as_soon_as_there_are_touches_enough() {
    let program = program(|b| (0..10).for_each(|i| reader(b, 1, i * 500, 500, 3)));
    let told = RefCell::new(Vec::new());
    let tell = |touches| told.borrow_mut().push(touches);
    run(&program, &machine(TWO_SOCKETS), &Settings::new(SchedulerKind::Ws, 1), &tell).unwrap();
    let told = told.into_inner();
    assert_eq!(told.iter().sum::<u64>(), program.total_touches());
    // The last is of what is left; the others have no more than a slice too many.
    let (_, full) = told.split_last().expect("a report");
    assert!(full.len() >= 3 && full.iter().all(|n| (REPORT..REPORT + 500).contains(n)), "{told:?}");
}

#[test]
fn tasks_of_outer_scopes_and_detached_ones_run_before_the_program_goes_on() {
    // The child's own child counts against the root's scope; the child does not wait for it.
    let outer = program(|b| {
        task(b, 1, None, |b| task(b, 1, None, |b| b.work(100_000, 0, 0)));
        b.sync(ScopeId(1)).unwrap();
        b.work(10, 0, 0);
    });
    let detached = program(|b| task(b, 0, None, |b| b.work(50_000, 0, 0)));
    let machine = machine("core:2 l1:1(size=32768) pu:1");
    for (program, least) in [(outer, 100_010), (detached, 50_000)] {
        let outcome = simulate(&program, &machine, SchedulerKind::Ws, 1);
        assert!(outcome.time.0 >= least, "{outcome:?}");
    }
}
