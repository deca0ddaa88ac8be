//! What a core does without memory: its clock, its width.

use std::{hint::black_box, time::Instant};

/// The clock, in MHz: a chain of additions and exclusive ors, each of which takes a cycle and needs
/// the one before. The fastest of ten stretches of a tenth of a millisecond: others that take the
/// processor meanwhile spoil one or two.
pub(crate) fn clock() -> f64 {
    const STEPS: u32 = 40_000;
    let stretch = |_| {
        let (mut x, mut y) = (black_box(1_u64), black_box(3_u64));
        let start = Instant::now();
        for _ in 0..STEPS {
            for _ in 0..4 {
                x = x.wrapping_add(y);
                y ^= x;
            }
        }
        let time = start.elapsed().as_secs_f64();
        black_box((x, y));
        time
    };
    let shortest = (0..10).map(stretch).fold(f64::INFINITY, f64::min);
    f64::from(STEPS) * 8.0 / shortest / 1e6
}

/// Nanoseconds a simple operation of a mixed loop that can be neither vectorised nor rolled up: two
/// loads, two stores, five operations on registers, an index and a branch. No chain in it takes
/// more than a cycle a turn.
pub(crate) fn operation() -> f64 {
    const PASSES: u32 = 2000;
    const SIMPLE: f64 = 11.0;
    let from: [Vec<u64>; 2] = [(0..256).collect(), (0..256).rev().collect()];
    let mut to = [vec![0_u64; 256], vec![0_u64; 256]];
    let start = Instant::now();
    for _ in 0..PASSES {
        let [to_0, to_1] = black_box(&mut to);
        pass(black_box(&from[0]), black_box(&from[1]), to_0, to_1);
    }
    start.elapsed().as_secs_f64() * 1e9 / (f64::from(PASSES) * 256.0 * SIMPLE)
}

#[inline(never)]
fn pass(from_0: &[u64], from_1: &[u64], to_0: &mut [u64], to_1: &mut [u64]) {
    let (mut difference, mut turned, mut sum, mut parity) = (0_u64, 1_u64, 0_u64, 0_u64);
    for (((a, b), c), d) in from_0.iter().zip(from_1).zip(to_0).zip(to_1) {
        difference = a.wrapping_sub(difference);
        *c = difference;
        turned = turned.rotate_left(1);
        *d = turned ^ b;
        sum = sum.wrapping_add(*a);
        parity ^= b;
    }
    black_box((sum, parity));
}
