//! Ten rounds of conjugate gradients on the five-point equation of a square grid: in each a product
//! with the matrix, two inner products and three updates.

use rayon::prelude::*;

const ROUNDS: usize = 10;

fn product(of: &[f64], result: &mut [f64], n: usize) {
    result.par_chunks_mut(n).enumerate().for_each(|(row, result)| {
        for (column, result) in result.iter_mut().enumerate() {
            let at = row * n + column;
            let neighbours = [
                (row > 0).then(|| of[at - n]),
                (row + 1 < n).then(|| of[at + n]),
                (column > 0).then(|| of[at - 1]),
                (column + 1 < n).then(|| of[at + 1]),
            ];
            *result = 4.0 * of[at] - neighbours.into_iter().flatten().sum::<f64>();
        }
    });
}

fn inner(a: &[f64], b: &[f64]) -> f64 {
    a.par_iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Adds `factor` times the others.
fn add(to: &mut [f64], factor: f64, others: &[f64]) {
    to.par_iter_mut().zip(others).for_each(|(to, other)| *to += factor * other);
}

fn main() {
    let n = befit_rayon_programs::size(1200).max(1);
    let mut random = fastrand::Rng::with_seed(1);
    let mut rest: Vec<f64> = (0..n * n).map(|_| random.f64()).collect();
    let (mut found, mut image) = (vec![0.0; n * n], vec![0.0; n * n]);
    let mut direction = rest.clone();
    let first = inner(&rest, &rest);
    let mut square = first;
    for _ in 0..ROUNDS {
        // Of a grid of one the first round solves the equation.
        if square == 0.0 {
            break;
        }
        product(&direction, &mut image, n);
        let step = square / inner(&direction, &image);
        add(&mut found, step, &direction);
        add(&mut rest, -step, &image);
        let next = inner(&rest, &rest);
        let turn = next / std::mem::replace(&mut square, next);
        direction.par_iter_mut().zip(&rest).for_each(|(to, rest)| *to = rest + turn * *to);
    }
    println!("{:.3} of the rest is left", (square / first).sqrt());
}
