//! What virtual workers keep to themselves, and what they leave to others.

use befit_machine::{Bytes, Cycles, Level};
use befit_program::{Program, ProgramBuilder, ScopeId};
use befit_sched::SchedulerKind;

use super::{TWO_SOCKETS, machine, program, simulate, task};
use crate::Outcome;

/// A binary tree of joins, `levels` deep, with `operations` in each leaf.
fn tree(b: &mut ProgramBuilder, levels: u32, operations: u64, scopes: &mut u32) {
    if levels == 0 {
        return b.work(operations, 0, 0);
    }
    *scopes += 1;
    let scope = *scopes;
    for _ in 0..2 {
        task(b, scope, None, |b| tree(b, levels - 1, operations, scopes));
    }
    b.sync(ScopeId(scope)).unwrap();
}

fn balanced(levels: u32, operations: u64) -> Program {
    program(|b| tree(b, levels, operations, &mut 0))
}

/// `levels` joins within one another, each after `before` operations, with a leaf of `operations`
/// as its second half; the innermost first half has `innermost`.
fn chain(b: &mut ProgramBuilder, levels: u32, [before, operations, innermost]: [u64; 3]) {
    if levels == 0 {
        return b.work(innermost, 0, 0);
    }
    b.work(before, 0, 0);
    task(b, levels, None, |b| chain(b, levels - 1, [before, operations, innermost]));
    task(b, levels, None, |b| b.work(operations, 0, 0));
    b.sync(ScopeId(levels)).unwrap();
}

/// The time of all workers' calls of the policy.
fn scheduling(outcome: &Outcome) -> u64 {
    outcome.workers.iter().map(|w| (w.add + w.get + w.done).0).sum()
}

fn active(outcome: &Outcome) -> u64 {
    outcome.workers.iter().map(|w| w.active.0).sum()
}

#[test]
fn on_one_worker_each_fork_costs_two_calls_and_the_policy_nothing() {
    let program = balanced(10, 20);
    for kind in SchedulerKind::ALL {
        let outcome = simulate(&program, &machine("core:1 l2:1 l1:1 pu:1"), kind, 1);
        assert_eq!(outcome.work, Cycles(1024 * 20));
        assert_eq!(active(&outcome), outcome.work.0 + 1023 * 2, "{kind}");
        // The root is added, taken and given back.
        assert!(scheduling(&outcome) < outcome.time.0 / 20, "{kind}: {}", scheduling(&outcome));
    }
}

/// The last that is spawned runs first, and waits; it goes on by way of the policy, which gets all
/// others before.
#[test]
fn a_worker_that_gives_the_policy_what_it_has_kept_is_not_idle() {
    let program = program(|b| {
        (0..100).for_each(|_| task(b, 1, None, |b| b.work(10, 0, 0)));
        task(b, 1, None, |b| {
            task(b, 2, None, |b| b.work(10, 0, 0));
            b.sync(ScopeId(2)).unwrap();
            b.work(10, 0, 0);
        });
        b.sync(ScopeId(1)).unwrap();
    });
    for kind in SchedulerKind::ALL {
        let outcome = simulate(&program, &machine("core:1 l2:1 l1:1 pu:1"), kind, 1);
        // The parts are rounded.
        assert!(outcome.workers[0].idle.0 < 8, "{kind}: {:?}", outcome.workers);
    }
}

#[test]
fn forks_down_to_single_calls_cost_little_and_speed_up_with_the_workers() {
    let program = balanced(18, 30);
    for kind in [SchedulerKind::Ws, SchedulerKind::Pws, SchedulerKind::Sb, SchedulerKind::SbD] {
        let outcome = simulate(&program, &machine(TWO_SOCKETS), kind, 1);
        let least = outcome.work.0 + 262_143 * 2;
        assert!(active(&outcome) < least * 11 / 10, "{kind}: {}", active(&outcome));
        assert!(scheduling(&outcome) < outcome.time.0 * 4 / 10, "{kind}: {}", scheduling(&outcome));
        assert!(outcome.time.0 < least * 10 / 35, "{kind}: {:?} of {least}", outcome.time);
    }
}

