//! Tasks that each sum column 0 of a window of an array's rows, the windows overlapping at random
//! or not at all.
//!
//! The tasks of [`crate::array_abc`], mixed: n windows of an array of `rows` rows, whose first rows
//! are drawn at random (`overlap=random`), or that lie one behind another and share nothing
//! (`overlap=none`; the array is then as long as that takes). They are spawned in the order of
//! their first rows, or as drawn (`order=random`).

use std::sync::atomic::{AtomicI64, Ordering};

use befit::{ThreadPool, scope};
use befit_catalog::Settings;

use crate::{
    Input, KernelError, array,
    row::{column, expected, rows},
};

/// Runs `input.n` tasks; the seed draws windows and order.
pub fn run(pool: &ThreadPool, input: Input, settings: &Settings) -> Result<(), KernelError> {
    let too_large = KernelError::TooLarge { n: input.n };
    let window = settings.number("window");
    let apart = settings.get("overlap") == "none";
    let count = if apart {
        window.checked_mul(input.n).ok_or(too_large)?
    } else {
        settings.number("rows").max(window)
    };
    let rows = rows(count)?;
    let mut random = fastrand::Rng::with_seed(input.seed);
    let mut firsts =
        array::filled(
            input.n,
            |i| if apart { i * window } else { random.usize(..=count - window) },
        )?;
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
                    sum.fetch_add(column(rows), Ordering::Relaxed);
                });
            }
        });
    });
    let expected: i64 = firsts.iter().map(|first| expected(*first, first + window)).sum();
    match sum.into_inner() {
        found if found == expected => Ok(()),
        found => Err(KernelError::WrongResult {
            index: 0,
            found: found as f64,
            expected: expected as f64,
        }),
    }
}
