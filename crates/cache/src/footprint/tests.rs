//! Marks by numbers of tasks against marks as bits, on machines of all kinds.

use befit_machine::{ClusterId, Machine, WorkerId};
use proptest::prelude::*;

use super::{Cells, Frames};
use crate::{Found, Hierarchy};

const LINES: u32 = 200;

fn direct_mapped() -> Machine {
    MACHINES[0].parse().unwrap()
}

/// Runs tasks, each a list of lines, and returns the cells of each at the cache `index` steps out
/// from the worker.
fn run(machine: &Machine, index: usize, tasks: &[Vec<u32>]) -> Vec<Cells> {
    let mut caches = Hierarchy::new(machine, LINES, 1).unwrap();
    let cluster = machine.path(WorkerId(0)).nth(index).unwrap();
    let mut frames = Frames::new(&caches, machine, cluster).unwrap();
    let each = |task: &Vec<u32>| {
        for line in task {
            let access = caches.access(WorkerId(0), *line, line % 3 == 0);
            frames.observe(&caches, *line, access);
        }
        frames.end_task()
    };
    tasks.iter().map(each).collect()
}

/// The same for a direct-mapped innermost cache of `sets` lines, with two bits a frame.
fn naive(sets: u32, tasks: &[Vec<u32>]) -> Vec<Cells> {
    let mut held = vec![None; sets as usize];
    let mut before = vec![false; sets as usize];
    let mut all = Vec::new();
    for task in tasks {
        let mut now: Vec<Option<bool>> = vec![None; sets as usize];
        for line in task {
            let frame = (line % sets) as usize;
            let hit = held[frame].replace(*line) == Some(*line);
            now[frame].get_or_insert(hit);
        }
        let count = |b: bool, n: Option<bool>| {
            before.iter().zip(&now).filter(|m| (*m.0, *m.1) == (b, n)).count() as u64
        };
        all.push(Cells {
            touched_hit: count(true, Some(true)),
            touched_missed: count(true, Some(false)),
            touched_untouched: count(true, None),
            new_hit: count(false, Some(true)),
            new_missed: count(false, Some(false)),
            new_untouched: count(false, None),
        });
        before = now.iter().map(Option::is_some).collect();
    }
    all
}

fn tasks() -> impl Strategy<Value = Vec<Vec<u32>>> {
    prop::collection::vec(prop::collection::vec(0..LINES, 0..60), 1..12)
}

const MACHINES: [&str; 6] = [
    "l2:1(size=4096 ways=1) l1:1(size=1024 ways=1) pu:1",
    "l2:1(size=4096 ways=4 inclusion=inclusive) l1:1(size=1024 ways=2) pu:1",
    "l3:1(size=8192 ways=4 inclusion=exclusive) l2:1(size=2048 ways=4) l1:1(size=1024 ways=2) pu:1",
    "l2:1(size=4096 ways=full replacement=random) l1:1(size=512 ways=2 replacement=plru) pu:1",
    "l3:1(size=8192 ways=16) core:2 l2:1(size=2048 ways=8) l1:1(size=1024 ways=4) pu:1",
    "pack:2 l3:1(size=16384 ways=8 inclusion=inclusive) core:2 l2:1(size=4096 ways=8) \
     l1:1(size=1024 ways=4) pu:1",
];

/// A direct-mapped innermost cache that is said to be a victim cache.
const EXCLUSIVE: &str = "l1:1(size=1024 ways=1 inclusion=exclusive) pu:1";

/// An L1 of two sets, whose lines the cache above often takes away.
const SMALL: &str = "l2:1(size=384 ways=6 inclusion=inclusive) l1:1(size=256 ways=2) pu:1";

