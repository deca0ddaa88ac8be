//! Every wire has a width: streams that are bound by one of them, calculated by hand.

use befit_machine::{Machine, WorkerId};
use befit_program::{Op, Program, StrandId, TaskId};

use super::{program, task};
use crate::{clock::Ticks, execution::Execution, hardware::Hardware};

/// Lines of each region.
const LINES: u64 = 20_000;
/// Those of a region, in bytes.
const BYTES: f64 = 64.0 * LINES as f64;

/// Memory and latencies that bind nothing: what is left is the wires.
const WIDE: &str = "latency=300 remote=300 bandwidth=100000 controllers=2 parallelism=1000 \
                    streams=1000 operation=0.01";

/// A machine with these figures and this tree; each last-level cache has one core.
fn machine(figures: &str, outer: &str, link: &str) -> Machine {
    let caches = format!("l3:1(size=64MiB ways=16 {link})");
    let text = format!("({WIDE} {figures}) {outer} {caches} core:1 l1:1(size=32KiB) pu:1");
    text.parse().unwrap()
}

/// A strand for each region and for reading or writing it, in turn.
fn strands(regions: u64) -> Program {
    program(|b| {
        for region in 0..regions {
            for write in [false, true] {
                task(b, 1, None, |b| {
                    (0..LINES).for_each(|i| b.touch(region * LINES + i, write, false));
                    b.work(LINES, 0, 0);
                });
            }
        }
    })
}

fn strand(program: &Program, region: u32, write: bool) -> StrandId {
    let mut ops = program.ops(TaskId(1 + 2 * region + u32::from(write)));
    let strand = ops.find_map(|op| match op {
        Op::Strand(strand) => Some(strand),
        _ => None,
    });
    strand.unwrap()
}

/// Worker w reads or writes the region `of[w]`, all at the same time; returns how many cycles that
/// takes from `start` on.
fn phase(hardware: &mut Hardware, program: &Program, start: f64, of: &[u32], write: bool) -> f64 {
    let start = Ticks::fractional(start);
    let mut running: Vec<_> = (0..)
        .zip(of)
        .map(|(w, region)| {
            hardware.enter(WorkerId(w), Ticks::default());
            let execution = Execution::new(program, None, strand(program, *region, write));
            (WorkerId(w), start, execution, false)
        })
        .collect();
    let mut until = start;
    while running.iter().any(|(.., ended)| !ended) {
        until += Ticks::cycles(500);
        for (worker, clock, execution, ended) in running.iter_mut().filter(|r| !r.3) {
            (*clock, *ended, _) = execution.run(hardware, *worker, *clock, until, until);
            if *ended {
                *clock += hardware.leave(*worker, *clock);
            }
        }
    }
    let end = running.iter().map(|(_, clock, ..)| *clock).max().unwrap_or(start);
    end.since(start).whole().0 as f64
}

fn within_two_percent(cycles: f64, expected: f64) {
    assert!((cycles / expected - 1.0).abs() < 0.02, "{cycles} for {expected}");
}

/// Long after what came before.
const LATER: f64 = 1e9;

#[test]
fn two_sockets_that_stream_from_each_other_are_bound_by_their_link() {
    let program = strands(2);
    let machine = machine("package-link=4", "pack:2", "");
    let mut hardware = Hardware::new(&program, None, &machine, 1, true).unwrap();
    phase(&mut hardware, &program, 0.0, &[0, 1], true);
    // Each takes over what the other has modified: 1.28 MB in each direction, at 4 bytes a cycle
    // 320,000 cycles. Nothing is written to memory.
    let cycles = phase(&mut hardware, &program, LATER, &[1, 0], true);
    within_two_percent(cycles, BYTES / 4.0);
    assert_eq!((hardware.remote_hits().0, hardware.far_hits().0), (2 * LINES, 2 * LINES));
    // Reads share the lines, which memory gets, too. Every second page is at home in the reader's
    // package: its lines pass the link once more, 1.92 MB in each direction.
    let cycles = phase(&mut hardware, &program, 2.0 * LATER, &[0, 1], false);
    within_two_percent(cycles, 1.5 * BYTES / 4.0);
}

#[test]
fn a_chiplet_is_bound_by_its_own_link_in_each_direction() {
    let program = strands(2);
    let machine = machine("", "group:2", "link=8 link-write=4");
    let mut hardware = Hardware::new(&program, None, &machine, 1, true).unwrap();
    // From memory, inward: 1.28 MB at 8 bytes a cycle.
    let cycles = phase(&mut hardware, &program, 0.0, &[0, 1], true);
    within_two_percent(cycles, BYTES / 8.0);
    // From each other: the supplier's outward side is the narrower one.
    let cycles = phase(&mut hardware, &program, LATER, &[1, 0], true);
    within_two_percent(cycles, BYTES / 4.0);
    assert_eq!((hardware.remote_hits().0, hardware.far_hits().0), (2 * LINES, 0));
}

#[test]
fn the_caches_of_a_package_are_bound_by_its_fabric_together() {
    let program = strands(4);
    let machine = machine("fabric=10", "group:4", "");
    let mut hardware = Hardware::new(&program, None, &machine, 1, true).unwrap();
    // Four regions from memory through one fabric.
    let cycles = phase(&mut hardware, &program, 0.0, &[0, 1, 2, 3], true);
    within_two_percent(cycles, 4.0 * BYTES / 10.0);
    // And four from one another.
    let cycles = phase(&mut hardware, &program, LATER, &[1, 2, 3, 0], true);
    within_two_percent(cycles, 4.0 * BYTES / 10.0);
}

#[test]
fn a_clean_line_comes_from_where_the_machine_takes_it() {
    let program = strands(2);
    for (clean, remote, memory) in [("cache", 2 * LINES, 2 * LINES), ("memory", 0, 4 * LINES)] {
        let figures = format!("clean={clean} package-link=4");
        let machine = machine(&figures, "pack:2", "");
        let mut hardware = Hardware::new(&program, None, &machine, 1, true).unwrap();
        phase(&mut hardware, &program, 0.0, &[0, 1], false);
        let cycles = phase(&mut hardware, &program, LATER, &[1, 0], false);
        assert_eq!((hardware.remote_hits().0, hardware.memory_reads().0), (remote, memory));
        // From the other's cache all lines pass the link; from memory those of every second page.
        within_two_percent(cycles, if clean == "cache" { BYTES } else { BYTES / 2.0 } / 4.0);
    }
}

#[test]
fn another_package_s_cache_is_further_away_than_one_of_the_same() {
    let program = strands(1);
    // One miss at a time: each takes the latency less that of the innermost cache.
    let figures = "remote=100 far=500 parallelism=1 streams=1 window=0";
    for (outer, latency) in [("pack:1 group:2", 100.0), ("pack:2", 500.0)] {
        let machine = machine(figures, outer, "");
        let hidden = machine.clusters()[2].cache.unwrap().latency.0 as f64;
        let mut hardware = Hardware::new(&program, None, &machine, 1, true).unwrap();
        phase(&mut hardware, &program, 0.0, &[0], true);
        hardware.enter(WorkerId(1), Ticks::default());
        let mut execution = Execution::new(&program, None, strand(&program, 0, true));
        let begin = Ticks::fractional(LATER);
        let late = Ticks(u64::MAX / 2);
        let (end, ended, _) = execution.run(&mut hardware, WorkerId(1), begin, late, late);
        assert!(ended);
        let cycles = end.since(begin).whole().0 as f64;
        within_two_percent(cycles, LINES as f64 * (latency - hidden));
    }
}
