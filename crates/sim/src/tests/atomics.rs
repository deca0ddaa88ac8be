use befit_machine::WorkerId;
use befit_program::StrandId;
use befit_sched::SchedulerKind;

use super::{machine, program, simulate, task};
use crate::{Outcome, Part, clock::Ticks, execution::Execution, hardware::Hardware};

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

/// One worker that adds to words in `lines` lines, one after another, twice.
fn alone(lines: u64, on: &str) -> Outcome {
    let program = program(|b| {
        (0..lines).for_each(|line| b.atomic(64 * line));
        for line in (0..lines).chain(0..lines) {
            b.work(10, 0, 0);
            b.touch(64 * line, true, false);
        }
    });
    simulate(&program, &machine(on), SchedulerKind::Ws, 1)
}

#[test]
fn what_nobody_else_has_used_waits_for_memory_and_its_page_and_is_no_handover() {
    const LINES: u64 = 4000;
    // One line of each page, in which nothing is found again.
    let caches = "l2:1(size=32KiB latency=14) l1:1(size=4KiB latency=4) pu:1";
    let figures = "latency=300 parallelism=16 window=500";
    let outcome = alone(LINES, &format!("({figures}) {caches}"));
    let each = |outcome: &Outcome| outcome.time.0 as f64 / (2 * LINES) as f64;
    about(each(&outcome), 10.0 + 296.0);
    let waited = |part| outcome.account.get(part).0 as f64 / (2 * LINES) as f64;
    assert_eq!(waited(Part::Handovers), 0.0);
    assert!(waited(Part::Memory) + waited(Part::Strides) + waited(Part::Bandwidth) > 290.0);
    assert_eq!(outcome.contended, []);
    // The walk comes before it: its own cycles, and lines of tables, of which some are found.
    let walked = alone(LINES, &format!("({figures} tlb=64 walk=60 tables=1 walks=1) {caches}"));
    assert!(each(&walked) > each(&outcome) + 59.0, "{} {}", each(&walked), each(&outcome));
}

#[test]
fn ordinary_stores_wait_in_a_buffer() {
    assert!(each(2, 200, false) < 215.0);
}

/// How long worker 0 waits for a word that all four workers have read and that it writes, with its
/// line in its own cache; `last` of the others has read it last.
fn taken(figures: &str, last: u32) -> f64 {
    let program = program(|b| {
        for write in [false, true] {
            task(b, 1, None, |b| {
                b.touch(100, write, false);
                b.work(1, 0, 0);
            });
        }
        b.atomic(100);
    });
    let caches = "l3:1(size=1MiB latency=40 transfer=90) core:2 l1:1(size=32KiB latency=4) pu:1";
    let machine = machine(&format!("(remote=300 far=500 {figures}) pack:2 {caches}"));
    let mut hardware = Hardware::new(&program, None, &machine, 1, true).expect("it is modelled");
    let mut time = |worker, strand, begin| {
        hardware.enter(WorkerId(worker), Ticks::default());
        let (begin, late) = (Ticks::cycles(begin), Ticks(u64::MAX / 2));
        let mut execution = Execution::new(&program, None, StrandId(strand));
        let (end, ended, _) = execution.run(&mut hardware, WorkerId(worker), begin, late, late);
        assert!(ended);
        (end + hardware.leave(WorkerId(worker), end)).since(begin).whole().0 as f64
    };
    for (turn, worker) in (0..).zip((0..4).filter(|worker| *worker != last).chain([last])) {
        time(worker, 0, turn * 10_000);
    }
    let wait = time(0, 1, 100_000) - 1.0;
    assert_eq!(time(0, 1, 110_000), 1.0, "it has the line to itself");
    wait
}

#[test]
fn a_word_in_the_worker_s_own_cache_waits_for_the_way_from_the_other_that_had_it() {
    // By the common cache, 4 cycles of whose latency are hidden; a core gives nothing away sooner.
    assert_eq!([taken("steal=20", 1), taken("steal=120", 1)], [86.0, 120.0]);
    assert_eq!([taken("far-steal=20", 2), taken("far-steal=600", 3)], [496.0, 600.0]);
}
