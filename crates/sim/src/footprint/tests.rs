//! Orders of tasks that were made by hand.

use befit_cache::footprint::Frames;
use befit_machine::{Level, Machine, WorkerId};
use befit_program::{ProgramBuilder, ScopeId};
use befit_sched::footprint::{Order, Settings};

use super::*;
use crate::{
    latency,
    tests::{program, task},
};

/// Tasks that `fill` fills, one after another.
fn tasks<T>(
    of: impl IntoIterator<Item = T>,
    mut fill: impl FnMut(&mut ProgramBuilder, T),
) -> Tasks {
    Tasks::of(&program(|b| {
        of.into_iter().for_each(|one| task(b, 1, None, |b| fill(b, one)));
        b.sync(ScopeId(1)).unwrap();
    }))
}

/// Each task reads `length` lines once, from one of `firsts` on.
fn windows(firsts: impl IntoIterator<Item = u64>, length: u64) -> Tasks {
    tasks(firsts, |b, first| {
        (first..first + length).for_each(|line| b.touch(line, false, false));
        b.work(length, 0, 0);
    })
}

fn gems() -> Machine {
    Machine::find("gems-sparc").unwrap()
}

fn reading(latencies: Latencies) -> Reading {
    Reading { instructions: 4.0, width: 2.0, latencies }
}

#[test]
fn an_access_costs_its_instructions_and_its_latency_under_both_readings() {
    let tasks = windows([0, 256], 256);
    for (latencies, l1, l2) in [(Latencies::Exclusive, 1.0, 13.0), (Latencies::Additive, 1.0, 14.0)]
    {
        let mut core = Core::new(&gems(), &tasks, reading(latencies)).unwrap();
        // To warm the L2, where both fit; in L1 they push each other out.
        in_order(&mut core, &tasks, [0, 1]);
        assert_eq!(core.run(&tasks, 0, None), 256.0 * (2.0 + l2));
        assert_eq!(core.run(&tasks, 0, None), 256.0 * (2.0 + l1));
    }
}

#[test]
fn the_oracle_is_what_the_frames_of_the_innermost_cache_measure() {
    let machine = gems();
    // Of many of the 256 frames, and of few.
    let windows = [0, 100, 128, 256, 300, 511, 512].map(|first| [(first, 200), (first + 60, 40)]);
    let tasks = tasks(windows.into_iter().flatten(), |b, (first, length)| {
        (first..first + length).for_each(|line| b.touch(line, false, false));
    });
    let mut core = Core::new(&machine, &tasks, reading(Latencies::Exclusive)).unwrap();
    let l1 = machine.path(WorkerId(0)).next().unwrap();
    let oracle = Oracle::new(&core, &tasks, l1);
    let mut frames = Frames::new(core.caches(), &machine, l1).unwrap();
    for before in 0..tasks.len() {
        for next in 0..tasks.len() {
            core.run(&tasks, before, Some(&mut frames));
            frames.end_task();
            core.run(&tasks, next, Some(&mut frames));
            let cells = frames.end_task();
            assert_eq!(oracle.affinity(before, next), cells.affinity(), "{before} then {next}");
        }
    }
}

#[test]
fn pairs_of_tasks_have_six_cells_each_in_any_cache_of_the_machine() {
    let tasks = windows((0..20).map(|i| i * 50), 200);
    for machine in [gems(), Machine::find("opteron-8380").unwrap()] {
        for level in machine.levels() {
            let pairs = Pairs::of(&tasks, &machine, Some(level), 5).unwrap();
            assert_eq!((pairs.tasks.clone(), pairs.cells.len()), (vec![0, 4, 8, 12, 16], 25));
            let frames = pairs.cells[0].frames();
            assert!(pairs.cells.iter().all(|cells| cells.frames() == frames));
        }
    }
    let error = Pairs::of(&tasks, &gems(), Some(Level(3)), 5).unwrap_err();
    assert_eq!(error.to_string(), "gems-sparc has no L3; it has L1, L2");
}

