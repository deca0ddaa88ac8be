//! A matrix product by quadrants: four products in parallel, then the four that add to the same
//! quadrants. Making the matrices is part of the time, as in the collection's other entries.

use std::array::from_fn;

use befit_collection::{Context, Pool, arguments, join, run};
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis};

/// Matrices with so many rows are multiplied by loops.
const LEAF: usize = 32;

fn product(pool: &Pool, n: usize) -> Array2<i32> {
    let (a, b) = (Array2::ones((n, n)), Array2::ones((n, n)));
    let mut c = Array2::zeros((n, n));
    pool.install(|cx| multiply(cx, a.view(), b.view(), c.view_mut()));
    c
}

/// Adds A·B to C.
fn multiply(
    cx: &mut Context<'_>,
    a: ArrayView2<'_, i32>,
    b: ArrayView2<'_, i32>,
    mut c: ArrayViewMut2<'_, i32>,
) {
    if c.nrows() <= LEAF {
        return leaf(a, b, c);
    }
    let half = c.nrows() / 2;
    let [a11, a12, a21, a22] = quadrants(a, half);
    let [b11, b12, b21, b22] = quadrants(b, half);
    four(cx, [a11, a21], [b11, b12], c.view_mut());
    four(cx, [a12, a22], [b21, b22], c);
}

/// Adds the products of two blocks of A, one below the other, and two of B, one beside the other,
/// to the quadrants of C.
fn four(
    cx: &mut Context<'_>,
    [a1, a2]: [ArrayView2<'_, i32>; 2],
    [b1, b2]: [ArrayView2<'_, i32>; 2],
    c: ArrayViewMut2<'_, i32>,
) {
    let half = c.nrows() / 2;
    let (upper, lower) = c.split_at(Axis(0), half);
    let [(c11, c12), (c21, c22)] = [upper, lower].map(|c| c.split_at(Axis(1), half));
    join(
        cx,
        |cx| join(cx, |cx| multiply(cx, a1, b1, c11), |cx| multiply(cx, a1, b2, c12)),
        |cx| join(cx, |cx| multiply(cx, a2, b1, c21), |cx| multiply(cx, a2, b2, c22)),
    );
}

/// Upper left, upper right, lower left, lower right.
fn quadrants(m: ArrayView2<'_, i32>, half: usize) -> [ArrayView2<'_, i32>; 4] {
    let (upper, lower) = m.split_at(Axis(0), half);
    let ((q1, q2), (q3, q4)) = (upper.split_at(Axis(1), half), lower.split_at(Axis(1), half));
    [q1, q2, q3, q4]
}

fn leaf(a: ArrayView2<'_, i32>, b: ArrayView2<'_, i32>, mut c: ArrayViewMut2<'_, i32>) {
    if c.nrows() < LEAF {
        c += &a.dot(&b);
        return;
    }
    let rows: [&[i32; LEAF]; LEAF] = from_fn(|k| row(b.row(k).to_slice()));
    for (a, mut c) in a.rows().into_iter().zip(c.rows_mut()) {
        let a = row(a.to_slice());
        let c: &mut [i32; LEAF] = c.as_slice_mut().and_then(|c| c.try_into().ok()).expect(ROWS);
        for (a, b) in a.iter().zip(rows) {
            add(c, *a, b);
        }
    }
}

/// Adds a·b to c. A function of its own: where the loop over rows is unrolled with it, more rows of
/// B are read at once than the L1 has ways for them, as they lie a power of two apart.
#[inline(never)]
fn add(c: &mut [i32; LEAF], a: i32, b: &[i32; LEAF]) {
    for (c, b) in c.iter_mut().zip(b) {
        *c += a * b;
    }
}

const ROWS: &str = "rows of a leaf are contiguous";

fn row(slice: Option<&[i32]>) -> &[i32; LEAF] {
    slice.and_then(|slice| slice.try_into().ok()).expect(ROWS)
}

fn main() {
    let numbers = arguments(1, "matmul N [THREADS]");
    let n = numbers[0];
    if !n.is_power_of_two() {
        eprintln!("N must be a power of two");
        std::process::exit(2);
    }
    run(
        numbers.get(1).copied(),
        &format!("matrix_size: {n}"),
        |pool| drop(product(pool, n)),
        |pool| product(pool, n),
        |c| c.iter().all(|c| *c == n as i32),
    );
}
