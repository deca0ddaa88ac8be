//! Orders of tasks that were made by hand.

use befit_cache::footprint::Frames;
use befit_machine::{Level, Machine, WorkerId};
use befit_program::{ProgramBuilder, ScopeId};
use befit_sched::footprint::{Learned, Order, Settings};

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
fn the_latest_task_is_so_many_places_behind_where_it_came() {
    let (machine, tasks, arrival) = mixed();
    let latest = |arrival: &[u32]| {
        let mut core = Core::new(&machine, &tasks, reading(Latencies::Exclusive)).unwrap();
        // All are decided on at once: each runs in the place of its key.
        let settings = Settings { decide: 400, execute: 400, age: 0 };
        let (how, charge) = (How::Key, Charge::on(&machine, 2.0));
        let by_key = Fbs { settings, how, charge, budget: false };
        by_key.run(&machine, &mut core, &tasks, arrival).latest
    };
    let late = arrival.iter().zip(0..).map(|(key, came)| (*key as usize).saturating_sub(came));
    assert_eq!(Some(latest(&arrival)), late.max());
    let in_order: Vec<u32> = (0..400).collect();
    assert_eq!(latest(&in_order), 0);
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

/// The gems-sparc's L1 has 256 frames, the L2 comes behind it.
const LATENCIES: [u64; 3] = [1, 13, 200];

#[test]
fn a_task_would_wait_for_each_line_where_it_is() {
    let (machine, tasks) = (gems(), windows([0, 100, 300], 200));
    let [l1, l2, memory] = LATENCIES;
    for (latencies, l2, memory) in
        [(Latencies::Exclusive, l2, memory), (Latencies::Additive, l1 + l2, l1 + l2 + memory)]
    {
        let mut core = Core::new(&machine, &tasks, reading(latencies)).unwrap();
        assert_eq!(core.would_wait(&machine, &tasks, 0), 200 * memory);
        core.run(&tasks, 0, None);
        assert_eq!(core.would_wait(&machine, &tasks, 0), 200 * l1);
        assert_eq!(core.would_wait(&machine, &tasks, 1), 100 * l1 + 100 * memory);
        // Lines 300 to 455 push 44 to 199 out of the L1.
        core.run(&tasks, 2, None);
        assert_eq!(core.would_wait(&machine, &tasks, 0), 44 * l1 + 156 * l2);
    }
}

#[test]
fn a_task_has_its_touches_in_order_with_its_stack_behind_all_data() {
    let program = program(|b| {
        task(b, 1, None, |b| {
            b.touch(5, false, false);
            b.touch(9, true, false);
            b.touch(2, true, true);
            b.touch(0, false, true);
            b.work(7, 4, 100);
        });
        // Touches that no access was counted for, around a strand that is no leaf's.
        task(b, 1, None, |b| {
            b.touch(1, false, false);
            task(b, 1, None, |b| (0..3).for_each(|line| b.touch(line, false, false)));
        });
        b.sync(ScopeId(1)).unwrap();
    });
    let (tasks, stack) = (Tasks::of(&program), program.lines());
    assert_eq!((tasks.name(), tasks.len(), tasks.is_empty()), ("test", 2, false));
    let touches: Vec<_> = tasks.touches(0).collect();
    assert_eq!(touches, [(5, false), (9, true), (stack + 2, true), (stack, false)]);
    assert_eq!(tasks.touches(1).collect::<Vec<_>>(), [0, 1, 2].map(|line| (line, false)));
    assert_eq!([tasks.accesses(0), tasks.accesses(1)], [11, 3]);
}

#[test]
fn condensed_tasks_of_a_cache_that_has_several_ways_or_of_none_are_as_they_were() {
    let tasks = tasks([()], |b, ()| (0..9).for_each(|i| b.touch(i % 3, false, false)));
    for (cache, left) in [("", 9), ("l1:1(size=1KiB ways=2)", 9), ("l1:1(size=1KiB ways=1)", 3)] {
        let machine: Machine = format!("{cache} pu:1").parse().unwrap();
        let core = Core::new(&machine, &tasks, reading(Latencies::Exclusive)).unwrap();
        assert_eq!(tasks.clone().condensed(&core, &machine).touches(0).len(), left, "{cache}");
    }
}

#[test]
fn of_a_condensed_task_stay_what_brings_a_line_and_what_first_writes_to_it() {
    // Of a cache of 16 lines: line 21 is in the set of line 5.
    let touches = [(5, false), (5, false), (5, true), (5, false), (5, true), (6, true), (6, false)];
    let tasks = tasks([false, true], |b, has_other| {
        touches.into_iter().for_each(|(line, write)| b.touch(line, write, false));
        if has_other {
            [21, 5, 5].into_iter().for_each(|line| b.touch(line, false, false));
        }
    });
    let machine: Machine = "l1:1(size=1KiB ways=1) pu:1".parse().unwrap();
    let core = Core::new(&machine, &tasks, reading(Latencies::Exclusive)).unwrap();
    // Lines are numbered as they lie.
    let condensed = tasks.condensed(&core, &machine);
    let kept = |task| condensed.touches(task).collect::<Vec<_>>();
    assert_eq!(kept(0), [(5, false), (5, true), (6, true)]);
    assert_eq!(kept(1), [(5, false), (5, true), (6, true), (21, false), (5, false)]);
    assert_eq!([0, 1].map(|task| condensed.accesses(task)), [7, 10]);
}

#[test]
fn of_a_cache_of_several_ways_the_oracle_counts_the_lines_that_both_touch() {
    let windows = [(0, 100), (60, 100), (300, 9)];
    let tasks = tasks(windows, |b, (first, length)| {
        (first..first + length).chain([first]).for_each(|line| b.touch(line, false, false));
    });
    // Of the recorded lines, and of lines twice as long.
    for (line, expected) in [
        (64, [[100, 40, 0], [40, 100, 0], [0, 0, 9]]),
        (128, [[50, 20, 0], [20, 50, 0], [0, 0, 5]]),
    ] {
        let machine: Machine = format!("l1:1(size=2KiB ways=2 line={line}) pu:1").parse().unwrap();
        let core = Core::new(&machine, &tasks, reading(Latencies::Exclusive)).unwrap();
        let oracle = Oracle::new(&core, &tasks, machine.workers()[0].leaf);
        let affinities =
            [0, 1, 2].map(|before| [0, 1, 2].map(|next| oracle.affinity(before, next)));
        assert_eq!(affinities, expected);
    }
}

#[test]
fn the_cells_of_a_pair_are_those_of_its_second_task_after_its_first() {
    // Of 256 frames the third task touches 180 to 255 and 0 to 143.
    let windows = [(0, 150), (100, 100), (180, 220)];
    let tasks = tasks(windows, |b, (first, length)| {
        (first..first + length).for_each(|line| b.touch(line, false, false));
    });
    let pairs = Pairs::of(&tasks, &gems(), None, 9).unwrap();
    assert_eq!((&*pairs.program, &*pairs.machine), ("test", "gems-sparc"));
    assert_eq!((pairs.level, pairs.of), (Level(1), 3));
    let shared = |previous, current| {
        let cells = pairs.cells(previous, current);
        [cells.shared_hits(), cells.shared_misses(), cells.unchanged()]
    };
    for (previous, expected) in [
        [[150, 0, 0], [50, 0, 100], [0, 144, 6]],
        [[50, 0, 50], [100, 0, 0], [20, 44, 36]],
        [[0, 144, 76], [20, 44, 156], [220, 0, 0]],
    ]
    .into_iter()
    .enumerate()
    {
        let found = [0, 1, 2].map(|current| shared(previous, current));
        assert_eq!(found, expected, "after task {previous}");
    }
}

#[test]
fn a_level_that_a_machine_lacks_is_known_before_a_program_is() {
    for level in [None, Some(Level(1)), Some(Level(2))] {
        Pairs::check(&gems(), level).unwrap();
    }
    let error = |machine: &Machine, level| Pairs::check(machine, level).unwrap_err().to_string();
    assert_eq!(error(&gems(), Some(Level(4))), "gems-sparc has no L4; it has L1, L2");
    let mut bare: Machine = "core:2 pu:1".parse().unwrap();
    bare.name = "bare".into();
    assert_eq!(error(&bare, None), "bare has no L1; it has no caches");
    assert_eq!(error(&bare, Some(Level(2))), "bare has no L2; it has no caches");
}

#[test]
fn what_has_no_footprints_says_why() {
    let none = Tasks::of(&program(|_| {}));
    assert!(none.is_empty());
    let error = Pairs::of(&none, &gems(), None, 5).unwrap_err().to_string();
    assert_eq!(error, "test has no tasks that fork nothing; statistics are of pairs of those");
    let tasks = windows([0], 10);
    for (cache, why) in [
        ("size=4KiB line=32", "its lines of 32 bytes are finer than the recorded ones of 64"),
        (
            "size=8KiB ways=128 replacement=plru",
            "the L1 cache of cluster 1 has 128 ways: tree-PLRU needs a power of two, at most 64",
        ),
    ] {
        let mut machine: Machine = format!("l1:1({cache}) pu:1").parse().unwrap();
        machine.name = "it".into();
        let error = Pairs::of(&tasks, &machine, None, 5).unwrap_err().to_string();
        assert_eq!(error, format!("cannot simulate it: {why}"));
    }
}

#[test]
fn affinities_that_are_given_order_tasks_as_known_ones_do() {
    let (machine, mut random) = (gems(), fastrand::Rng::with_seed(2));
    // The longer ones leave other lines than those that they begin with.
    let tasks = tasks((0..40).map(|_| random.u64(0..800)), |b, first| {
        (first..first + 100 + first % 300).for_each(|line| b.touch(line, false, false));
    });
    let arrival: Vec<u32> = (0..40).collect();
    let mut core = Core::new(&machine, &tasks, reading(Latencies::Exclusive)).unwrap();
    in_order(&mut core, &tasks, 0..40);
    let oracle = Oracle::new(&core, &tasks, machine.workers()[0].leaf);
    // Each task is a class by itself, numbered from the last one on.
    let classes: Vec<u32> = (0..40).rev().collect();
    let mut given = Learned::new(40);
    for (before, next) in (0..40).flat_map(|before| (0..40).map(move |next| (before, next))) {
        given.note(39 - before, 39 - next, oracle.affinity(before, next));
    }
    let settings = Settings { decide: 16, execute: 8, age: 4 };
    let run = |how| {
        let charge = Charge { look: 3.0, saved: 6.0 };
        Fbs { settings, how, charge, budget: false }.run(
            &machine,
            &mut core.clone(),
            &tasks,
            &arrival,
        )
    };
    let known = run(How::Oracle(&oracle, Order::Greedy));
    assert_eq!(run(How::Given(&classes, &given, Order::Greedy)), known);
    assert_ne!(run(How::Given(&classes, &Learned::new(40), Order::Greedy)).cycles, known.cycles);
    assert!(known.cycles < in_order(&mut core.clone(), &tasks, 0..40).cycles);
}

#[test]
fn settings_that_decide_nothing_leave_the_order_of_arrival() {
    let (machine, tasks, arrival) = mixed();
    let mut core = Core::new(&machine, &tasks, reading(Latencies::Exclusive)).unwrap();
    let fifo = in_order(&mut core.clone(), &tasks, arrival.iter().copied());
    let settings = Settings { decide: 4, execute: 5, age: 4 };
    let charge = Charge::on(&machine, 2.0);
    let fbs = Fbs { settings, how: How::Key, charge, budget: true };
    assert_eq!(fbs.run(&machine, &mut core, &tasks, &arrival), fifo);
    assert_eq!((fifo.deciding, fifo.latest, fifo.looks), (0.0, 0, 0));
}

#[test]
fn a_shared_hit_saves_half_of_the_way_to_the_next_cache() {
    let [l1, l2, memory] = LATENCIES.map(|latency| latency as f64);
    assert_eq!(Charge::on(&gems(), 1.0).saved, (l2 - l1) / 2.0);
    let one: Machine = format!("(latency={memory}) l1:1(latency={l1}) pu:1").parse().unwrap();
    assert_eq!(Charge::on(&one, 1.0).saved, (memory - l1) / 2.0);
}