#[test]
fn condensed_tasks_cost_the_same_in_every_order_and_have_the_same_cells() {
    let machine = gems();
    // Few lines, some of them in one set of the L1 (256 sets): repeats that stay, and repeats that
    // go.
    let mut random = fastrand::Rng::with_seed(1);
    let tasks = tasks(0..40, |b, _| {
        for _ in 0..60 {
            let line = random.u64(0..6) + 256 * random.u64(0..3) + random.u64(0..200);
            b.touch(line, random.bool(), false);
            b.touch(random.u64(0..6), random.u8(0..8) == 0, false);
        }
        b.work(100, 60, 0);
    });
    let core = Core::new(&machine, &tasks, reading(Latencies::Exclusive)).unwrap();
    let condensed = tasks.clone().condensed(&core, &machine);
    let touches =
        |tasks: &Tasks| (0..tasks.len()).map(|task| tasks.touches(task).len()).sum::<usize>();
    assert!(touches(&condensed) < touches(&tasks) * 9 / 10);
    for cluster in machine.path(WorkerId(0)).take(2) {
        let [mut one, mut other] = [core.clone(), core.clone()];
        let mut frames =
            [&one, &other].map(|core| Frames::new(core.caches(), &machine, cluster).unwrap());
        let oracles = [&tasks, &condensed].map(|tasks| Oracle::new(&core, tasks, cluster));
        let mut before = 0;
        for _ in 0..200 {
            let task = random.usize(0..tasks.len());
            let [of_one, of_other] = &mut frames;
            let cycles = one.run(&tasks, task, Some(of_one));
            assert_eq!(cycles, other.run(&condensed, task, Some(of_other)));
            assert_eq!(of_one.end_task(), of_other.end_task());
            assert_eq!(oracles[0].affinity(before, task), oracles[1].affinity(before, task));
            before = task;
        }
    }
}

/// Windows of half the L1 over four times the L1, drawn at random.
fn mixed() -> (Machine, Tasks, Vec<u32>) {
    let mut random = fastrand::Rng::with_seed(1);
    let mut firsts: Vec<u64> = (0..400).map(|_| random.u64(0..1024 - 128)).collect();
    firsts.sort_unstable();
    let tasks = windows(firsts, 128);
    let mut arrival: Vec<u32> = (0..400).collect();
    random.shuffle(&mut arrival);
    (gems(), tasks, arrival)
}

fn cycles(how: How, settings: Settings) -> Ran {
    let (machine, tasks, arrival) = mixed();
    let mut core = Core::new(&machine, &tasks, reading(Latencies::Exclusive)).unwrap();
    in_order(&mut core, &tasks, 0..400);
    let charge = Charge::on(&machine, 2.0);
    Fbs { settings, how, charge, budget: false }.run(&machine, &mut core, &tasks, &arrival)
}

#[test]
fn a_look_takes_four_instructions_and_an_access_to_the_innermost_cache() {
    let machine = gems();
    let inner = latency(&machine, machine.path(WorkerId(0)).next().unwrap()) as f64;
    for width in [1.0, 2.0, 4.0] {
        assert_eq!(Charge::on(&machine, width).look, inner + 4.0 / width);
    }
}

#[test]
fn every_way_to_decide_beats_arrival_and_keeps_the_bound() {
    let (machine, tasks, arrival) = mixed();
    let mut core = Core::new(&machine, &tasks, reading(Latencies::Exclusive)).unwrap();
    let l1 = machine.path(WorkerId(0)).next().unwrap();
    let oracle = Oracle::new(&core, &tasks, l1);
    in_order(&mut core, &tasks, 0..400);
    let fifo = in_order(&mut core, &tasks, arrival).cycles;
    let classes: Vec<u32> = (0..400).map(|task| task / 50).collect();
    let settings = Settings { decide: 32, execute: 16, age: 4 };
    for how in [
        How::Oracle(&oracle, Order::Greedy),
        How::Learned(&classes, l1, Order::Greedy),
        How::Key,
        How::Contents,
    ] {
        let ran = cycles(how.clone(), settings);
        assert!(ran.cycles < 0.97 * fifo, "{how:?}: {} of {fifo}", ran.cycles);
        assert!(ran.latest < 5 * 16);
        let look = Charge::on(&machine, 2.0).look;
        assert_eq!(ran.deciding, ran.looks as f64 * look, "{how:?}");
        assert!(ran.looks > 400 && ran.total() == ran.cycles + ran.deciding);
    }
    let settings = Settings { decide: 8, execute: 4, age: 4 };
    assert!(cycles(How::Oracle(&oracle, Order::Exact), settings).cycles < fifo);
}

#[test]
fn with_a_budget_tasks_that_share_nothing_lose_little() {
    let machine = gems();
    let tasks = windows((0..600).map(|i| i * 256), 256);
    let mut core = Core::new(&machine, &tasks, reading(Latencies::Exclusive)).unwrap();
    let oracle = Oracle::new(&core, &tasks, machine.path(WorkerId(0)).next().unwrap());
    let arrival: Vec<u32> = (0..600).collect();
    let fifo = in_order(&mut core.clone(), &tasks, arrival.iter().copied()).total();
    let settings = Settings { decide: 64, execute: 32, age: 4 };
    let fbs = |budget| Fbs {
        settings,
        how: How::Oracle(&oracle, Order::Greedy),
        charge: Charge::on(&machine, 2.0),
        budget,
    };
    let with = fbs(true).run(&machine, &mut core, &tasks, &arrival);
    assert!(with.total() <= 1.02 * fifo, "{} of {fifo}", with.total());
}
