//! The sorting kernels beside rayon's `par_sort_unstable_by`, on the same data and as many threads.
//!
//! ```text
//! cargo run --release -p befit-kernels --example sorts -- [N] [THREADS] [REPEATS]
//! ```
//! The four take turns; it prints medians, and ratios to rayon's.

use std::{error::Error, time::Instant};

use befit_kernels::sort::{Place, SORTS};
use rayon::slice::ParallelSliceMut;

fn main() -> Result<(), Box<dyn Error>> {
    let numbers: Result<Vec<usize>, _> = std::env::args().skip(1).map(|a| a.parse()).collect();
    let numbers = numbers?;
    let number = |i: usize, default| numbers.get(i).copied().unwrap_or(default);
    let (n, threads, repeats) = (number(0, 10_000_000), number(1, 2), number(2, 5));
    let pool = befit::ThreadPoolBuilder::new().num_threads(threads).build()?;
    let rayon = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    let mut random = fastrand::Rng::with_seed(1);
    let input: Vec<f64> = (0..n).map(|_| random.f64()).collect();
    let (mut data, mut spare) = (input.clone(), vec![1.0; n]);
    let mut times = vec![Vec::new(); SORTS.len() + 1];
    for _ in 0..repeats {
        data.copy_from_slice(&input);
        let start = Instant::now();
        rayon.install(|| data.par_sort_unstable_by(f64::total_cmp));
        times[0].push(start.elapsed());
        for (times, (name, sort)) in times[1..].iter_mut().zip(SORTS) {
            data.copy_from_slice(&input);
            let start = Instant::now();
            let place = pool.install(|| sort(&mut data, &mut spare, 1));
            times.push(start.elapsed());
            let sorted = if place == Place::Data { &data } else { &spare };
            assert!(sorted.is_sorted(), "{name}");
        }
    }
    times.iter_mut().for_each(|times| times.sort());
    println!("{n} doubles, {threads} threads, medians of {repeats}");
    let rayon_times = times[0].clone();
    for (times, name) in times.iter().zip(["par_sort_unstable_by"].into_iter().chain(SORTS.map(|(name, _)| name))) {
        let median = |times: &[std::time::Duration]| times[times.len() / 2].as_secs_f64();
        println!("{name:<22} {:>8.1} ms  {:.2}", 1e3 * median(times), median(times) / median(&rayon_times));
    }
    Ok(())
}
