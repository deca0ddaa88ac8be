//! Counts the ways to place n queens so that none threatens another: a task for each queen that can
//! be placed, in every column, without a cut-off.
//!
//! Source: the Barcelona OpenMP Tasks Suite.

use std::hint::black_box;

use befit_rayon_programs::{size, sum};

const MOST: usize = 14;

/// Solutions for 0, 1, … queens (OEIS A000170).
const SOLUTIONS: [u64; MOST + 1] =
    [1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2_680, 14_200, 73_712, 365_596];

/// The solutions on an `n` × `n` board with the queens of `rows[..column]` in its first columns.
fn place(n: usize, column: usize, rows: [i8; MOST]) -> u64 {
    if column == n {
        return 1;
    }
    let (free, count) = free_rows(n, &rows[..column]);
    sum(0..count, &|at| {
        let mut rows = rows;
        rows[column] = free[at as usize];
        place(n, column + 1, rows)
    })
}

/// The rows where a queen may stand in the column after those of `before`, and their number.
fn free_rows(n: usize, before: &[i8]) -> ([i8; MOST], u64) {
    let (mut rows, mut count) = ([0; MOST], 0);
    for row in (0..n as i8).filter(|row| stands(before, *row)) {
        rows[count] = row;
        count += 1;
    }
    (rows, count as u64)
}

/// True if none of `before` threatens a queen in `row` of the next column.
fn stands(before: &[i8], row: i8) -> bool {
    before.iter().enumerate().all(|(column, other)| {
        let distance = (before.len() - column) as i8;
        row != *other && row != other - distance && row != other + distance
    })
}

fn main() {
    let n = size(11);
    let expected = SOLUTIONS.get(n).expect("n is at most 14");
    // One parallel region, which is what is timed.
    let found = rayon::scope(|_| place(black_box(n), 0, [0; MOST]));
    assert_eq!(found, *expected, "the known number");
}
