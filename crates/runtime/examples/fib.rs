//! The cost of a fork: Fibonacci numbers, a fork for each call, against the plain recursive
//! function.
//!
//! ```text
//! cargo run -p befit --release --example fib -- [N] [THREADS] [REPEATS]
//! ```
//! Prints medians of interleaved repeats and their ratios to the plain function's.

use std::{hint::black_box, time::Instant};

use befit::{ThreadPoolBuilder, fit, join};

fn plain(n: u32) -> u64 {
    if n < 2 { n.into() } else { plain(n - 1) + plain(n - 2) }
}

fn forked(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = join(|| forked(n - 1), || forked(n - 2));
    a + b
}

/// Each call declares that it touches 64 bytes, which befit any private cache.
fn sized(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = join(fit(64, || sized(n - 1)), fit(64, || sized(n - 2)));
    a + b
}

type Program = (&'static str, fn(u32) -> u64);

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse().expect("arguments are numbers"));
    let n: u32 = args.next().unwrap_or(36);
    let threads = args.next().unwrap_or(1);
    let repeats = args.next().unwrap_or(7).max(1);
    let pool = ThreadPoolBuilder::new().num_threads(threads as usize).build().expect("a pool");
    let programs: [Program; 3] = [("plain", plain), ("join", forked), ("join + fit", sized)];
    let expected = plain(n);
    let mut times = vec![Vec::new(); programs.len()];
    for _ in 0..repeats {
        for ((_, program), times) in programs.iter().zip(&mut times) {
            let start = Instant::now();
            assert_eq!(pool.install(|| program(black_box(n))), expected);
            times.push(start.elapsed().as_secs_f64());
        }
    }
    let medians = times.iter_mut().map(|times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    });
    let medians: Vec<f64> = medians.collect();
    println!("fib({n}), {threads} thread(s), medians of {repeats}");
    for ((name, _), median) in programs.iter().zip(&medians) {
        println!("{name:<12}{:>9.1} ms{:>8.2} x plain", median * 1e3, median / medians[0]);
    }
}
