//! The number of ways to place n queens on a board so that none threatens another: a task for each
//! queen that can be placed, in every column, without a cut-off.
//!
//! Source: the runtime-benchmarks collection (tzcnt), whose program goes back to libfork's and so
//! to the Barcelona OpenMP Tasks Suite.

use std::{hint::black_box, time::Duration};

use super::{checked, timed};
use crate::{Error, runtime::Runtime};

const MOST: usize = 16;

/// Solutions for 0, 1, … queens (OEIS A000170).
const SOLUTIONS: [u64; MOST + 1] =
    [1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2_680, 14_200, 73_712, 365_596, 2_279_184, 14_772_512];

/// The row of the queen in each column.
type Board = [i8; MOST];

pub(crate) fn run<R: Runtime>(runtime: &R, n: usize) -> Result<Duration, Error> {
    let (time, found) = timed(runtime, None, move |cx| place::<R>(cx, black_box(n), 0, [0; MOST]));
    checked(time, found, SOLUTIONS[n])
}

/// The solutions on an `n` × `n` board whose columns before `column` are taken.
fn place<R: Runtime>(cx: &mut R::Context<'_>, n: usize, column: usize, board: Board) -> u64 {
    if column == n {
        return 1;
    }
    let (rows, count) = free_rows(n, &board[..column]);
    R::sum(cx, count, &|cx: &mut R::Context<'_>, i: usize| {
        let mut board = board;
        board[column] = rows[i];
        place::<R>(cx, n, column + 1, board)
    })
}

/// The rows where a queen may stand in the column after those of `before`, and their number. Nearly
/// all of the time goes into its branches.
#[inline(never)]
fn free_rows(n: usize, before: &[i8]) -> ([i8; MOST], usize) {
    let mut rows = [0; MOST];
    let mut count = 0;
    for row in 0..n as i8 {
        if stands(before, row) {
            rows[count] = row;
            count += 1;
        }
    }
    (rows, count)
}

/// True if none of `before` threatens a queen in `row` of the next column.
#[inline]
fn stands(before: &[i8], row: i8) -> bool {
    before.iter().enumerate().all(|(column, &other)| {
        let distance = (before.len() - column) as i8;
        row != other && row != other - distance && row != other + distance
    })
}
