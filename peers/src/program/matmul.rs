//! Matrix product C += A·B by quadrants: four products in parallel, then the four that add to the
//! same quadrants of C.
//!
//! Source: the runtime-benchmarks collection (tzcnt), with its 32-bit integers, its leaf of 32 × 32
//! and its loops.

use std::time::Duration;

use ndarray::{Array2, ArrayView1, ArrayView2, ArrayViewMut2, Axis};

use super::{filled, random, timed};
use crate::{Error, runtime::Runtime};

/// Matrices with so many rows are multiplied by loops.
const LEAF: usize = 32;

pub(crate) fn run<R: Runtime>(runtime: &R, n: usize) -> Result<Duration, Error> {
    // Small numbers, so that no sum overflows.
    let a = matrix(n, |i| (random(i as u64) & 15) as i32)?;
    let b = matrix(n, |i| (random((n * n + i) as u64) & 15) as i32)?;
    let mut c = matrix(n, |_| 0)?;
    let (time, ()) = timed(runtime, Some(3 * square(n)), |cx| {
        multiply::<R>(cx, a.view(), b.view(), c.view_mut())
    });
    if !is_product(&a, &b, &c) {
        return Err(Error::WrongResult("C is not A times B".to_owned()));
    }
    Ok(time)
}

fn matrix(n: usize, element: impl FnMut(usize) -> i32) -> Result<Array2<i32>, Error> {
    Ok(Array2::from_shape_vec((n, n), filled(n * n, element)?).expect("n rows of n elements"))
}

/// Bytes of a matrix with `n` rows.
fn square(n: usize) -> usize {
    n * n * size_of::<i32>()
}

/// Adds A·B to C.
fn multiply<R: Runtime>(
    cx: &mut R::Context<'_>,
    a: ArrayView2<i32>,
    b: ArrayView2<i32>,
    mut c: ArrayViewMut2<i32>,
) {
    if c.nrows() <= LEAF {
        return leaf(a, b, c);
    }
    let half = c.nrows() / 2;
    let [a11, a12, a21, a22] = quadrants(a, half);
    let [b11, b12, b21, b22] = quadrants(b, half);
    four::<R>(cx, [a11, a21], [b11, b12], c.view_mut());
    four::<R>(cx, [a12, a22], [b21, b22], c);
}

/// Adds the products of two blocks of A, one below the other, and two of B, one beside the other,
/// to the quadrants of C.
fn four<R: Runtime>(
    cx: &mut R::Context<'_>,
    [a1, a2]: [ArrayView2<i32>; 2],
    [b1, b2]: [ArrayView2<i32>; 2],
    c: ArrayViewMut2<i32>,
) {
    let half = c.nrows() / 2;
    let (c1, c2) = c.split_at(Axis(0), half);
    // A block of A, two of B, two of C.
    let bytes = 5 * square(half);
    R::join_fit(
        cx,
        (bytes, |cx: &mut R::Context<'_>| two::<R>(cx, a1, [b1, b2], c1)),
        (bytes, |cx: &mut R::Context<'_>| two::<R>(cx, a2, [b1, b2], c2)),
    );
}

fn two<R: Runtime>(
    cx: &mut R::Context<'_>,
    a: ArrayView2<i32>,
    [b1, b2]: [ArrayView2<i32>; 2],
    c: ArrayViewMut2<i32>,
) {
    let half = c.nrows();
    let (c1, c2) = c.split_at(Axis(1), half);
    let bytes = 3 * square(half);
    R::join_fit(
        cx,
        (bytes, |cx: &mut R::Context<'_>| multiply::<R>(cx, a, b1, c1)),
        (bytes, |cx: &mut R::Context<'_>| multiply::<R>(cx, a, b2, c2)),
    );
}

/// Upper left, upper right, lower left, lower right.
fn quadrants(m: ArrayView2<'_, i32>, half: usize) -> [ArrayView2<'_, i32>; 4] {
    let (upper, lower) = m.split_at(Axis(0), half);
    let ((q1, q2), (q3, q4)) = (upper.split_at(Axis(1), half), lower.split_at(Axis(1), half));
    [q1, q2, q3, q4]
}

#[inline(never)]
fn leaf(a: ArrayView2<i32>, b: ArrayView2<i32>, c: ArrayViewMut2<i32>) {
    match c.nrows() {
        // A constant, so that the compiler makes loops of this length.
        LEAF => rows(a, b, c, LEAF),
        n => rows(a, b, c, n),
    }
}

/// The product of blocks of order `n`.
#[inline(always)]
fn rows(a: ArrayView2<i32>, b: ArrayView2<i32>, mut c: ArrayViewMut2<i32>, n: usize) {
    const ROWS: &str = "rows are contiguous";
    for (a, mut c) in a.rows().into_iter().zip(c.rows_mut()) {
        let c = &mut c.as_slice_mut().expect(ROWS)[..n];
        for (a, b) in a.iter().zip(b.rows()) {
            add(c, *a, &b.to_slice().expect(ROWS)[..n]);
        }
    }
}

/// Adds a·b to c. As arguments the rows are known not to overlap, or the compiler would not use
/// vectors.
fn add(c: &mut [i32], a: i32, b: &[i32]) {
    for (c, b) in c.iter_mut().zip(b) {
        *c += a * b;
    }
}

/// Freivalds' check: C·x = A·(B·x) for a random x. A wrong C passes with a probability of about
/// 2⁻¹⁶ at most.
fn is_product(a: &Array2<i32>, b: &Array2<i32>, c: &Array2<i32>) -> bool {
    // Numbers after those of A and B.
    let (n, used) = (c.nrows(), 2 * c.len());
    let x: Vec<i64> = (used..used + n).map(|i| (random(i as u64) & 0xffff) as i64).collect();
    times(c, &x) == times(a, &times(b, &x))
}

fn times(m: &Array2<i32>, x: &[i64]) -> Vec<i64> {
    let times = |row: ArrayView1<i32>| row.iter().zip(x).map(|(m, x)| i64::from(*m) * x).sum();
    m.rows().into_iter().map(times).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_product_is_found() {
        let a = matrix(64, |i| (i % 7) as i32).unwrap();
        let mut c = matrix(64, |_| 0).unwrap();
        multiply::<crate::runtime::Serial>(&mut (), a.view(), a.view(), c.view_mut());
        assert!(is_product(&a, &a, &c));
        c[[63, 0]] += 1;
        assert!(!is_product(&a, &a, &c));
    }
}
