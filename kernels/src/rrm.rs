//! Recursive repeated map: maps an array onto another three times in parallel, then does the same
//! with each half.
//!
//! Source: H. V. Simhadri, G. E. Blelloch, J. T. Fineman, P. B. Gibbons, A. Kyrola, "Experimental
//! analysis of space-bounded schedulers", SPAA 2014, section 5.1 (RRM), with its sizes: n = 10M
//! doubles in each of two arrays, three repeats, cut in the middle. The parallel map splits in two
//! and is serial below 2¹⁴ elements; the recursion ends at 2¹³.
//!
//! Bandwidth decides its time: each level of the recursion streams both arrays three times and
//! computes next to nothing. If a scheduler keeps a range's tasks together, a level whose ranges
//! fit a cache costs that cache one pass instead of three.
//!
//! Declared sizes: a task of m elements touches m of each array, 2 · 8m bytes, whether it maps or
//! recurses.

use befit::{ThreadPool, fit, join};

use crate::{Input, KernelError, array};

/// How often each range is mapped before it is cut.
const REPEATS: usize = 3;
/// The map of fewer elements is one serial loop.
const SERIAL_BELOW: usize = 1 << 14;
/// With so many elements or fewer the recursion ends.
const ENDS_AT: usize = 1 << 13;

/// Runs it on `input.n` elements; the seed makes no difference.
pub(crate) fn run(pool: &ThreadPool, input: Input) -> Result<(), KernelError> {
    let a = array::filled(input.n, |i| i as f64)?;
    let mut b = array::filled(input.n, |_| 0.0)?;
    let cut_offs =
        CutOffs { serial_below: input.cut_off(SERIAL_BELOW), ends_at: input.cut_off(ENDS_AT) };
    pool.install(fit(bytes(&a, &b), || cut_offs.repeat_and_cut(&a, &mut b)));
    array::check(&b, |i| if input.n > cut_offs.ends_at { mapped(a[i]) } else { 0.0 })
}

/// The image of an element.
fn mapped(x: f64) -> f64 {
    x + 1.0
}

fn bytes(a: &[f64], b: &[f64]) -> usize {
    size_of_val(a) + size_of_val(b)
}

/// The sizes at which parallelism and recursion end.
#[derive(Clone, Copy)]
struct CutOffs {
    serial_below: usize,
    ends_at: usize,
}

impl CutOffs {
    fn repeat_and_cut(self, a: &[f64], b: &mut [f64]) {
        if a.len() <= self.ends_at {
            return;
        }
        for _ in 0..REPEATS {
            self.map(a, b);
        }
        let (a1, a2) = a.split_at(a.len() / 2);
        let (b1, b2) = b.split_at_mut(a1.len());
        join(
            fit(bytes(a1, b1), || self.repeat_and_cut(a1, b1)),
            fit(bytes(a2, b2), || self.repeat_and_cut(a2, b2)),
        );
    }

    fn map(self, a: &[f64], b: &mut [f64]) {
        if a.len() < self.serial_below {
            for (x, y) in a.iter().zip(b) {
                *y = mapped(*x);
            }
            return;
        }
        let (a1, a2) = a.split_at(a.len() / 2);
        let (b1, b2) = b.split_at_mut(a1.len());
        join(fit(bytes(a1, b1), || self.map(a1, b1)), fit(bytes(a2, b2), || self.map(a2, b2)));
    }
}
