//! The price of a fork in a work run that is timed as a whole.
//!
//! Such a run inlines all forks. As for the price of an inlined fork (`befit calibrate`), a tree of
//! forks is timed beside the same tree of calls.

use std::{hint::black_box, time::Instant};

use super::join;

const DEPTH: u32 = 14;
/// The least time of so many trees counts.
const TREES: u32 = 5;

/// Picoseconds of a fork beyond its two calls.
pub(super) fn of_a_fork() -> u64 {
    let least = |tree: fn(u32) -> u32| {
        let time = || {
            let start = Instant::now();
            black_box(tree(black_box(DEPTH)));
            start.elapsed().as_nanos() as u64
        };
        (0..TREES).map(|_| time()).min().unwrap_or(0)
    };
    least(forks).saturating_sub(least(calls)) * 1000 / ((1 << DEPTH) - 1)
}

fn forks(depth: u32) -> u32 {
    if depth == 0 {
        return black_box(1);
    }
    let (a, b) = join(|| forks(depth - 1), || forks(depth - 1));
    a + b
}

#[inline(never)]
fn calls(depth: u32) -> u32 {
    if depth == 0 { black_box(1) } else { calls(depth - 1) + calls(depth - 1) }
}
