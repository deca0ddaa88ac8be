//! Quicksort whose partition is parallel too: see [`crate::sort`] for its source.
//!
//! Parts of 16 Ki elements count what is below the pivot, then each part copies its elements to the
//! two sides in the second array; the sides are sorted with the arrays' roles exchanged. Fewer than
//! 16 Ki elements are sorted by one thread.
//!
//! Declared sizes: sorting m elements touches m of each array, 2 · 8m bytes. A strand either sorts,
//! counts or copies a part, or looks at a few elements and the parts' counts.

use befit::{ThreadPool, fit, join};

use super::{SERIAL_BELOW, SortedIn, bytes, serially};
use crate::{BOOKKEEPING, Input, KernelError, cut_off, distribute::Distribution};

/// Sorts `input.n` random doubles.
pub fn run(pool: &ThreadPool, input: Input) -> Result<(), KernelError> {
    super::run(pool, input, whole)
}

/// As [`super::Sort`].
pub(super) fn whole(data: &mut [f64], spare: &mut [f64], shrink: usize) -> SortedIn {
    sort(data, spare, cut_off(SERIAL_BELOW, shrink), SortedIn::Data);
    SortedIn::Data
}

/// Sorts `data` into `to`, with parts of `part` elements. Time O(n log n), span O((part + log n) ·
/// log n) for random input.
pub(super) fn sort(data: &mut [f64], spare: &mut [f64], part: usize, to: SortedIn) {
    if data.len() < part.max(SMALLEST) {
        serially(data);
        if to == SortedIn::Spare {
            spare.copy_from_slice(data);
        }
        return;
    }
    let mut pivot = ninther(data);
    let mut counts = partition(pivot, part).count(data);
    // A pivot that is the least element would give an empty side for ever: then its equals are one
    // side, which is sorted.
    let least = counts.totals[0] == 0;
    if least {
        pivot = pivot.next_up();
        counts = partition(pivot, part).count(data);
    }
    partition(pivot, part).copy(data, &counts, spare);
    let below = counts.totals[0];
    drop(counts);
    let (low, high) = spare.split_at_mut(below);
    let (data_low, data_high) = data.split_at_mut(below);
    let (bytes_low, bytes_high) = (bytes(low), bytes(high));
    let (strand_low, strand_high) = (strand(low.len(), part), strand(high.len(), part));
    let back = match to {
        SortedIn::Data => SortedIn::Spare,
        SortedIn::Spare => SortedIn::Data,
    };
    let sort_low = || match (least, to) {
        (true, SortedIn::Spare) => {}
        (true, SortedIn::Data) => data_low.copy_from_slice(low),
        (false, _) => sort(low, data_low, part, back),
    };
    join(
        fit(bytes_low, sort_low).strand(strand_low),
        fit(bytes_high, || sort(high, data_high, part, back)).strand(strand_high),
    );
}

/// A pivot is the middle one of nine elements.
const SMALLEST: usize = 9;

/// The most that a strand touches that sorts `len` elements.
pub(super) fn strand(len: usize, part: usize) -> usize {
    if len < part { 2 * 8 * len } else { BOOKKEEPING + 2 * len.div_ceil(part) * size_of::<usize>() }
}

fn partition(pivot: f64, part: usize) -> Distribution<impl Fn(&f64) -> usize + Sync> {
    Distribution { part, classes: 2, class: move |x: &f64| usize::from(*x >= pivot) }
}

/// Tukey's ninther: the median of the medians of three times three elements. There are at least
/// nine.
fn ninther(data: &[f64]) -> f64 {
    let step = data.len() / 9;
    let three = |i: usize| median(data[i * step], data[(i + 1) * step], data[(i + 2) * step]);
    median(three(0), three(3), three(6))
}

fn median(a: f64, b: f64, c: f64) -> f64 {
    a.min(b).max(a.max(b).min(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_elements_come_to_an_end() {
        let pool = crate::pool();
        let ways: [fn(usize) -> f64; 4] =
            [|_| 1.0, |i| (i % 2) as f64, |i| i as f64, |i| -(i as f64)];
        for element in ways {
            for to in [SortedIn::Data, SortedIn::Spare] {
                let mut data: Vec<f64> = (0..10_001).map(element).collect();
                let before = crate::sort::fingerprint(&data);
                let mut spare = vec![0.0; data.len()];
                pool.install(|| sort(&mut data, &mut spare, 256, to));
                let sorted = if to == SortedIn::Data { &data } else { &spare };
                assert_eq!(crate::sort::check(sorted, before), Ok(()));
            }
        }
    }
}
