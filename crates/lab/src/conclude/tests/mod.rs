//! Programs with a known answer: the conclusion must name it first.

mod advice;
mod chance;

use std::num::NonZeroU32;

use befit_machine::{Bytes, Machine};
use befit_program::{Declared, Meta, Program, ProgramBuilder, ScopeId};
use befit_sched::{Options, SchedulerKind};

use super::{Cause, Change, Conclusion, Loss, Suggestion, find, rank_by_gain};
use crate::{Interval, Sampling, Seeds, Silent, SimulationPlan};

/// Four sockets of four cores; L3 256 KiB, L2 32 KiB, L1 8 KiB.
const SOCKETS: &str = "pack:4 l3:1(size=262144) core:4 l2:1(size=32768) l1:1(size=8192) pu:1";
/// The same with two hardware threads a core.
const THREADS: &str = "pack:4 l3:1(size=262144) core:4 l2:1(size=32768) l1:1(size=8192) pu:2";

fn machine(text: &str) -> Machine {
    let mut machine: Machine = text.parse().unwrap();
    // So much that it never binds, unless a test says otherwise.
    machine.memory.bandwidth = 1000.0;
    machine
}

fn program(body: impl FnOnce(&mut ProgramBuilder)) -> Program {
    let meta = Meta { name: "planted".to_owned(), line_size: Bytes(64), filter: 8 };
    let mut builder = ProgramBuilder::new(meta);
    body(&mut builder);
    builder.finish().unwrap()
}

fn fork(
    b: &mut ProgramBuilder,
    scope: u32,
    size: Option<u64>,
    body: impl FnOnce(&mut ProgramBuilder),
) {
    b.fork(ScopeId(scope), Declared { size: size.map(Bytes), strand: None }).unwrap();
    body(b);
    b.end().unwrap();
}

fn sync(b: &mut ProgramBuilder, scope: u32) {
    b.sync(ScopeId(scope)).unwrap();
}

/// So many tasks in a tree of joins; `leaf` is what each does.
fn tree(b: &mut ProgramBuilder, first: u64, tasks: u64, leaf: &dyn Fn(&mut ProgramBuilder, u64)) {
    if tasks == 1 {
        return leaf(b, first);
    }
    // A scope of its own for each join.
    let scope = (1000 + first * 64 + u64::from(tasks.ilog2())) as u32;
    let half = tasks / 2;
    fork(b, scope, None, |b| tree(b, first, half, leaf));
    fork(b, scope, None, |b| tree(b, first + half, tasks - half, leaf));
    sync(b, scope);
}

/// Reads the lines, with so many operations each.
fn read(b: &mut ProgramBuilder, lines: impl Iterator<Item = u64>, operations: u64) {
    for line in lines {
        b.touch(line, false, false);
        b.work(operations, 0, 0);
    }
}

fn conclude(program: &Program, machine: &Machine) -> Conclusion {
    conclude_by(program, machine, true)
}

fn conclude_by(program: &Program, machine: &Machine, tries: bool) -> Conclusion {
    use SchedulerKind::{Pws, Sb, SbD, Ws};
    let plan = SimulationPlan {
        machines: vec![machine.clone()],
        schedulers: vec![Ws, Pws, Sb, SbD],
        seeds: Seeds::Fixed(NonZeroU32::new(3).unwrap()),
        options: Options::default(),
        shrink: 1,
        sampling: Sampling::Off,
    };
    let results = plan.simulate(program, &Silent).unwrap();
    let mut all = plan.conclude(program, &results, tries, &Silent).unwrap();
    for result in &results {
        println!("{} {:?} {:?}", result.scheduler, result.time.median, result.ratio);
    }
    let conclusion = all.remove(0);
    println!("{conclusion:#?}");
    conclusion
}

/// The cause that is named first.
fn first(program: &Program, machine: &Machine) -> Option<Cause> {
    conclude(program, machine).losses.first().map(|loss| loss.cause)
}

#[test]
fn idle_caches() {
    // All data befit one last-level cache.
    let program = program(|b| {
        b.declare_root(Declared { size: Some(Bytes(100 << 10)), strand: None });
        tree(b, 0, 256, &|b, task| read(b, task * 6..task * 6 + 6, 1000));
    });
    assert_eq!(first(&program, &machine(SOCKETS)), Some(Cause::IdleCaches));
}

/// Tasks that each write their own word a thousand times; so many of them share a line.
fn counters(tasks: u64, a_line: u64) -> Program {
    program(|b| {
        tree(b, 0, tasks, &|b, task| {
            for _ in 0..1000 {
                b.touch(task / a_line, true, false);
                b.work(20, 20, 0);
            }
        });
    })
}

#[test]
fn false_sharing() {
    assert_eq!(first(&counters(256, 8), &machine(SOCKETS)), Some(Cause::FalseSharing));
}

#[test]
fn one_hot_line() {
    assert_eq!(first(&counters(64, 64), &machine(SOCKETS)), Some(Cause::HotLine));
}

