//! Times a parallel loop over items of so many steps each: `grain STEPS ITEMS CALLS` prints the
//! median of the calls, in nanoseconds. `grain` alone prints how many steps take a millisecond
//! here: the same number for all processes that are compared.

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

/// How many steps take a millisecond, by the shortest of several loops: a disturbance makes a loop
/// longer, and none makes it shorter.
fn steps_of_a_millisecond() -> u64 {
    const STEPS: u64 = 2_000_000;
    let time = |_| {
        let start = Instant::now();
        black_box(work(black_box(1), STEPS));
        start.elapsed()
    };
    let least = (0..50).map(time).min().unwrap_or_default();
    (STEPS as f64 / (least.as_secs_f64() * 1e3)) as u64
}

fn main() -> ExitCode {
    let number = |text: String| text.parse().ok().filter(|number| *number > 0);
    let numbers: Option<Vec<u64>> = env::args().skip(1).map(number).collect();
    let (steps, items, calls) = match numbers.as_deref() {
        Some([]) => {
            println!("{}", steps_of_a_millisecond());
            return ExitCode::SUCCESS;
        }
        Some(&[steps, items, calls]) => (steps, items, calls),
        _ => {
            eprintln!("usage: grain [STEPS ITEMS CALLS]");
            return ExitCode::from(2);
        }
    };
    let from: Vec<u64> = (0..items).collect();
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
