//! The product of one thread: blocks whose rows follow one another, in loops that compilers turn
//! into vector instructions.
//!
//! It is written out rather than taken from a crate. Such crates read with instructions of 32 bytes
//! and more, which a compiler's instrumentation of memory accesses does not see, and copy each
//! block to fresh memory.

/// Rows of C that are worked on at once: so few that one line of each, and of those of B, stays in
/// the innermost cache.
const ROWS: usize = 2;
/// Rows of B that are worked on at once.
const DEPTH: usize = 4;

/// Adds A·B to C, square blocks with rows of `order` elements. Time O(order³).
pub(super) fn multiply(a: &[f64], b: &[f64], c: &mut [f64], order: usize) {
    let mut a_rows = a.chunks_exact(ROWS * order);
    let mut c_rows = c.chunks_exact_mut(ROWS * order);
    for (a, c) in (&mut a_rows).zip(&mut c_rows) {
        let mut b_rows = b.chunks_exact(DEPTH * order);
        for (i, b) in (&mut b_rows).enumerate() {
            two_by_four(a, DEPTH * i, b, c, order);
        }
        let done = order - order % DEPTH;
        for (a, c) in a.chunks_exact(order).zip(c.chunks_exact_mut(order)) {
            one_by_one(&a[done..], b_rows.remainder(), c);
        }
    }
    let rest = c_rows.into_remainder().chunks_exact_mut(order);
    for (a, c) in a_rows.remainder().chunks_exact(order).zip(rest) {
        one_by_one(a, b, c);
    }
}

/// Adds to two rows of C the products of elements `k` to `k + 3` of two rows of A and four rows of
/// B.
fn two_by_four(a: &[f64], k: usize, b: &[f64], c: &mut [f64], order: usize) {
    let factors = |row: usize| {
        let a = &a[row * order + k..][..DEPTH];
        [a[0], a[1], a[2], a[3]]
    };
    let (a0, a1) = (factors(0), factors(1));
    let (b0, b) = b.split_at(order);
    let (b1, b) = b.split_at(order);
    let (b2, b3) = b.split_at(order);
    let (c0, c1) = c.split_at_mut(order);
    let (b3, c1) = (&b3[..order], &mut c1[..order]);
    for j in 0..order {
        let (x0, x1, x2, x3) = (b0[j], b1[j], b2[j], b3[j]);
        c0[j] += a0[0] * x0 + a0[1] * x1 + a0[2] * x2 + a0[3] * x3;
        c1[j] += a1[0] * x0 + a1[1] * x1 + a1[2] * x2 + a1[3] * x3;
    }
}

/// Adds to a row of C the products of the elements of `a` and as many rows of B.
fn one_by_one(a: &[f64], b: &[f64], c: &mut [f64]) {
    for (a, b) in a.iter().zip(b.chunks_exact(c.len())) {
        c.iter_mut().zip(b).for_each(|(c, b)| *c += a * b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_any_order_are_multiplied() {
        for n in [1, 3, 4, 7, 8, 10, 20, 128] {
            let a: Vec<f64> = (0..n * n).map(|i| (i * 7 % 11) as f64).collect();
            let b: Vec<f64> = (0..n * n).map(|i| (i * 5 % 13) as f64).collect();
            let mut c = vec![1.0; n * n];
            multiply(&a, &b, &mut c, n);
            for (at, c) in c.iter().enumerate() {
                let (i, j) = (at / n, at % n);
                let sum: f64 = (0..n).map(|k| a[i * n + k] * b[k * n + j]).sum();
                assert_eq!(*c, sum + 1.0, "{n}: {i}, {j}");
            }
        }
    }
}