fn loss(cause: Cause, share: f64) -> Loss {
    let scheduler = SchedulerKind::Sb;
    Loss { cause, scheduler, more_than_best: false, share, figures: Default::default() }
}

#[test]
fn what_has_one_cause_is_one_loss() {
    use Cause::{InputTooSmall, Memory, Serial};
    let other = Loss { more_than_best: true, ..loss(InputTooSmall, 0.1) };
    let mut losses = vec![loss(InputTooSmall, 0.2), other.clone(), loss(Serial, 0.02)];
    losses.extend([loss(Memory, 0.3), loss(InputTooSmall, 0.15)]);
    find::rank(&mut losses);
    let shares: Vec<_> = losses.iter().map(|loss| (loss.cause, loss.share)).collect();
    assert_eq!(shares, [(InputTooSmall, 0.35), (Memory, 0.3), (InputTooSmall, 0.1)]);
    assert_eq!(losses[2], other);
}

fn gains(change: Change, time: u64) -> Suggestion {
    let ratio = Interval::of([(100, time), (100, time + 1)]).unwrap();
    Suggestion { change, scheduler: SchedulerKind::Sb, ratio, seeds: 2 }
}

/// What is gained without the line was simulated; that idle workers lose anything was not.
#[test]
fn a_hot_line_comes_before_the_idle_caches_of_the_scheduler_that_spares_it() {
    let first = |suggestions: &[Suggestion]| {
        let mut losses = [loss(Cause::IdleCaches, 0.5), loss(Cause::HotLine, 0.4)];
        rank_by_gain(&mut losses, suggestions, None);
        losses[0].cause
    };
    let own = Change::OwnLines { lines: 1 };
    assert_eq!(first(&[]), Cause::IdleCaches);
    assert_eq!(first(&[gains(own.clone(), 70)]), Cause::IdleCaches);
    assert_eq!(first(&[gains(Change::Sizes, 5)]), Cause::IdleCaches);
    assert_eq!(first(&[gains(own, 5)]), Cause::HotLine);
}

/// Schedulers that leave no cache idle were simulated, and gain so much.
#[test]
fn idle_caches_weigh_no_more_than_schedulers_gain_that_leave_none_idle() {
    let first = |suggestions: &[Suggestion], unbound| {
        let mut losses = [loss(Cause::IdleCaches, 0.5), loss(Cause::GrainTooSmall, 0.2)];
        rank_by_gain(&mut losses, suggestions, unbound);
        let idle = losses.iter().find(|loss| loss.cause == Cause::IdleCaches);
        assert_eq!(idle.unwrap().figures.get("gain_without").copied(), unbound);
        losses[0].cause
    };
    assert_eq!(first(&[], None), Cause::IdleCaches);
    assert_eq!(first(&[], Some(0.3)), Cause::IdleCaches);
    assert_eq!(first(&[], Some(0.0)), Cause::GrainTooSmall);
    let coarser = gains(Change::Coarser { times: 9, operations: 1000 }, 40);
    assert_eq!(first(&[coarser], Some(0.4)), Cause::GrainTooSmall);
}

/// A few short tasks at a time over data that befit one L1. The scheduler that keeps them together
/// is the fastest: the workers that it leaves idle would only pass them to and fro.
#[test]
fn regression_idle_caches_are_no_cause_where_no_scheduler_gains_by_using_them() {
    let program = program(|b| {
        b.declare_root(Declared { size: Some(Bytes(2 << 10)), strand: None });
        for _ in 0..300 {
            for task in 0..6 {
                fork(b, 1, None, |b| {
                    b.touch(task, true, false);
                    b.work(300, 0, 0);
                });
            }
            sync(b, 1);
        }
    });
    // Without further simulations, too: the comparison has schedulers that use all caches.
    for tries in [true, false] {
        let conclusion = conclude_by(&program, &machine(SOCKETS), tries);
        assert_eq!(conclusion.choice.best, SchedulerKind::Sb);
        let of_best = conclusion.losses.iter().find(|loss| !loss.more_than_best);
        let cause = of_best.unwrap().cause;
        assert!(matches!(cause, Cause::GrainTooSmall | Cause::InputTooSmall), "{cause:?}");
    }
}

/// So many tasks of so many operations, spawned one by one.
fn spawned(tasks: u64, operations: u64) -> Program {
    program(|b| {
        for _ in 0..tasks {
            fork(b, 1, None, |b| b.work(operations, 0, 0));
        }
        sync(b, 1);
    })
}

#[test]
fn too_small_a_grain() {
    let conclusion = conclude(&spawned(20_000, 50), &machine(SOCKETS));
    assert_eq!(conclusion.losses[0].cause, Cause::GrainTooSmall);
    let advice = &conclusion.suggestions[0];
    let Change::Coarser { times, .. } = advice.change else { panic!("{advice:?}") };
    // The program as it was advised to be gains what was said, but for rounding.
    let advised = conclude(&spawned(20_000 / times, 50 * times), &machine(SOCKETS));
    let (ratio, time) = (advice.ratio, |of: &Conclusion| of.choice.cycles as f64);
    let found = time(&advised) / time(&conclusion);
    assert!((found - ratio.estimate).abs() < 0.02, "{found} {ratio:?}");
}

