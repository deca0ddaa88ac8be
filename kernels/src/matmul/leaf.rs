//! What one thread does: small blocks, in loops that compilers turn into vector instructions.
//!
//! It is written out rather than taken from a crate: those read with instructions of 32 bytes and more, which a compiler's instrumentation of memory
//! accesses does not see, and make a fresh copy of each block on the heap.

use ndarray::{ArrayView2, ArrayViewMut2};

/// The most rows of a leaf.
pub(super) const MOST: usize = 128;
/// Columns that are computed at once.
const COLUMNS: usize = 8;
/// Rows that are computed at once.
const ROWS: usize = 4;

/// Rows of B, so many columns wide, one after another: whole lines, whatever B's rows are apart.
type Panel = [[f64; COLUMNS]; MOST];

/// Adds A·B to C. Square blocks of at most [`MOST`] rows, each row contiguous. Time O(rows³).
pub(super) fn multiply(a: ArrayView2<'_, f64>, b: ArrayView2<'_, f64>, mut c: ArrayViewMut2<'_, f64>) {
    let n = c.nrows();
    let mut panel: Panel = [[0.0; COLUMNS]; MOST];
    for first in (0..n).step_by(COLUMNS) {
        let columns = first..(first + COLUMNS).min(n);
        for (to, from) in panel.iter_mut().zip(b.rows()) {
            let from = &row(from.to_slice())[columns.clone()];
            to[..from.len()].copy_from_slice(from);
        }
        let panel = &panel[..n];
        let whole = n - n % ROWS;
        for i in (0..whole).step_by(ROWS) {
            add(&mut c, i, columns.clone(), &tile::<ROWS>(a, i, panel));
        }
        for i in whole..n {
            add(&mut c, i, columns.clone(), &tile::<1>(a, i, panel));
        }
    }
}

/// The products of `R` rows of A, from row `first` on, and the panel.
#[inline]
fn tile<const R: usize>(a: ArrayView2<'_, f64>, first: usize, panel: &[[f64; COLUMNS]]) -> [[f64; COLUMNS]; R] {
    let rows: [&[f64]; R] = std::array::from_fn(|i| &row(a.row(first + i).to_slice())[..panel.len()]);
    let mut sums = [[0.0; COLUMNS]; R];
    for (k, b) in panel.iter().enumerate() {
        for (sums, row) in sums.iter_mut().zip(rows) {
            let factor = row[k];
            for (sum, b) in sums.iter_mut().zip(b) {
                *sum += factor * b;
            }
        }
    }
    sums
}

#[inline]
fn add(c: &mut ArrayViewMut2<'_, f64>, first: usize, columns: std::ops::Range<usize>, sums: &[[f64; COLUMNS]]) {
    for (i, sums) in sums.iter().enumerate() {
        let mut c = c.row_mut(first + i);
        let c = &mut c.as_slice_mut().expect(CONTIGUOUS)[columns.clone()];
        c.iter_mut().zip(sums).for_each(|(c, sum)| *c += sum);
    }
}

const CONTIGUOUS: &str = "rows are contiguous";

fn row(slice: Option<&[f64]>) -> &[f64] {
    slice.expect(CONTIGUOUS)
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;

    #[test]
    fn blocks_of_any_size_are_multiplied() {
        for n in [1, 3, 4, 7, 8, 10, 20, 128] {
            let a = Array2::from_shape_fn((n, n), |(i, j)| (i * 7 + j * 3 % 5) as f64);
            let b = Array2::from_shape_fn((n, n), |(i, j)| (i * 2 + j * 11 % 7) as f64);
            let mut c = Array2::from_elem((n, n), 1.0);
            multiply(a.view(), b.view(), c.view_mut());
            for ((i, j), c) in c.indexed_iter() {
                let sum: f64 = (0..n).map(|k| a[[i, k]] * b[[k, j]]).sum();
                assert_eq!(*c, sum + 1.0, "{n}: {i}, {j}");
            }
        }
    }
}
