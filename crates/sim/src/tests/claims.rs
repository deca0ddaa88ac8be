use befit_machine::Bytes;
use befit_program::{Declared, Program, ScopeId};
use befit_sched::{Counting, Options, SchedulerKind};

use super::{machine, program};
use crate::{Outcome, Settings, run};

const TWO_SOCKETS: &str = "pack:2 l3:1(size=1048576) core:2 l2:1(size=65536) l1:1(size=8192) pu:1";

/// Eight tasks of 4,000 lines, four of 500 in each, that all declare `size` bytes.
fn declaring(size: u64) -> Program {
    program(|b| {
        let declared = |size| Declared { size: Some(Bytes(size)), strand: None };
        for task in 0..8 {
            b.fork(ScopeId(1), declared(size)).unwrap();
            for part in 0..4 {
                b.fork(ScopeId(2 + task), declared(size / 4)).unwrap();
                (0..500).for_each(|line| {
                    b.touch(u64::from(task) * 4000 + part * 500 + line, line % 2 == 0, false)
                });
                b.work(5000, 0, 0);
                b.end().unwrap();
            }
            b.sync(ScopeId(2 + task)).unwrap();
            b.end().unwrap();
        }
        b.sync(ScopeId(1)).unwrap();
    })
}

fn simulate(size: u64, scheduler: SchedulerKind, counting: Counting) -> Outcome {
    let options = Options { counting, ..Options::default() };
    let settings = Settings { options, ..Settings::new(scheduler, 1) };
    run(&declaring(size), &machine(TWO_SOCKETS), &settings, &|_| {}).expect("it runs")
}

#[test]
fn a_wrong_size_breaks_neither_the_run_nor_the_bounded_property() {
    let machine = machine(TWO_SOCKETS);
    for scheduler in [SchedulerKind::Sb, SchedulerKind::SbD] {
        for counting in [Counting::Capped, Counting::Full] {
            // Nothing, a line, far too little, right, just above what befits, far too much.
            for size in [0, 64, 5_000, 128_000, 524_289, u64::MAX / 2] {
                let outcome = simulate(size, scheduler, counting);
                assert_eq!(outcome.tasks, 1 + 8 + 8 * 4, "{scheduler}, {counting:?}, {size}");
                assert_eq!(outcome.occupancy.len(), machine.clusters().len());
                for (occupancy, cluster) in outcome.occupancy.iter().zip(machine.clusters()) {
                    assert!(
                        occupancy.max <= cluster.size() && occupancy.mean <= occupancy.max,
                        "{occupancy:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn occupancy_is_what_is_anchored_and_passes() {
    // Each of 128 KB befits an L3 and is anchored there; its parts of 32,000 bytes befit an L2.
    let outcome = simulate(128_000, SchedulerKind::Sb, Counting::Capped);
    let l3 = outcome.occupancy[1];
    assert!(l3.max >= Bytes(128_000) && l3.mean > Bytes(0), "{l3:?}");
    assert_eq!(outcome.occupancy[0].max, Bytes(0), "nothing is claimed of memory");
    assert!(simulate(128_000, SchedulerKind::Ws, Counting::Capped).occupancy.is_empty());
}

#[test]
fn strands_that_count_in_full_shut_out_what_strands_at_mu_leave_room_for() {
    // Strands of tasks that befit no cache claim an L2 each: in full all of it, capped a fifth.
    let largest = |counting| simulate(u64::MAX / 2, SchedulerKind::Sb, counting).occupancy[1].max;
    assert_eq!(largest(Counting::Full), Bytes(1 << 20));
    assert!(largest(Counting::Capped) < Bytes(1 << 20));
}
