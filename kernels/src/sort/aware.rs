//! Samplesort with buckets that fit a last-level cache: see [`crate::sort`] for its source.
//!
//! A sorted sample gives pivots for buckets of about 700,000 elements (the figure of Simhadri et
//! al. for a cache of 24 MiB); all elements are moved to their buckets in the second array in one
//! step; each bucket is sorted by [`quicksort`](super::quicksort). As it knows the size of a cache,
//! it moves each element only once outside of it.
//!
//! Declared sizes: as [`quicksort`](super::quicksort); moving m elements touches m of each array
//! and the pivots.

use befit::ThreadPool;

use super::{SERIAL_BELOW, SortedIn, sample, samplesort::sort_buckets};
use crate::{Input, KernelError, cut_off, distribute::Distribution};

/// Elements of a bucket, on average: with the second array 11.2 MB, which befits a cache of 24 MiB
/// at σ = 0.5.
const BUCKET: usize = 700_000;
/// Elements of the sample for each bucket.
const OVERSAMPLING: usize = 32;
/// Parts for moving elements are so many times larger than parts for sorting: each has a counter
/// and a place for each bucket. No larger: a part is one strand, and those of all cores of a socket
/// must have room in its cache at once.
const LARGER: usize = 8;

/// Sorts `input.n` random doubles.
pub fn run(pool: &ThreadPool, input: Input) -> Result<(), KernelError> {
    super::run(pool, input, whole)
}

/// As [`super::Sort`].
pub(super) fn whole(data: &mut [f64], spare: &mut [f64], shrink: usize) -> SortedIn {
    sort(data, spare, cut_off(SERIAL_BELOW, shrink), cut_off(BUCKET, shrink))
}

fn sort(data: &mut [f64], spare: &mut [f64], part: usize, bucket: usize) -> SortedIn {
    let buckets = data.len().div_ceil(bucket);
    if buckets < 2 {
        super::quicksort::sort(data, spare, part, SortedIn::Data);
        return SortedIn::Data;
    }
    let pivots = pivots(data, buckets, part);
    let class = |x: &f64| pivots.partition_point(|pivot| pivot <= x);
    let distribution = Distribution { part: LARGER * part, classes: buckets, class };
    let counts = distribution.count(data);
    distribution.copy(data, &counts, spare);
    sort_buckets(spare, data, &counts.totals, part);
    SortedIn::Spare
}

/// The elements at which buckets begin, but the first.
fn pivots(data: &[f64], buckets: usize, part: usize) -> Vec<f64> {
    let sample = sample(data, buckets * OVERSAMPLING, part);
    (1..buckets).map(|i| sample[i * sample.len() / buckets]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_buckets_and_equal_elements_are_sorted() {
        let pool = crate::pool();
        let mut data: Vec<f64> = (0..50_000).map(|i| f64::from(i * 7919 % 100)).collect();
        let before = crate::sort::fingerprint(&data);
        let mut spare = vec![0.0; data.len()];
        assert_eq!(pool.install(|| sort(&mut data, &mut spare, 500, 3000)), SortedIn::Spare);
        assert_eq!(crate::sort::check(&spare, before), Ok(()));
    }
}
