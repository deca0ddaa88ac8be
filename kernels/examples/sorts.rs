//! The sorting kernels beside rayon's `par_sort_unstable_by`, on the same data and as many threads,
//! in their order and in that of `f64::total_cmp`.
//!
//! ```text
//! cargo run --release -p befit-kernels --example sorts -- [N] [THREADS] [REPEATS]
//! ```
//! They take turns, in an order that changes from round to round. It prints medians of all rounds
//! but the first, and ratios to rayon's in either order of the doubles.

mod order;

use std::{error::Error, time::Instant};

use befit_kernels::sort::{SORTS, SortedIn, ascending};
use rayon::slice::ParallelSliceMut;

type RayonSort = fn(&mut [f64]);

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
    // Each a function of its own: through a pointer every comparison would be a call.
    let rayons: [(&str, RayonSort); 2] = [
        ("rayon", |data| data.par_sort_unstable_by(ascending)),
        ("rayon, total_cmp", |data| data.par_sort_unstable_by(f64::total_cmp)),
    ];
    let mut times = vec![Vec::new(); rayons.len() + SORTS.len()];
    for round in 0..=repeats {
        for at in order::of_round(times.len(), round) {
            data.copy_from_slice(&input);
            let start = Instant::now();
            let (name, place) = if let Some((name, sort)) = rayons.get(at) {
                rayon.install(|| sort(&mut data));
                (*name, SortedIn::Data)
            } else {
                let (name, sort) = SORTS[at - rayons.len()];
                (name, pool.install(|| sort(&mut data, &mut spare, 1)))
            };
            let time = start.elapsed().as_secs_f64();
            let sorted = if place == SortedIn::Data { &data } else { &spare };
            assert!(sorted.is_sorted(), "{name}");
            // In the first round the threads start, and the memory comes.
            if round > 0 {
                times[at].push(time);
            }
        }
    }
    println!("{n} doubles, {threads} threads, medians of {repeats}");
    let medians: Vec<f64> = times.iter_mut().map(|times| median(times)).collect();
    let names = rayons.map(|(name, _)| name).into_iter().chain(SORTS.map(|(name, _)| name));
    for (median, name) in medians.iter().zip(names) {
        println!(
            "{name:<18} {:>8.1} ms  {:.2}  {:.2}",
            1e3 * median,
            median / medians[0],
            median / medians[1]
        );
    }
    Ok(())
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