#[test]
fn regression_a_grain_that_costs_a_few_per_cent_is_found() {
    // Longer tasks gain less than half of the share: they are not many times longer.
    let conclusion = conclude(&spawned(2000, 80_000), &machine(SOCKETS));
    let loss = &conclusion.losses[0];
    assert!((0.03..0.09).contains(&loss.share), "{loss:?}");
    assert_eq!(loss.cause, Cause::GrainTooSmall);
}

#[test]
fn too_small_an_input() {
    let program = program(|b| tree(b, 0, 8, &|b, _| b.work(200_000, 0, 0)));
    assert_eq!(first(&program, &machine(SOCKETS)), Some(Cause::InputTooSmall));
}

#[test]
fn a_serial_phase() {
    let program = program(|b| {
        for phase in 0..3 {
            b.work(100_000, 0, 0);
            tree(b, phase * 1000, 64, &|b, _| b.work(10_000, 0, 0));
        }
    });
    assert_eq!(first(&program, &machine(SOCKETS)), Some(Cause::Serial));
}

#[test]
fn a_strided_walk() {
    // Columns of a matrix of 512 rows of 64 lines each: eight columns a line.
    let program = program(|b| {
        tree(b, 0, 64, &|b, column| {
            for _ in 0..8 {
                read(b, (0..512).map(|row| row * 64 + column), 4);
            }
        });
    });
    assert_eq!(first(&program, &machine(SOCKETS)), Some(Cause::Strides));
}

#[test]
fn pages_that_a_tlb_does_not_hold() {
    // Each task comes back again and again to one line in each of 128 pages, in no order.
    let program = program(|b| {
        tree(b, 0, 64, &|b, task| {
            for round in 0..8 {
                let page = |i: u64| task * 128 + (i * i * 37 + i * 11 + round) % 128;
                read(b, (0..128).map(|i| page(i) * 64 + page(i) * 7 % 64), 4);
            }
        });
    });
    let machine = |told| machine(&format!("({told}) {SOCKETS}"));
    let conclusion = conclude(&program, &machine("tlb=32 walk=400"));
    assert_eq!(conclusion.losses.first().map(|loss| loss.cause), Some(Cause::Walks));
    let change = conclusion.suggestions.first().map(|suggestion| &suggestion.change);
    assert_eq!(change, Some(&Change::HugePages));
    assert_ne!(first(&program, &machine("tlb=32 walk=1 tables=0")), Some(Cause::Walks));
}

#[test]
fn a_wrong_size() {
    // Each task declares half a last-level cache and touches 4 KiB.
    let program = program(|b| {
        b.declare_root(Declared { size: Some(Bytes(64 << 17)), strand: None });
        for task in 0..64 {
            fork(b, 1, Some(1 << 17), |b| {
                for _ in 0..20 {
                    read(b, task * 64..task * 64 + 64, 100);
                }
            });
        }
        sync(b, 1);
    });
    assert_eq!(first(&program, &machine(SOCKETS)), Some(Cause::WrongSizes));
}

#[test]
fn no_difference() {
    // Long tasks: locks that come from the other socket are 2 % of short ones under sb. And many:
    // at the end some worker has one more than others.
    let program = program(|b| tree(b, 0, 4096, &|b, _| b.work(200_000, 0, 0)));
    let conclusion = conclude(&program, &machine(SOCKETS));
    assert!(conclusion.choice.no_difference && conclusion.losses.is_empty());
    assert!(conclusion.suggestions.is_empty());
}

#[test]
fn bandwidth() {
    let mut machine = machine(SOCKETS);
    machine.memory.bandwidth = 1.0;
    let program = program(|b| {
        tree(b, 0, 256, &|b, task| read(b, task * 400..task * 400 + 400, 10));
    });
    assert_eq!(first(&program, &machine), Some(Cause::Bandwidth));
}

#[test]
fn imbalance() {
    let program = program(|b| {
        tree(b, 0, 256, &|b, task| b.work(if task == 200 { 300_000 } else { 5_000 }, 0, 0));
    });
    assert_eq!(first(&program, &machine(SOCKETS)), Some(Cause::Imbalance));
}

#[test]
fn oversubscription() {
    // 20 KiB a task: one befits an L2, two do not.
    let mut order: Vec<u64> = (0..320).collect();
    fastrand::Rng::with_seed(1).shuffle(&mut order);
    let program = program(|b| {
        tree(b, 0, 64, &|b, task| {
            for _ in 0..20 {
                read(b, order.iter().map(|line| task * 512 + line), 2);
            }
        });
    });
    assert_eq!(first(&program, &machine(THREADS)), Some(Cause::Oversubscription));
}
