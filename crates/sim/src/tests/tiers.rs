//! Policies with two tiers, on a stencil: the same tasks over the same data, again and again.

use befit_program::{Declared, Program, ScopeId};
use befit_sched::SchedulerKind;

use super::{machine, program, reader, simulate};

/// Two sockets of two cores, 128 KiB of shared cache each: 2,048 lines.
const TWO_SOCKETS: &str = "pack:2 l3:1(size=131072) core:2 l2:1(size=8192) l1:1(size=4096) pu:1";

/// `rounds` times a tree of two halves, each of eight tasks that read 190 lines of their own: 3,040
/// lines in all.
fn rounds(rounds: u32) -> Program {
    program(|b| {
        for round in 0..rounds {
            // A scope is over with its sync.
            let of = |i: u32| ScopeId(3 * round + i + 1);
            for half in 0..2 {
                b.fork(of(0), Declared::default()).unwrap();
                (0..8)
                    .for_each(|i| reader(b, of(1 + half).0, u64::from(8 * half + i) * 190, 190, 4));
                b.sync(of(1 + half)).unwrap();
                b.end().unwrap();
            }
            b.sync(of(0)).unwrap();
        }
    })
}

#[test]
fn sticky_subtrees_find_their_data_in_their_sockets_cache() {
    let (program, machine) = (rounds(20), machine(TWO_SOCKETS));
    let misses =
        |kind| simulate(&program, &machine, kind, 1).levels.last().expect("a cache").misses.0;
    let (plain, sticky) = (misses(SchedulerKind::CilkA), misses(SchedulerKind::CatsS));
    assert!(sticky * 3 < plain, "{sticky} against {plain}");
}

#[test]
fn simulated_caches_measure_what_a_subtree_touches() {
    let outcome = simulate(&rounds(5), &machine(TWO_SOCKETS), SchedulerKind::Cats, 1);
    let tiers = outcome.tiers.expect("two tiers");
    assert_eq!((tiers.partitions, tiers.subtrees.len()), (1, 2), "{tiers:?}");
    for subtree in &tiers.subtrees {
        let lines = subtree.soid.0 / 64;
        assert!((1_500..1_900).contains(&lines), "{lines} of 1,520 lines");
    }
}

#[test]
fn what_is_done_once_is_cut_by_none_and_ends_under_all() {
    for kind in SchedulerKind::ALL {
        let outcome = simulate(&rounds(1), &machine(TWO_SOCKETS), kind, 1);
        assert!(outcome.tiers.is_none_or(|tiers| tiers.partitions == 0), "{kind}");
        assert_eq!(outcome.started_on.len(), 19, "{kind}");
    }
}
