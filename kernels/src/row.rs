//! Rows of 16 numbers, each in a cache line of its own, and the task that adds up some of their
//! first numbers.

use crate::{KernelError, array};

/// 64 bytes, a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Row([i32; 16]);

/// `count` rows; row i holds i in each column.
pub(crate) fn rows(count: usize) -> Result<Vec<Row>, KernelError> {
    array::filled(count, |i| Row([i as i32; 16]))
}

/// The sum of column 0: one load in each row.
pub(crate) fn column(rows: &[Row]) -> i64 {
    rows.iter().map(|row| i64::from(row.0[0])).sum()
}

/// The sum that [`column`] must give for rows `from..to`.
pub(crate) fn expected(from: usize, to: usize) -> i64 {
    (from as i64 + to as i64 - 1) * (to as i64 - from as i64) / 2
}
