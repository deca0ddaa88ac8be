//! Gaussian elimination of a matrix of order n, without exchanges: for each column, the rows below
//! are worked on in parallel.
//!
//! The factors are kept where they make zeros, so that at the end the matrix is its own LU
//! decomposition; with it the system is solved for a right-hand side whose solution is known (all
//! ones). The diagonal is large, so nothing need be exchanged.
//!
//! Declared sizes: a task of m rows touches, of each, what lies right of the column.

use befit::{ThreadPool, fit};

use super::{Branching, Pass};
use crate::{
    ElementSize, Input, KernelError, array,
    element::{Element, Wide},
};

/// Runs `ge`, halving the rows.
pub fn run(pool: &ThreadPool, input: Input) -> Result<(), KernelError> {
    sized(pool, input, Branching::Two)
}

/// Runs `ge-ub`, halving and quartering the rows by turns.
pub fn run_unbalanced(pool: &ThreadPool, input: Input) -> Result<(), KernelError> {
    sized(pool, input, Branching::TwoAndFour)
}

fn sized(pool: &ThreadPool, input: Input, branching: Branching) -> Result<(), KernelError> {
    match input.element {
        ElementSize::Eight => solve::<f64>(pool, input, branching),
        ElementSize::Sixteen => solve::<Wide>(pool, input, branching),
    }
}

fn solve<E: Element>(
    pool: &ThreadPool,
    Input { n, seed, .. }: Input,
    branching: Branching,
) -> Result<(), KernelError> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut sums = array::filled(n, |_| 0.0)?;
    let elements = n.checked_mul(n).ok_or(KernelError::TooLarge { n })?;
    let mut a = array::filled(elements, |i| {
        let (row, column) = (i / n, i % n);
        let value = random.f64() - 0.5 + if row == column { n as f64 } else { 0.0 };
        // The right-hand side that all ones solve.
        sums[row] += value;
        E::new(value)
    })?;
    pool.install(fit(size_of_val(&a[..]), || {
        for column in 0..n {
            eliminate(&mut a, n, column, branching);
        }
    }));
    array::check_near(substitute(&a, n, sums).into_iter(), |_| 1.0, 1e-9)
}

/// Makes the column zero below the diagonal, and leaves the factors there.
fn eliminate<E: Element>(a: &mut [E], n: usize, column: usize, branching: Branching) {
    let (above, below) = a.split_at_mut((column + 1) * n);
    let pivot = &above[column * n..];
    let leaf = |_: usize, rows: &mut [E]| {
        for row in rows.chunks_exact_mut(n) {
            let factor = row[column].get() / pivot[column].get();
            row[column] = E::new(factor);
            for (x, p) in row[column + 1..].iter_mut().zip(&pivot[column + 1..]) {
                *x = E::new(x.get() - factor * p.get());
            }
        }
    };
    Pass::new(branching, n, (n - column) * size_of::<E>(), &leaf).over(0, below);
}

/// Solves LUx = b. Time O(n²).
fn substitute<E: Element>(lu: &[E], n: usize, mut b: Vec<f64>) -> Vec<f64> {
    for i in 0..n {
        let known: f64 = (0..i).map(|j| lu[i * n + j].get() * b[j]).sum();
        b[i] -= known;
    }
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|j| lu[i * n + j].get() * b[j]).sum();
        b[i] = (b[i] - known) / lu[i * n + i].get();
    }
    b
}
