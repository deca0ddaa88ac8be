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
//!
//! A map adds the length of its range to each element. So the result shows whether the last range
//! of each element was mapped, and nothing of the maps that others wrote over: those of longer
//! ranges, and all repeats but one.

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
    check(&a, &b, cut_offs.ends_at)
}

/// Checks that the last map of each element was that of its shortest range that is mapped.
fn check(a: &[f64], b: &[f64], ends_at: usize) -> Result<(), KernelError> {
    array::check(b, |i| last_range(i, b.len(), ends_at).map_or(0.0, |len| a[i] + len as f64))
}

/// The length of the shortest range around element `i`, of `len`, that is mapped.
fn last_range(mut i: usize, mut len: usize, ends_at: usize) -> Option<usize> {
    let mut last = None;
    while len > ends_at {
        last = Some(len);
        let left = len / 2;
        (i, len) = if i < left { (i, left) } else { (i - left, len - left) };
    }
    last
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
        let map = Map { serial_below: self.serial_below, added: a.len() as f64 };
        for _ in 0..REPEATS {
            map.over(a, b);
        }
        let (a1, a2) = a.split_at(a.len() / 2);
        let (b1, b2) = b.split_at_mut(a1.len());
        join(
            fit(bytes(a1, b1), || self.repeat_and_cut(a1, b1)),
            fit(bytes(a2, b2), || self.repeat_and_cut(a2, b2)),
        );
    }
}

/// One map of a range.
#[derive(Clone, Copy)]
struct Map {
    serial_below: usize,
    /// What it adds to each element.
    added: f64,
}

impl Map {
    fn over(self, a: &[f64], b: &mut [f64]) {
        if a.len() < self.serial_below {
            for (x, y) in a.iter().zip(b) {
                *y = *x + self.added;
            }
            return;
        }
        let (a1, a2) = a.split_at(a.len() / 2);
        let (b1, b2) = b.split_at_mut(a1.len());
        join(fit(bytes(a1, b1), || self.over(a1, b1)), fit(bytes(a2, b2), || self.over(a2, b2)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_map_of_an_elements_last_range_is_found() {
        let a: Vec<f64> = (0..100).map(f64::from).collect();
        let mut b = vec![0.0; 100];
        let cut_offs = CutOffs { serial_below: 20, ends_at: 10 };
        crate::pool().install(|| cut_offs.repeat_and_cut(&a, &mut b));
        assert_eq!(check(&a, &b, 10), Ok(()));
        assert_eq!((b[0], b[99]), (12.0, 99.0 + 13.0));
        // As the map of the range above leaves it.
        b[11] = a[11] + 25.0;
        assert_eq!(
            check(&a, &b, 10),
            Err(KernelError::WrongResult { index: 11, found: 36.0, expected: 23.0 })
        );
    }
}
