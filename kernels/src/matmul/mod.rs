//! Matrix product C += A·B by quadrants: four products in parallel, then the four that add to the same quadrants of C.
//!
//! Source: H. V. Simhadri, G. E. Blelloch, J. T. Fineman, P. B. Gibbons, A. Kyrola, "Experimental analysis of space-bounded
//! schedulers", SPAA 2014, section 5.1 (MatMul), with its sizes: 5120 × 5120 doubles, one thread for 128 rows or fewer.
//! The study's leaf is Intel MKL's; ours is in [`leaf`].
//!
//! Each level does eight products of half the order, so a cache of size M saves all but n³ / √M of the traffic: the kernel is bound by computing.
//!
//! Declared sizes: a product of order m touches three blocks of m² doubles; two products that share a block of A and lie side by side, five.

mod leaf;

use befit::{ThreadPool, fit, join};
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis};

use crate::{Input, KernelError, array, sizes};

/// Multiplies matrices of order `input.n` with random elements.
///
/// # Errors
/// As [`crate::Kernel::run`].
pub fn run(pool: &ThreadPool, input: Input) -> Result<(), KernelError> {
    let mut random = fastrand::Rng::with_seed(input.seed);
    // Whole numbers, small enough that sums are exact.
    let mut small = |_| f64::from(random.i32(-8..8));
    let (a, b) = (matrix(input.n, &mut small)?, matrix(input.n, &mut small)?);
    let mut c = matrix(input.n, |_| 0.0)?;
    // Cut-offs count bytes elsewhere; an order's square does.
    let most = (leaf::MOST / input.shrink.max(1).isqrt()).max(2);
    let work = || multiply(a.view(), b.view(), c.view_mut(), most);
    pool.install(fit(3 * square(input.n), work).strand(sizes::BOOKKEEPING));
    check(&a, &b, &c, &mut random)
}

fn matrix(n: usize, element: impl FnMut(usize) -> f64) -> Result<Array2<f64>, KernelError> {
    let elements = array::filled(n.checked_mul(n).ok_or(KernelError::TooLarge { n })?, element)?;
    Array2::from_shape_vec((n, n), elements).map_err(|_| KernelError::TooLarge { n })
}

/// Bytes of a block of order `n`.
fn square(n: usize) -> usize {
    n * n * size_of::<f64>()
}

/// Adds A·B to C, which have the same order or differ by one (halves of an odd order).
fn multiply(a: ArrayView2<'_, f64>, b: ArrayView2<'_, f64>, mut c: ArrayViewMut2<'_, f64>, most: usize) {
    let n = c.nrows();
    if n <= most || n % 2 == 1 {
        return blocks(a, b, c);
    }
    let [a11, a12, a21, a22] = quadrants(a);
    let [b11, b12, b21, b22] = quadrants(b);
    four([a11, a21], [b11, b12], c.view_mut(), most);
    four([a12, a22], [b21, b22], c, most);
}

/// Adds the products of two blocks of A, one below the other, and two of B, side by side, to the quadrants of C.
fn four([a1, a2]: [ArrayView2<'_, f64>; 2], b: [ArrayView2<'_, f64>; 2], c: ArrayViewMut2<'_, f64>, most: usize) {
    let half = c.nrows() / 2;
    let (c1, c2) = c.split_at(Axis(0), half);
    let bytes = 5 * square(half);
    let strand = sizes::BOOKKEEPING;
    join(fit(bytes, || two(a1, b, c1, most)).strand(strand), fit(bytes, || two(a2, b, c2, most)).strand(strand));
}

fn two(a: ArrayView2<'_, f64>, [b1, b2]: [ArrayView2<'_, f64>; 2], c: ArrayViewMut2<'_, f64>, most: usize) {
    let half = c.nrows();
    let (c1, c2) = c.split_at(Axis(1), half);
    let bytes = 3 * square(half);
    let strand = if half <= most || half % 2 == 1 { bytes } else { sizes::BOOKKEEPING };
    join(
        fit(bytes, || multiply(a, b1, c1, most)).strand(strand),
        fit(bytes, || multiply(a, b2, c2, most)).strand(strand),
    );
}

/// Upper left, upper right, lower left, lower right.
fn quadrants(m: ArrayView2<'_, f64>) -> [ArrayView2<'_, f64>; 4] {
    let half = m.nrows() / 2;
    let (upper, lower) = m.split_at(Axis(0), half);
    let ((q1, q2), (q3, q4)) = (upper.split_at(Axis(1), half), lower.split_at(Axis(1), half));
    [q1, q2, q3, q4]
}

/// As [`leaf::multiply`], of any order: an odd order cannot be halved, so one thread goes through it block by block.
fn blocks(a: ArrayView2<'_, f64>, b: ArrayView2<'_, f64>, mut c: ArrayViewMut2<'_, f64>) {
    let n = c.nrows();
    if n <= leaf::MOST {
        return leaf::multiply(a, b, c);
    }
    for (a, mut c) in a.rows().into_iter().zip(c.rows_mut()) {
        for (a, b) in a.iter().zip(b.rows()) {
            c.scaled_add(*a, &b);
        }
    }
}

/// Freivalds' check: C·x = A·(B·x) for a random x of −1 and 1. A wrong row passes with a probability of one half at most; four xs are tried.
fn check(a: &Array2<f64>, b: &Array2<f64>, c: &Array2<f64>, random: &mut fastrand::Rng) -> Result<(), KernelError> {
    for _ in 0..4 {
        let x = ndarray::Array1::from_shape_simple_fn(c.ncols(), || if random.bool() { 1.0 } else { -1.0 });
        let difference = c.dot(&x) - a.dot(&b.dot(&x));
        if let Some(row) = difference.iter().position(|d| *d != 0.0) {
            return Err(KernelError::WrongProduct { row });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_right_whatever_the_order() {
        let pool = befit::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        for n in [1, 2, 64, 100, 131, 258, 320] {
            for shrink in [1, 64] {
                assert_eq!(run(&pool, Input { n, seed: 1, shrink, ..Input::default() }), Ok(()), "n = {n}, {shrink}");
            }
        }
    }

    #[test]
    fn a_wrong_product_is_found() {
        let a = matrix(64, |i| (i % 7) as f64).unwrap();
        let mut c = a.dot(&a);
        let mut random = fastrand::Rng::with_seed(1);
        assert_eq!(check(&a, &a, &c, &mut random), Ok(()));
        c[[63, 0]] += 1.0;
        assert_eq!(check(&a, &a, &c, &mut random), Err(KernelError::WrongProduct { row: 63 }));
    }
}
