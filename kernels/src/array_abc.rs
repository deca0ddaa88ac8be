//! Tasks A, B and C, each summing column 0 of 256 of an array's 512 rows, in a good and in a bad
//! order.
//!
//! Source: the first experiment (arrays) of de Kruijf and Stockman (2007): 512 × 16 `i32`, a row a
//! cache line of 64 bytes; A works on rows 0–255, B on 128–383, C on 256–511. Schedule 1 runs each
//! task N times in turn (A…AB…BC…C), schedule 2 all of them once, N times (ABCABC…). One pass over
//! the tasks comes before, to warm the caches. The rows of a task fill the L1 of 16 KiB there:
//! under schedule 1 all runs of a task but the first hit, under schedule 2 each run misses the rows
//! that do not overlap with the task before.
//!
//! The kernel spawns one task for each run, in the order of the schedule; each sums 256 loads. The
//! scheduler is free to run them in another order.

use std::sync::atomic::{AtomicI64, Ordering};

use befit::{ThreadPool, scope};
use befit_catalog::Settings;

use crate::{
    Input, KernelError,
    row::{column, expected, rows},
};

/// Rows of the array.
const ROWS: usize = 512;
/// Rows that one task works on.
const WINDOW: usize = 256;

/// N is `input.n`; the seed makes no difference.
pub fn run(pool: &ThreadPool, input: Input, settings: &Settings) -> Result<(), KernelError> {
    let rows = rows(ROWS)?;
    let firsts: Vec<usize> =
        settings.get("tasks").bytes().map(|task| usize::from(task - b'a') * WINDOW / 2).collect();
    let sums: Vec<AtomicI64> = firsts.iter().map(|_| AtomicI64::new(0)).collect();
    let count = firsts.len();
    let total = input.n.checked_mul(count).ok_or(KernelError::TooLarge { n: input.n })?;
    let in_turn = settings.get("schedule") == "1";
    let task_of = |run: usize| if in_turn { run / input.n } else { run % count };
    pool.install(|| {
        scope(|s| {
            for task in (0..count).chain((0..total).map(task_of)) {
                let (sum, rows) = (&sums[task], &rows[firsts[task]..firsts[task] + WINDOW]);
                s.spawn(move |_| {
                    sum.fetch_add(column(rows), Ordering::Relaxed);
                });
            }
        });
    });
    for (index, (sum, first)) in sums.iter().zip(&firsts).enumerate() {
        let (found, expected) =
            (sum.load(Ordering::Relaxed), expected(*first, first + WINDOW) * (input.n as i64 + 1));
        if found != expected {
            return Err(KernelError::WrongResult {
                index,
                found: found as f64,
                expected: expected as f64,
            });
        }
    }
    Ok(())
}