#[test]
fn a_worker_that_goes_into_a_long_leaf_leaves_its_forks_to_the_others() {
    let sizes = [5_000, 100_000, 6_400_000];
    let program = program(|b| chain(b, 64, sizes));
    let machine = machine("core:8 l1:1(size=32768) pu:1");
    let outcome = simulate(&program, &machine, SchedulerKind::Ws, 1);
    // Alone, it would run the 64 leaves after its own.
    assert!(outcome.time.0 < 64 * 5_000 + 6_400_000 + 3 * 100_000, "{:?}", outcome.time);
    assert_eq!(outcome.started_on[64], 0, "the innermost first half stays");
}

#[test]
fn forks_are_published_the_oldest_first() {
    let program = program(|b| chain(b, 40, [5_000, 1_000_000, 20_000_000]));
    let machine = machine("core:2 l1:1(size=32768) pu:1");
    let outcome = simulate(&program, &machine, SchedulerKind::Ws, 1);
    // By task: the root, the 40 first halves from the outermost in, the second halves from the
    // innermost out.
    let outermost = outcome.started_on[80];
    assert_eq!(outermost, 1, "{:?}", &outcome.started_on[41..]);
}

#[test]
fn a_worker_that_waits_leaves_all_of_its_forks_to_the_others() {
    let program = program(|b| {
        // Keeps the other worker while forks are made: nobody asks for those beyond the first.
        task(b, 100, None, |b| b.work(200_000, 0, 0));
        // Of eight joins within one another the first are published early, whatever happens.
        nest(b, 8, &|b, level| b.work(if level <= 4 { 400_000 } else { 10 }, 0, 0));
        b.sync(ScopeId(100)).unwrap();
    });
    let machine = machine("core:2 l1:1(size=32768) pu:1");
    let outcome = simulate(&program, &machine, SchedulerKind::Ws, 1);
    // It runs the four long halves meanwhile, the newest first. The other worker then finds the
    // short task among the older ones, and goes on with what waited for it.
    let least = 200_000 + 1_800_000;
    assert!((least..least + 10_000).contains(&outcome.time.0), "{:?}", outcome.time);
}

/// `level` joins within one another, with a second half that does `second`. The innermost first
/// half waits for a short task, and goes on for long.
fn nest(b: &mut ProgramBuilder, level: u32, second: &dyn Fn(&mut ProgramBuilder, u32)) {
    if level == 0 {
        task(b, 101, None, |b| b.work(10, 0, 0));
        b.sync(ScopeId(101)).unwrap();
        return b.work(1_800_000, 0, 0);
    }
    task(b, level, None, |b| nest(b, level - 1, second));
    task(b, level, None, |b| second(b, level));
    b.sync(ScopeId(level)).unwrap();
}

#[test]
fn a_half_that_newly_befits_a_shared_cache_is_placed() {
    // Both befit the L3 of 1 MiB; the quarters befit an L2 of one worker each.
    let program = program(|b| {
        for half in 0..2 {
            task(b, 1, Some(Bytes::kib(400)), |b| {
                for _ in 0..2 {
                    task(b, 2 + half, Some(Bytes::kib(30)), |b| b.work(1_000, 0, 0));
                }
                b.sync(ScopeId(2 + half)).unwrap();
            });
        }
        b.sync(ScopeId(1)).unwrap();
    });
    let alone =
        simulate(&program, &machine("core:1 l2:1(size=65536) l1:1 pu:1"), SchedulerKind::Sb, 1);
    assert_eq!(alone.anchors.iter().sum::<u64>(), 0, "{:?}", alone.anchors);
    let machine = machine(TWO_SOCKETS);
    let outcome = simulate(&program, &machine, SchedulerKind::Sb, 1);
    let levels = machine.clusters().iter().map(|cluster| cluster.cache.map(|cache| cache.level));
    let at_l3 = levels.zip(&outcome.anchors).filter(|(level, _)| *level == Some(Level(3)));
    assert_eq!(at_l3.map(|(_, anchors)| anchors).sum::<u64>(), 2, "{:?}", outcome.anchors);
}
