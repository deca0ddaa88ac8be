//! Divides n numbers by the root of the sum of their squares, four times, and checks that the sum
//! of the squares is then 1.

use rayon::prelude::*;

/// Numbers of a task, at least.
const LEAST: usize = 4096;

fn squares(numbers: &[f64]) -> f64 {
    numbers.par_iter().with_min_len(LEAST).map(|x| x * x).sum()
}

fn normalise(numbers: &mut [f64]) {
    for _ in 0..4 {
        let root = squares(numbers).sqrt();
        numbers.par_iter_mut().with_min_len(LEAST).for_each(|x| *x /= root);
    }
}

fn main() {
    let n = befit_rayon_programs::size(16_000_000).max(1);
    let mut random = fastrand::Rng::with_seed(1);
    let mut numbers: Vec<f64> = (0..n).map(|_| random.f64()).collect();
    // One parallel region, which is what is timed.
    rayon::scope(|_| normalise(&mut numbers));
    assert!((squares(&numbers) - 1.0).abs() < 1e-9);
    println!("the first is {:.3e}", numbers[0]);
}
