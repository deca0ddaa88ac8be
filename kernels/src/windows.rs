//! Tasks that each sum column 0 of a window of an array's rows: `array-abc` and `array-windows`.
//!
//! Source: the first experiment (arrays) of de Kruijf and Stockman (2007): 512 × 16 `i32`, a row a
//! cache line of 64 bytes; task A works on rows 0–255, B on 128–383, C on 256–511. Schedule 1 runs
//! each task N times in turn (A…AB…BC…C), schedule 2 all of them once, N times (ABCABC…). One pass
//! over the tasks comes before, to warm the caches. The rows of a task fill the L1 of 16 KiB there:
//! under schedule 1 all runs of a task but the first hit, under schedule 2 each run misses the rows
//! that do not overlap with the task before.
//!
//! `array-abc` spawns one task for each run, in the order of the schedule; each sums 256 loads. The
//! scheduler is free to run them in another order.
//!
//! `array-windows` mixes such tasks: n windows of an array of `rows` rows, whose first rows are
//! drawn at random (`overlap=random`), or that lie one behind another and share nothing
//! (`overlap=none`; the array is then as long as that takes). It spawns them in the order of their
//! first rows, or as drawn (`order=random`).

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use befit::{ThreadPool, scope};
use befit_catalog::Settings;

use crate::{Input, KernelError, array};

/// Rows of the array of `array-abc`.
const ROWS: usize = 512;
/// Rows that one of its tasks works on.
const WINDOW: usize = 256;

/// 16 numbers in a cache line of their own.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Row([i32; 16]);

/// `count` rows; row i holds i in each column.
fn rows(count: usize) -> Result<Vec<Row>, KernelError> {
    array::filled(count, |i| Row([i as i32; 16]))
}

/// The sum of column 0: one load in each row.
fn column(rows: &[Row]) -> i64 {
    rows.iter().map(|row| i64::from(row.0[0])).sum()
}

/// The sum that [`column`] must give for `count` rows from `first` on.
fn expected(first: usize, count: usize) -> i64 {
    (2 * first as i64 + count as i64 - 1) * count as i64 / 2
}

/// `array-abc`: N is `input.n`; the seed makes no difference.
pub(crate) fn abc(pool: &ThreadPool, input: Input, settings: &Settings) -> Result<(), KernelError> {
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
                    sum.fetch_add(column(rows), Relaxed);
                });
            }
        });
    });
    let runs = input.n as i64 + 1;
    sums.iter().zip(&firsts).enumerate().try_for_each(|(index, (sum, first))| {
        let expected = expected(*first, WINDOW) * runs;
        array::check_number(index, sum.load(Relaxed) as f64, expected as f64)
    })
}

/// `array-windows`: runs `input.n` tasks; the seed draws windows and order.
pub(crate) fn windows(
    pool: &ThreadPool,
    input: Input,
    settings: &Settings,
) -> Result<(), KernelError> {
    let window = settings.number("window");
    let apart = settings.get("overlap") == "none";
    let count = if apart {
        window.checked_mul(input.n).ok_or(KernelError::TooLarge { n: input.n })?
    } else {
        settings.number("rows").max(window)
    };
    let rows = rows(count)?;
    let mut random = fastrand::Rng::with_seed(input.seed);
    let mut first = |i| if apart { i * window } else { random.usize(..=count - window) };
    let mut firsts = array::filled(input.n, &mut first)?;
    match settings.get("order") {
        "random" => random.shuffle(&mut firsts),
        _ => firsts.sort_unstable(),
    }
    let sum = AtomicI64::new(0);
    pool.install(|| {
        scope(|s| {
            for first in &firsts {
                let (sum, rows) = (&sum, &rows[*first..first + window]);
                s.spawn(move |_| {
                    sum.fetch_add(column(rows), Relaxed);
                });
            }
        });
    });
    let expected: i64 = firsts.iter().map(|first| expected(*first, window)).sum();
    array::check_number(0, sum.into_inner() as f64, expected as f64)
}
