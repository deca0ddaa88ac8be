//! Heat in a plate: five-point Jacobi, every step in parallel over halves of the rows.
//!
//! Source: Q. Chen, M. Guo, Z. Huang, "CATS: cache aware task-stealing based on online profiling in
//! multi-socket multi-core architectures", ICS 2012 (Heat), with its two matrices of rows × 512
//! doubles. Chen et al. do not give the number of steps; here it is 100.
//!
//! The plate starts with one of its modes, sin(3πi/(rows−1)) · sin(3πj/511), which a step only
//! scales, by (cos(3π/(rows−1)) + cos(3π/511))/2. So every cell is known, and the check finds one
//! that missed a step.

use std::{array, f64::consts::PI, mem, time::Duration};

use super::{filled, timed};
use crate::{Error, runtime::Runtime};

const COLUMNS: usize = 512;
const STEPS: i32 = 100;
/// With so many rows or fewer a task does not fork.
const LEAF_ROWS: usize = 8;
/// Half waves across the plate.
const MODE: f64 = 3.0;

type Row = [f64; COLUMNS];

pub(crate) fn run<R: Runtime>(runtime: &R, n: usize) -> Result<Duration, Error> {
    let angle = |lines: usize| MODE * PI / (lines - 1) as f64;
    let across: Row = array::from_fn(|j| (angle(COLUMNS) * j as f64).sin());
    let mut from = filled(n, |i| across.map(|x| x * (angle(n) * i as f64).sin()))?;
    let mut to = filled(n, |i| from[i])?;

    let bytes = 2 * size_of_val(&from[..]);
    let (time, ()) = timed(runtime, Some(bytes), |cx| {
        for _ in 0..STEPS {
            step::<R>(cx, &from, &mut to, 0);
            mem::swap(&mut from, &mut to);
        }
    });

    let decay = ((angle(n).cos() + angle(COLUMNS).cos()) / 2.0).powi(STEPS);
    for (i, row) in from.iter().enumerate().take(n - 1).skip(1) {
        let down = decay * (angle(n) * i as f64).sin();
        for (j, found) in row.iter().enumerate().take(COLUMNS - 1).skip(1) {
            let expected = down * across[j];
            // Asked this way round, a NaN is wrong.
            let right = (found - expected).abs() <= 1e-10;
            if !right {
                let what = format!("row {i}, column {j} is {found}, must be {expected}");
                return Err(Error::WrongResult(what));
            }
        }
    }
    Ok(time)
}

/// One step for the rows of `to`, which begin with row `first` of the plate. The plate's edge stays
/// as it is.
fn step<R: Runtime>(cx: &mut R::Context<'_>, from: &[Row], to: &mut [Row], first: usize) {
    if to.len() <= LEAF_ROWS {
        return relax_rows(from, to, first);
    }
    let (upper, lower) = to.split_at_mut(to.len() / 2);
    let middle = first + upper.len();
    R::join_fit(
        cx,
        (2 * size_of_val(upper), |cx: &mut R::Context<'_>| step::<R>(cx, from, upper, first)),
        (2 * size_of_val(lower), |cx: &mut R::Context<'_>| step::<R>(cx, from, lower, middle)),
    );
}

#[inline(never)]
fn relax_rows(from: &[Row], to: &mut [Row], first: usize) {
    for (i, row) in to.iter_mut().enumerate() {
        let i = first + i;
        if i > 0 && i + 1 < from.len() {
            relax(&from[i - 1], &from[i], &from[i + 1], row);
        }
    }
}

fn relax(above: &Row, here: &Row, below: &Row, to: &mut Row) {
    for j in 1..COLUMNS - 1 {
        to[j] = 0.25 * (above[j] + below[j] + here[j - 1] + here[j + 1]);
    }
}