proptest! {
    #[test]
    fn six_cells_sum_to_the_number_of_frames_in_any_cache(
        tasks in tasks(),
        which in 0..MACHINES.len(),
    ) {
        let machine: Machine = MACHINES[which].parse().unwrap();
        for (index, cluster) in machine.path(WorkerId(0)).enumerate() {
            let Some(cache) = machine.cluster(cluster).cache else { continue };
            for cells in run(&machine, index, &tasks) {
                prop_assert_eq!(cells.frames(), cache.size.0 / cache.line.0);
            }
        }
    }

    #[test]
    fn cells_are_those_of_two_bits_a_frame(tasks in tasks()) {
        prop_assert_eq!(run(&direct_mapped(), 0, &tasks), naive(16, &tasks));
    }

    #[test]
    fn a_worker_s_innermost_cache_takes_lines_in_on_a_miss_whatever_its_kind(tasks in tasks()) {
        prop_assert_eq!(run(&EXCLUSIVE.parse().unwrap(), 0, &tasks), naive(16, &tasks));
    }

    #[test]
    fn each_line_of_the_innermost_cache_is_in_one_frame(
        lines in prop::collection::vec((0..LINES, any::<bool>()), 0..300),
        which in 0..MACHINES.len() + 2,
    ) {
        // Of few lines, so that some come back.
        let (machine, few) = match which.checked_sub(MACHINES.len()) {
            None => (MACHINES[which], LINES),
            Some(0) => (SMALL, 12),
            Some(_) => (EXCLUSIVE, LINES),
        };
        let machine: Machine = machine.parse().unwrap();
        let mut caches = Hierarchy::new(&machine, LINES, 1).unwrap();
        let l1 = machine.workers()[0].leaf;
        let mut frames = Frames::new(&caches, &machine, l1).unwrap();
        for (line, write) in lines {
            let line = line % few;
            let access = caches.access(WorkerId(0), line, write);
            frames.observe(&caches, line, access);
            for line in (0..few).filter(|line| caches.holds(l1, *line)) {
                let its = frames.lines.iter().filter(|held| **held == line).count();
                prop_assert_eq!(its, 1, "frames of line {}", line);
            }
        }
    }

    #[test]
    fn what_a_task_misses_is_no_more_than_the_frames_that_it_replaces(
        tasks in tasks(),
        which in 0..2usize,
    ) {
        let machine: Machine = MACHINES[which].parse().unwrap();
        let mut caches = Hierarchy::new(&machine, LINES, 1).unwrap();
        let outer = machine.last_level(WorkerId(0));
        let mut frames = Frames::new(&caches, &machine, outer).unwrap();
        for task in &tasks {
            let mut misses = 0;
            for line in task {
                let access = caches.access(WorkerId(0), *line, false);
                misses += u64::from(access.found == Found::Memory);
                frames.observe(&caches, *line, access);
            }
            let cells = frames.end_task();
            prop_assert!(cells.touched_missed + cells.new_missed <= misses);
        }
    }
}

#[test]
fn a_task_after_itself_has_shared_hits_only() {
    let task: Vec<u32> = (0..16).collect();
    let cells = run(&direct_mapped(), 0, &[task.clone(), task]);
    assert_eq!(cells[1], Cells { touched_hit: 16, ..Cells::default() });
    assert_eq!(cells[0], Cells { new_missed: 16, ..Cells::default() });
}

#[test]
fn tasks_on_the_same_places_of_a_direct_mapped_cache_have_shared_misses_only() {
    let cells = run(&direct_mapped(), 0, &[(0..16).collect(), (16..32).collect()]);
    assert_eq!((cells[1].shared_misses(), cells[1].affinity()), (16, -16));
}

#[test]
fn what_an_older_task_left_is_hit_but_not_shared() {
    // The third task finds in L1 what the first one left and the second did not touch.
    let cells = run(&direct_mapped(), 0, &[vec![1, 2], vec![5], vec![1, 2 + 16]]);
    let cells = cells[2];
    assert_eq!((cells.new_hit, cells.overwritten(), cells.overwritten_by_table()), (1, 1, 2));
    assert_eq!((cells.unchanged(), cells.frames()), (1, 16));
}

#[test]
fn a_line_that_an_inclusive_cache_took_away_comes_back_to_its_own_frame() {
    let machine: Machine = SMALL.parse().unwrap();
    let mut caches = Hierarchy::new(&machine, LINES, 1).unwrap();
    let l1 = machine.workers()[0].leaf;
    let mut frames = Frames::new(&caches, &machine, l1).unwrap();
    let mut run = |task: &[u32]| {
        for line in task {
            let access = caches.access(WorkerId(0), *line, false);
            frames.observe(&caches, *line, access);
        }
        frames.end_task()
    };
    run(&[2, 0, 1, 4, 3, 5, 7, 9]);
    // 0 has left L2, and with it L1, where 4 still stands in the other frame of its set.
    let cells = run(&[0, 4]);
    let expected =
        Cells { touched_hit: 1, touched_missed: 1, touched_untouched: 2, ..Cells::default() };
    assert_eq!((cells, cells.affinity()), (expected, 0));
}

#[test]
fn cells_add_up_each_to_its_own() {
    // Powers of two, so that each sum tells what is in it.
    let cells = |n| Cells {
        touched_hit: n,
        touched_missed: 2 * n,
        touched_untouched: 4 * n,
        new_hit: 8 * n,
        new_missed: 16 * n,
        new_untouched: 32 * n,
    };
    let mut sum = cells(1);
    sum += cells(100);
    assert_eq!(sum, cells(101));
    let one = cells(1);
    assert_eq!([one.shared_hits(), one.shared_misses(), one.unchanged()], [1, 2, 4]);
    assert_eq!([one.overwritten(), one.overwritten_by_table(), one.frames()], [16, 24, 63]);
    assert_eq!(one.affinity(), -1);
}

#[test]
fn memory_has_no_frames() {
    let machine = direct_mapped();
    let caches = Hierarchy::new(&machine, LINES, 1).unwrap();
    assert!(Frames::new(&caches, &machine, ClusterId::ROOT).is_none());
}
