//! Matrix product C += A·B by quadrants: four products in parallel, then the four that add to the
//! same quadrants of C.
//!
//! Source: H. V. Simhadri, G. E. Blelloch, J. T. Fineman, P. B. Gibbons, A. Kyrola, "Experimental
//! analysis of space-bounded schedulers", SPAA 2014, section 5.1 (MatMul), with its sizes: 5120 ×
//! 5120 doubles, one thread for 128 rows or fewer. Their leaf is that of Intel MKL; ours is in
//! `leaf.rs`.
//!
//! Each level does eight products of half the order, so a cache of size M saves all but n³ / √M of
//! the traffic: the kernel is bound by computing.
//!
//! A matrix is kept quadrant by quadrant, down to the leaves, each of which is kept row by row:
//! every block is one stretch of memory, and its rows do not fall into the same sets of a cache, as
//! those of a large matrix kept row by row do.
//!
//! Declared sizes: a product of order m touches three blocks of m² doubles; two products that share
//! a block of A, five.

mod leaf;

use befit::{ThreadPool, fit, join};

use crate::{BOOKKEEPING, Input, KernelError, array};

/// One thread multiplies blocks with so many rows or fewer.
const SERIAL_UP_TO: usize = 128;

/// Multiplies matrices of order `input.n` with random elements. An order that cannot be halved
/// often enough is rounded up.
pub(crate) fn run(pool: &ThreadPool, input: Input) -> Result<(), KernelError> {
    let mut random = fastrand::Rng::with_seed(input.seed);
    // Other cut-offs count elements of arrays; this one an order, with which data grow squared.
    let most = (SERIAL_UP_TO / input.shrink.max(1).isqrt()).max(2);
    let too_large = KernelError::TooLarge { n: input.n };
    let leaf = leaf_order(input.n, most).ok_or(too_large.clone())?;
    let elements = leaf.order.checked_mul(leaf.order).ok_or(too_large)?;
    // Whole numbers, so small that all sums are exact.
    let a = array::filled(elements, |_| f64::from(random.i32(-8..8)))?;
    let b = array::filled(elements, |_| f64::from(random.i32(-8..8)))?;
    let mut c = array::filled(elements, |_| 0.0)?;
    let work = || multiply(&a, &b, &mut c, leaf.rows);
    pool.install(fit(3 * size_of_val(&a[..]), work).strand(strand(elements, leaf.rows)));
    check(&a, &b, &c, leaf, &mut random)
}

/// The cuts of a matrix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Leaf {
    /// Rows of a leaf.
    rows: usize,
    /// Rows of the matrix: of a leaf, times a power of two.
    order: usize,
}

/// For a matrix of order `n` or little more, and leaves of at most `most` rows; `None` if there is
/// no such number.
fn leaf_order(n: usize, most: usize) -> Option<Leaf> {
    let mut halvings = 0;
    while n.div_ceil(1 << halvings) > most {
        halvings += 1;
    }
    let rows = n.div_ceil(1 << halvings).max(1);
    Some(Leaf { rows, order: rows.checked_mul(1 << halvings)? })
}

/// Adds A·B to C, which have as many elements each; leaves have `rows` rows.
fn multiply(a: &[f64], b: &[f64], c: &mut [f64], rows: usize) {
    if c.len() == rows * rows {
        return leaf::multiply(a, b, c, rows);
    }
    let [a11, a12, a21, a22] = quadrants(a);
    let [b11, b12, b21, b22] = quadrants(b);
    four([a11, a21], [b11, b12], c, rows);
    four([a12, a22], [b21, b22], c, rows);
}

/// Adds the products of two blocks of A, one below the other, and two of B, side by side, to the
/// quadrants of C.
fn four([a1, a2]: [&[f64]; 2], b: [&[f64]; 2], c: &mut [f64], rows: usize) {
    let (c1, c2) = c.split_at_mut(c.len() / 2);
    let bytes = 5 * size_of_val(a1);
    let strand = BOOKKEEPING;
    join(
        fit(bytes, || two(a1, b, c1, rows)).strand(strand),
        fit(bytes, || two(a2, b, c2, rows)).strand(strand),
    );
}

