//! What a core does without memory: its clock, its width.

use std::{hint::black_box, time::Instant};

/// The clock, in MHz: a chain of additions and exclusive ors, each of which takes a cycle and needs
/// the one before.
pub(crate) fn clock() -> f64 {
    const STEPS: u32 = 400_000;
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
    f64::from(STEPS) * 8.0 / time / 1e6
}

/// Nanoseconds a simple operation of a loop that cannot be vectorised: it counts the bytes of a
/// table. Per byte: two loads, a store, an addition, a mask, an index and a branch.
pub(crate) fn operation() -> f64 {
    const PASSES: u32 = 4000;
    const SIMPLE: f64 = 7.0;
    let bytes: [u8; 64] = std::array::from_fn(|i| (i * 37) as u8);
    let (bytes, mut counts) = (black_box(bytes), black_box([0_u64; 64]));
    let start = Instant::now();
    for _ in 0..PASSES {
        for byte in black_box(&bytes) {
            counts[usize::from(byte & 63)] += 1;
        }
    }
    let time = start.elapsed().as_secs_f64() * 1e9;
    black_box(counts);
    time / (f64::from(PASSES) * 64.0 * SIMPLE)
}
