//! Times a parallel loop over items that take so many nanoseconds each: `grain NANOSECONDS ITEMS
//! CALLS` prints the median of the calls, in nanoseconds.

use std::{env, hint::black_box, process::ExitCode, time::Instant};

use rayon::prelude::*;

/// So many dependent steps of a generator of random numbers.
#[inline(never)]
fn work(mut x: u64, steps: u64) -> u64 {
    for _ in 0..steps {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        x ^= x >> 29;
    }
    x
}

/// How many steps take `nanoseconds`.
fn steps_for(nanoseconds: u64) -> u64 {
    const STEPS: u64 = 2_000_000;
    let start = Instant::now();
    black_box(work(1, STEPS));
    let each = start.elapsed().as_nanos() as f64 / STEPS as f64;
    (nanoseconds as f64 / each).max(1.0) as u64
}

fn main() -> ExitCode {
    let number = |text: String| text.parse().ok().filter(|number| *number > 0);
    let numbers: Option<Vec<u64>> = env::args().skip(1).map(number).collect();
    let Some([nanoseconds, items, calls]) = numbers.as_deref() else {
        eprintln!("usage: grain NANOSECONDS ITEMS CALLS");
        return ExitCode::from(2);
    };
    let steps = steps_for(*nanoseconds);
    let from: Vec<u64> = (0..*items).collect();
    let mut to = vec![0; from.len()];
    let warm_up = calls / 4;
    let mut times: Vec<_> = (0..warm_up + calls)
        .map(|_| {
            let start = Instant::now();
            from.par_iter().zip(to.par_iter_mut()).for_each(|(x, y)| *y = work(*x, steps));
            start.elapsed()
        })
        .skip(warm_up as usize)
        .collect();
    black_box(&to);
    times.sort_unstable();
    println!("{}", times[times.len() / 2].as_nanos());
    ExitCode::SUCCESS
}
