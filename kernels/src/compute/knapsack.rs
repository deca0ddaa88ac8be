//! The largest worth of things in a knapsack, of n to choose from: branch and bound, with and
//! without each thing in parallel.
//!
//! A branch ends where its things so far and all the rest are worth no more than the best result so
//! far. (A sharper bound would leave next to nothing to do in parallel.) It is checked
//! against the result of dynamic programming.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use befit::{ThreadPool, join};

use crate::{Input, KernelError, array};

/// Branches are parallel for so many things.
const PARALLEL: usize = 12;
/// The heaviest thing.
const HEAVIEST: u64 = 1000;

#[derive(Clone, Copy)]
struct Thing {
    weight: u64,
    worth: u64,
}

/// Runs it with `input.n` things, random by the seed, and room for half of them. A thing is worth
/// its weight and a constant, which makes the problem hard.
pub(crate) fn run(pool: &ThreadPool, Input { n, seed, .. }: Input) -> Result<(), KernelError> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut things = array::filled(n, |_| {
        let weight = random.u64(1..=HEAVIEST);
        Thing { weight, worth: weight + HEAVIEST / 10 }
    })?;
    // The most worth for its weight first: so good results are found early.
    things.sort_by(|a, b| (b.worth * a.weight).cmp(&(a.worth * b.weight)));
    let room = things.iter().map(|thing| thing.weight).sum::<u64>() / 2;
    let best = AtomicU64::new(0);
    pool.install(|| branch(&things, 0, room, 0, &best));
    array::check_number(n, best.into_inner() as f64, by_table(&things, room) as f64)
}

/// Decides about things from `at` on, with so much room and worth so far.
fn branch(things: &[Thing], at: usize, room: u64, worth: u64, best: &AtomicU64) {
    let Some(thing) = things.get(at) else {
        best.fetch_max(worth, Relaxed);
        return;
    };
    let left: u64 = things[at..].iter().map(|thing| thing.worth).sum();
    if worth + left <= best.load(Relaxed) {
        return;
    }
    let with = || {
        if thing.weight <= room {
            branch(things, at + 1, room - thing.weight, worth + thing.worth, best);
        }
    };
    let without = || branch(things, at + 1, room, worth, best);
    if at < PARALLEL {
        join(with, without);
    } else {
        with();
        without();
    }
}

/// The result by dynamic programming. Time and memory O(room), times n.
fn by_table(things: &[Thing], room: u64) -> u64 {
    let mut most = vec![0; room as usize + 1];
    for thing in things {
        for left in (thing.weight as usize..most.len()).rev() {
            most[left] = most[left].max(most[left - thing.weight as usize] + thing.worth);
        }
    }
    most.last().copied().unwrap_or(0)
}