fn two(a: &[f64], [b1, b2]: [&[f64]; 2], c: &mut [f64], rows: usize) {
    let (c1, c2) = c.split_at_mut(c.len() / 2);
    let bytes = 3 * size_of_val(a);
    let strand = strand(a.len(), rows);
    join(
        fit(bytes, || multiply(a, b1, c1, rows)).strand(strand),
        fit(bytes, || multiply(a, b2, c2, rows)).strand(strand),
    );
}

/// The most that a strand touches of a product of blocks of so many elements.
fn strand(elements: usize, rows: usize) -> usize {
    if elements == rows * rows { 3 * elements * size_of::<f64>() } else { BOOKKEEPING }
}

/// Upper left, upper right, lower left, lower right.
fn quadrants(m: &[f64]) -> [&[f64]; 4] {
    let (upper, lower) = m.split_at(m.len() / 2);
    let ((q1, q2), (q3, q4)) = (upper.split_at(upper.len() / 2), lower.split_at(lower.len() / 2));
    [q1, q2, q3, q4]
}

/// Freivalds' check: C·x = A·(B·x) for a random x. A wrong C passes with a probability of about
/// 2⁻¹⁶ at most.
fn check(
    a: &[f64],
    b: &[f64],
    c: &[f64],
    leaf: Leaf,
    random: &mut fastrand::Rng,
) -> Result<(), KernelError> {
    let x: Vec<f64> = (0..leaf.order).map(|_| f64::from(random.u16(..))).collect();
    let times = |m: &[f64], x: &[f64]| {
        let mut y = vec![0.0; leaf.order];
        add_product(m, x, &mut y, leaf.rows);
        y
    };
    let (found, expected) = (times(c, &x), times(a, &times(b, &x)));
    match found.iter().zip(&expected).position(|(found, expected)| found != expected) {
        Some(row) => Err(KernelError::WrongProduct { row }),
        None => Ok(()),
    }
}

/// Adds m·x to y.
fn add_product(m: &[f64], x: &[f64], y: &mut [f64], rows: usize) {
    if m.len() == rows * rows {
        for (y, row) in y.iter_mut().zip(m.chunks_exact(rows)) {
            *y += row.iter().zip(x).map(|(m, x)| m * x).sum::<f64>();
        }
        return;
    }
    let [q1, q2, q3, q4] = quadrants(m);
    let (x1, x2) = x.split_at(x.len() / 2);
    let (y1, y2) = y.split_at_mut(x1.len());
    add_product(q1, x1, y1, rows);
    add_product(q2, x2, y1, rows);
    add_product(q3, x1, y2, rows);
    add_product(q4, x2, y2, rows);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_that_can_be_halved_often_enough_is_kept() {
        assert_eq!(leaf_order(5120, 128), Some(Leaf { rows: 80, order: 5120 }));
        assert_eq!(leaf_order(129, 128), Some(Leaf { rows: 65, order: 130 }));
        assert_eq!(leaf_order(0, 128), Some(Leaf { rows: 1, order: 1 }));
    }

    #[test]
    fn an_order_beyond_all_numbers_is_none() {
        assert_eq!(leaf_order(usize::MAX, 128), None);
        assert_eq!(leaf_order(usize::MAX, 2), None);
    }

    #[test]
    fn a_wrong_product_is_found() {
        let leaf = leaf_order(64, 16).unwrap();
        let a: Vec<f64> = (0..64 * 64).map(|i| f64::from(i % 7)).collect();
        let mut c = vec![0.0; a.len()];
        multiply(&a, &a, &mut c, leaf.rows);
        let mut random = fastrand::Rng::with_seed(1);
        assert_eq!(check(&a, &a, &c, leaf, &mut random), Ok(()));
        c[64 * 64 - 16] += 1.0;
        assert_eq!(
            check(&a, &a, &c, leaf, &mut random),
            Err(KernelError::WrongProduct { row: 63 })
        );
    }
}
