//! The ways to place 14 queens on a board so that none threatens another: a task for each queen
//! that can be placed.

use std::hint::black_box;

use befit_collection::{Context, arguments, run, sum};

const N: usize = 14;
const SOLUTIONS: u64 = 365_596;

/// The row of the queen in each column.
type Board = [i8; N];

/// The solutions on a board whose columns before `column` are taken.
fn place(cx: &mut Context<'_>, column: usize, board: Board) -> u64 {
    if column == N {
        return 1;
    }
    let mut rows = [0; N];
    let mut count = 0;
    for row in 0..N as i8 {
        if stands(&board[..column], row) {
            rows[count] = row;
            count += 1;
        }
    }
    if count == 0 {
        return 0;
    }
    sum(cx, 0, count, &|cx: &mut Context<'_>, i: usize| {
        let mut board = board;
        board[column] = rows[i];
        place(cx, column + 1, board)
    })
}

/// True if none of `before` threatens a queen in `row` of the next column.
fn stands(before: &[i8], row: i8) -> bool {
    before.iter().enumerate().all(|(column, &other)| {
        let distance = (before.len() - column) as i8;
        row != other && row != other - distance && row != other + distance
    })
}

fn main() {
    let numbers = arguments(0, "nqueens [THREADS]");
    run(
        numbers.first().copied(),
        "iteration_count: 1",
        |pool| {
            pool.install(|cx| black_box(place(cx, 0, black_box([0; N]))));
        },
        |pool| pool.install(|cx| place(cx, 0, black_box([0; N]))),
        |found| *found == SOLUTIONS,
    );
}
