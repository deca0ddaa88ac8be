use befit_sched::SchedulerKind;

use super::{machine, program, simulate, task};

const CORES: &str =
    "(steal=20) l3:1(size=1048576 latency=40) core:CORES l1:1(size=32768 latency=4) pu:1";
const TIMES: u64 = 2000;

/// Cycles of one change of a word that two tasks change in turn, each after so many operations.
fn each(cores: u32, operations: u64, atomic: bool) -> f64 {
    let program = program(|b| {
        for _ in 0..2 {
            task(b, 1, None, |b| {
                for _ in 0..TIMES {
                    b.work(operations, 0, 0);
                    b.touch(100, true, false);
                }
            });
        }
        if atomic {
            b.atomic(100);
        }
        b.sync(befit_program::ScopeId(1)).expect("a sync");
    });
    let machine = machine(&CORES.replace("CORES", &cores.to_string()));
    simulate(&program, &machine, SchedulerKind::Ws, 1).time.0 as f64 / TIMES as f64
}

fn about(cycles: f64, expected: f64) {
    assert!((cycles / expected - 1.0).abs() < 0.05, "{cycles} for {expected}");
}

#[test]
fn a_common_word_is_changed_once_for_each_way_of_its_line() {
    // The way takes 36 cycles. With few operations the line is always on its way.
    about(each(2, 10, true), 72.0);
    about(each(2, 200, true), 236.0);
}

#[test]
fn a_word_that_one_worker_changes_costs_nothing_more() {
    about(each(1, 200, true), 400.0);
}

#[test]
fn ordinary_stores_wait_in_a_buffer() {
    assert!(each(2, 200, false) < 215.0);
}
