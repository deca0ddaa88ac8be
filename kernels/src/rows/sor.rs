//! Successive over-relaxation on a matrix of n rows × 512, red-black.
//!
//! Each pass moves every inner element of one colour towards, and beyond, the mean of its four
//! neighbours, which are of the other colour; an iteration is a pass over the red elements and one
//! over the black ones. The colours are arrays of their own, so that a pass reads one and writes
//! the other. As in [`super::heat`] it begins with a plane, which stays, and half a wave. The
//! wave's height differs between the colours. Each iteration changes the two heights in a known
//! way, so the result is known for any number of iterations.
//!
//! Declared sizes: a task of m rows touches m rows of both colours.

use befit::{ThreadPool, fit};

use super::{Branching, COLUMNS, Pass, Plate, default_iterations};
use crate::{
    ElementSize, Input, KernelError, array,
    element::{Element, Wide},
};

/// Elements of one colour in a row.
const WIDTH: usize = COLUMNS / 2;
/// The factor of relaxation, 1 to 2: elements move so far beyond the mean.
const OMEGA: f64 = 1.5;

/// Runs `sor`, halving the rows.
pub fn run(pool: &ThreadPool, input: Input) -> Result<(), KernelError> {
    sized(pool, input, Branching::Two)
}

/// Runs `sor-ub`, halving and quartering the rows by turns.
pub fn run_unbalanced(pool: &ThreadPool, input: Input) -> Result<(), KernelError> {
    sized(pool, input, Branching::TwoAndFour)
}

fn sized(pool: &ThreadPool, input: Input, branching: Branching) -> Result<(), KernelError> {
    match input.element {
        ElementSize::Eight => solve::<f64>(pool, input, branching),
        ElementSize::Sixteen => solve::<Wide>(pool, input, branching),
    }
}

/// Red where row and column have an even sum.
#[derive(Clone, Copy)]
enum Colour {
    Red = 0,
    Black = 1,
}

impl Colour {
    /// The column, 0 or 1, of the first element of this colour in `row`.
    fn shift(self, row: usize) -> usize {
        (row + self as usize) % 2
    }

    /// Row and column of the element at index `i` of this colour's array.
    fn place(self, i: usize) -> (usize, usize) {
        let row = i / WIDTH;
        (row, 2 * (i % WIDTH) + self.shift(row))
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
    let begin = |colour: Colour| {
        array::filled(rows.checked_mul(WIDTH).ok_or(KernelError::TooLarge { n: rows })?, |i| {
            E::new(at(&plate, colour, 1.0, i))
        })
    };
    let (mut red, mut black) = (begin(Colour::Red)?, begin(Colour::Black)?);
    pool.install(fit(2 * size_of_val(&red[..]), || {
        for _ in 0..iterations {
            pass(Colour::Red, &mut red, &black, branching);
            pass(Colour::Black, &mut black, &red, branching);
        }
    }));
    let [of_red, of_black] = heights(&plate, iterations);
    check(&plate, iterations, Colour::Red, of_red, red.iter().map(|e| e.get()))?;
    check(&plate, iterations, Colour::Black, of_black, black.iter().map(|e| e.get()))
}

/// Checks the elements of a colour, from the first one on: after so many iterations its wave has
/// that height.
fn check(
    plate: &Plate,
    iterations: usize,
    colour: Colour,
    height: f64,
    found: impl Iterator<Item = f64>,
) -> Result<(), KernelError> {
    array::check_near(found, |i| at(plate, colour, height, i), plate.tolerance(iterations))
}

/// The heights of the wave, red and black, after so many iterations.
fn heights(plate: &Plate, iterations: usize) -> [f64; 2] {
    let (factor, mut red, mut black) = (plate.factor(), 1.0, 1.0);
    for _ in 0..iterations {
        red += OMEGA * (factor * black - red);
        black += OMEGA * (factor * red - black);
    }
    [red, black]
}

/// Element `i` of a colour whose wave has that height.
fn at(plate: &Plate, colour: Colour, height: f64, i: usize) -> f64 {
    let (row, column) = colour.place(i);
    plate.with_wave(height, row, column)
}

fn pass<E: Element>(colour: Colour, own: &mut [E], other: &[E], branching: Branching) {
    let leaf = |first: usize, rows: &mut [E]| {
        for (i, row) in rows.chunks_exact_mut(WIDTH).enumerate() {
            relax(colour, first + i, row, other);
        }
    };
    Pass::new(branching, WIDTH, 2 * WIDTH * size_of::<E>(), &leaf).over(0, own);
}

/// Row `at` of one colour.
fn relax<E: Element>(colour: Colour, at: usize, row: &mut [E], other: &[E]) {
    let line = |row: usize| other.get(row * WIDTH..(row + 1) * WIDTH);
    let (Some(above), Some(here), Some(below)) =
        (at.checked_sub(1).and_then(line), line(at), line(at + 1))
    else {
        return;
    };
    let (row, above, here, below) =
        (&mut row[..WIDTH], &above[..WIDTH], &here[..WIDTH], &below[..WIDTH]);
    let shift = colour.shift(at);
    // The first element of an unshifted row, and the last of a shifted one, are the edge. The
    // neighbours to both sides stand at j − 1 and j, or at j and j + 1.
    for j in 1 - shift..WIDTH - shift {
        let sides = here[j + shift - 1].get() + here[j + shift].get();
        let mean = 0.25 * (above[j].get() + below[j].get() + sides);
        row[j] = E::new(row[j].get() + OMEGA * (mean - row[j].get()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leaf_at_the_edge_that_missed_a_pass_is_refused_whatever_the_number_of_rows() {
        for rows in [1024, 1_000_000, 100_000_000] {
            let (plate, iterations) = (Plate::new(rows), default_iterations(rows));
            for colour in [Colour::Red, Colour::Black] {
                // A leaf has four rows at least.
                let leaf = |iterations: usize| {
                    let height = heights(&plate, iterations)[colour as usize];
                    let plate = &plate;
                    (0..4 * WIDTH).map(move |i| at(plate, colour, height, i))
                };
                let height = heights(&plate, iterations)[colour as usize];
                let check = |found| check(&plate, iterations, colour, height, found);
                assert_eq!(check(leaf(iterations)), Ok(()));
                assert!(check(leaf(iterations - 1)).is_err(), "{rows} rows");
                assert!(check(leaf(0)).is_err(), "{rows} rows");
            }
        }
    }
}
