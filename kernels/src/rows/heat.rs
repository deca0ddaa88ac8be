//! Heat spreads over a plate: five-point Jacobi on two matrices of n rows × 512.
//!
//! Each pass gives every inner element the mean of its four neighbours in the other matrix; the
//! edge is fixed. It begins with a plane, which stays, and half a wave on top, which becomes
//! smaller by a known factor with each pass. So the result is known for any number of passes.
//!
//! Declared sizes: a task of m rows touches m rows of both matrices (and two rows of its
//! neighbours, left out).

use befit::{ThreadPool, fit};

use super::{Branching, COLUMNS, Pass, Plate, default_iterations};
use crate::{
    ElementSize, Input, KernelError, array,
    element::{Element, Wide},
};

/// Runs `heat`, halving the rows.
pub fn run(pool: &ThreadPool, input: Input) -> Result<(), KernelError> {
    sized(pool, input, Branching::Two)
}

/// Runs `heat-ub`, halving and quartering the rows by turns.
pub fn run_unbalanced(pool: &ThreadPool, input: Input) -> Result<(), KernelError> {
    sized(pool, input, Branching::TwoAndFour)
}

/// One pass over rows of 512 doubles, halving them, in the pool that it is called in: `to` gets the
/// inner elements' means of neighbours in `from`. Its edge stays, as do rows beyond the shorter of
/// the two.
pub fn jacobi(from: &[f64], to: &mut [f64]) {
    pass(from, to, Branching::Two);
}

fn sized(pool: &ThreadPool, input: Input, branching: Branching) -> Result<(), KernelError> {
    match input.element {
        ElementSize::Eight => solve::<f64>(pool, input, branching),
        ElementSize::Sixteen => solve::<Wide>(pool, input, branching),
    }
}

fn solve<E: Element>(
    pool: &ThreadPool,
    input: Input,
    branching: Branching,
) -> Result<(), KernelError> {
    let rows = input.n;
    let iterations = input.iterations.unwrap_or(default_iterations(rows));
    let plate = Plate::new(rows);
    let begin = |i: usize| E::new(plate.with_wave(1.0, i / COLUMNS, i % COLUMNS));
    let elements = rows.checked_mul(COLUMNS).ok_or(KernelError::TooLarge { n: rows })?;
    let mut from = array::filled(elements, begin)?;
    let mut to = array::filled(elements, begin)?;
    pool.install(fit(2 * size_of_val(&from[..]), || {
        for _ in 0..iterations {
            pass(&from, &mut to, branching);
            std::mem::swap(&mut from, &mut to);
        }
    }));
    check(&plate, iterations, from.iter().map(|e| e.get()))
}

/// Checks the elements after so many passes, from the first one on.
fn check(
    plate: &Plate,
    passes: usize,
    found: impl Iterator<Item = f64>,
) -> Result<(), KernelError> {
    let height = plate.height_after(passes);
    let expected = |i: usize| plate.with_wave(height, i / COLUMNS, i % COLUMNS);
    array::check_near(found, expected, plate.tolerance(passes))
}

fn pass<E: Element>(from: &[E], to: &mut [E], branching: Branching) {
    let leaf = |first: usize, rows: &mut [E]| {
        for (i, row) in rows.chunks_exact_mut(COLUMNS).enumerate() {
            average(from, first + i, row);
        }
    };
    Pass::new(branching, COLUMNS, 2 * COLUMNS * size_of::<E>(), &leaf).over(0, to);
}

/// Row `at` of the next pass.
fn average<E: Element>(from: &[E], at: usize, row: &mut [E]) {
    let line = |row: usize| from.get(row * COLUMNS..(row + 1) * COLUMNS);
    let (Some(above), Some(here), Some(below)) =
        (at.checked_sub(1).and_then(line), line(at), line(at + 1))
    else {
        return;
    };
    let (row, above, below) = (&mut row[..COLUMNS], &above[..COLUMNS], &below[..COLUMNS]);
    for j in 1..COLUMNS - 1 {
        row[j] = E::new(
            0.25 * (above[j].get() + below[j].get() + here[j - 1].get() + here[j + 1].get()),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leaf_at_the_edge_that_missed_a_pass_is_refused_whatever_the_number_of_rows() {
        for rows in [1024, 1_000_000, 100_000_000] {
            let (plate, passes) = (Plate::new(rows), default_iterations(rows));
            // A leaf has four rows at least.
            let leaf = |passes: usize| {
                let height = plate.height_after(passes);
                let plate = &plate;
                (0..4 * COLUMNS).map(move |i| plate.with_wave(height, i / COLUMNS, i % COLUMNS))
            };
            assert_eq!(check(&plate, passes, leaf(passes)), Ok(()));
            assert!(check(&plate, passes, leaf(passes - 1)).is_err(), "{rows} rows");
            assert!(check(&plate, passes, leaf(0)).is_err(), "{rows} rows");
        }
    }
}
