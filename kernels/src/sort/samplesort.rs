//! Samplesort with √n buckets: see [`crate::sort`] for its source, which took it from G. E.
//! Blelloch, P. B. Gibbons, H. V. Simhadri, "Low depth cache-oblivious algorithms", SPAA 2010,
//! section 4.
//!
//! The input is cut into rows of 8√n elements. Each row is sorted; a sorted sample of all gives √n
//! − 1 pivots; each row is cut at the pivots; the rows' pieces of one bucket, about a cache line
//! each, are brought together in the second array; each bucket is sorted. It knows no
//! cache size and moves each element twice, whatever their number.
//!
//! Declared sizes: a part of a step touches its elements in both arrays, 2 · 8 bytes each, and its
//! part of the table of cuts, 4 bytes each. The table stands row by row. So a part of k buckets
//! reads 4k bytes of it for each row, far from the next row's, and a line more than those fill;
//! counting them writes k sizes of 8 bytes. Bringing pieces together reads a line more of each row
//! of elements, too.

use befit::{ThreadPool, fit, join};

use super::{SERIAL_BELOW, SortedIn, bytes, quicksort, sample, serially};
use crate::{BOOKKEEPING, Input, KernelError, cut_off};

/// A row has so many times the elements that there are buckets: the average elements of a piece.
const PIECE: usize = 8;
/// Elements of the sample for each bucket.
const OVERSAMPLING: usize = 8;
/// A cache line.
const LINE: usize = 64;

/// Sorts `input.n` random doubles.
pub fn run(pool: &ThreadPool, input: Input) -> Result<(), KernelError> {
    super::run(pool, input, whole)
}

/// As [`super::Sort`].
pub(super) fn whole(data: &mut [f64], spare: &mut [f64], shrink: usize) -> SortedIn {
    sort(data, spare, cut_off(SERIAL_BELOW, shrink))
}

fn sort(data: &mut [f64], spare: &mut [f64], part: usize) -> SortedIn {
    let buckets = data.len().isqrt();
    if data.len() < part || buckets < 2 {
        serially(data);
        return SortedIn::Data;
    }
    let row = PIECE * buckets;
    let pivots = pivots(data, buckets, part);
    // The ends of each row's pieces, row by row.
    let mut ends = vec![0_u32; data.len().div_ceil(row) * buckets];
    let rows = Rows { row, buckets, part, pivots: &pivots };
    rows.sort_and_cut(data, spare, &mut ends);
    let mut sizes = vec![0; buckets];
    rows.sum(&ends, 0, &mut sizes);
    rows.bring_together(data, &ends, 0, &sizes, spare);
    sort_buckets(spare, data, &sizes, part);
    SortedIn::Spare
}

/// The elements at which buckets begin, but the first.
fn pivots(data: &[f64], buckets: usize, part: usize) -> Vec<f64> {
    let sample = sample(data, buckets * OVERSAMPLING, part);
    let every = sample.len() as f64 / buckets as f64;
    (1..buckets).map(|i| sample[(i as f64 * every) as usize]).collect()
}

/// The cuts of the input.
#[derive(Clone, Copy)]
struct Rows<'a> {
    /// Elements of a row.
    row: usize,
    buckets: usize,
    /// Elements that one thread works on.
    part: usize,
    pivots: &'a [f64],
}

impl Rows<'_> {
    fn sort_and_cut(self, data: &mut [f64], spare: &mut [f64], ends: &mut [u32]) {
        let rows = ends.len() / self.buckets;
        if rows == 1 {
            quicksort::sort(data, spare, self.part, SortedIn::Data);
            return self.cut(data, ends);
        }
        let (ends1, ends2) = ends.split_at_mut(rows / 2 * self.buckets);
        let (data1, data2) = data.split_at_mut(rows / 2 * self.row);
        let (spare1, spare2) = spare.split_at_mut(data1.len());
        let pivots = size_of_val(self.pivots);
        let size = |data: &[f64], ends: &[u32]| bytes(data) + size_of_val(ends) + pivots;
        // A row's own strand cuts it.
        let strand = |data: &[f64], ends: &[u32]| {
            if ends.len() == self.buckets {
                size(data, ends) - size_of_val(data)
            } else {
                BOOKKEEPING
            }
        };
        let (size1, size2) = (size(data1, ends1), size(data2, ends2));
        let (strand1, strand2) = (strand(data1, ends1), strand(data2, ends2));
        join(
            fit(size1, || self.sort_and_cut(data1, spare1, ends1)).strand(strand1),
            fit(size2, || self.sort_and_cut(data2, spare2, ends2)).strand(strand2),
        );
    }

    /// Finds where in a sorted row each bucket's piece ends, looking further from the last one's
    /// end in doubling steps.
    fn cut(self, row: &[f64], ends: &mut [u32]) {
        let mut from = 0;
        for (end, pivot) in ends.iter_mut().zip(self.pivots) {
            let mut reach = PIECE;
            while from + reach < row.len() && row[from + reach] < *pivot {
                reach *= 2;
            }
            let window = &row[from..(from + reach).min(row.len())];
            from += window.partition_point(|x| x < pivot);
            *end = from as u32;
        }
        if let Some(last) = ends.last_mut() {
            *last = row.len() as u32;
        }
    }

    /// The pieces of bucket `bucket`, one for each row.
    fn pieces<'d>(
        self,
        data: &'d [f64],
        ends: &'d [u32],
        bucket: usize,
    ) -> impl Iterator<Item = &'d [f64]> {
        data.chunks(self.row).zip(ends.chunks(self.buckets)).map(move |(row, ends)| {
            let start = if bucket == 0 { 0 } else { ends[bucket - 1] };
            &row[start as usize..ends[bucket] as usize]
        })
    }

    /// Bytes that reading the cuts of so many buckets touches.
    fn cuts(self, rows: usize, buckets: usize) -> usize {
        rows * (LINE + buckets * size_of::<u32>())
    }

    /// The sizes of the buckets from `first` on.
    fn sum(self, ends: &[u32], first: usize, sizes: &mut [usize]) {
        let rows = ends.len() / self.buckets;
        let is_serial = |buckets: usize| buckets <= 1 || buckets * rows <= self.part;
        if is_serial(sizes.len()) {
            for ends in ends.chunks(self.buckets) {
                let mut start = if first == 0 { 0 } else { ends[first - 1] };
                for (size, end) in sizes.iter_mut().zip(&ends[first..]) {
                    *size += (end - start) as usize;
                    start = *end;
                }
            }
            return;
        }
        let middle = sizes.len() / 2;
        let (sizes1, sizes2) = sizes.split_at_mut(middle);
        let bytes = |buckets: usize| self.cuts(rows, buckets) + buckets * size_of::<usize>();
        let (bytes1, bytes2) = (bytes(sizes1.len()), bytes(sizes2.len()));
        let strand = |bytes: usize, buckets: usize| {
            if is_serial(buckets) { bytes } else { BOOKKEEPING }
        };
        let (strand1, strand2) = (strand(bytes1, sizes1.len()), strand(bytes2, sizes2.len()));
        join(
            fit(bytes1, || self.sum(ends, first, sizes1)).strand(strand1),
            fit(bytes2, || self.sum(ends, first + middle, sizes2)).strand(strand2),
        );
    }

    /// Copies the pieces of the buckets from `first` on, of sizes `sizes`, to `to`.
    fn bring_together(
        self,
        data: &[f64],
        ends: &[u32],
        first: usize,
        sizes: &[usize],
        to: &mut [f64],
    ) {
        if to.len() <= self.part || sizes.len() == 1 {
            let mut places = to;
            for (bucket, size) in sizes.iter().enumerate() {
                let (mut place, rest) = places.split_at_mut(*size);
                for piece in self.pieces(data, ends, first + bucket) {
                    let (here, after) = place.split_at_mut(piece.len());
                    // A loop: of so few elements a call of memcpy costs more than copying them.
                    here.iter_mut().zip(piece).for_each(|(to, from)| *to = *from);
                    place = after;
                }
                places = rest;
            }
            return;
        }
        let (sizes1, sizes2) = sizes.split_at(sizes.len() / 2);
        let (to1, to2) = to.split_at_mut(sizes1.iter().sum());
        let rows = ends.len() / self.buckets;
        // A line more of each row: pieces seldom begin where lines do.
        let size = |to: &[f64], buckets: usize| {
            2 * size_of_val(to) + rows * LINE + self.cuts(rows, buckets)
        };
        let (size1, size2) = (size(to1, sizes1.len()), size(to2, sizes2.len()));
        let strand = |size: usize, to: &[f64], buckets: usize| {
            if to.len() <= self.part || buckets == 1 {
                size
            } else {
                BOOKKEEPING + buckets * size_of::<usize>()
            }
        };
        let (strand1, strand2) =
            (strand(size1, to1, sizes1.len()), strand(size2, to2, sizes2.len()));
        join(
            fit(size1, || self.bring_together(data, ends, first, sizes1, to1)).strand(strand1),
            fit(size2, || self.bring_together(data, ends, first + sizes1.len(), sizes2, to2))
                .strand(strand2),
        );
    }
}

/// Sorts each bucket of `data`, where they stand one after another.
pub(super) fn sort_buckets(data: &mut [f64], spare: &mut [f64], sizes: &[usize], part: usize) {
    if let [_] = sizes {
        return quicksort::sort(data, spare, part, SortedIn::Data);
    }
    let (sizes1, sizes2) = sizes.split_at(sizes.len() / 2);
    let (data1, data2) = data.split_at_mut(sizes1.iter().sum());
    let (spare1, spare2) = spare.split_at_mut(data1.len());
    let (bytes1, bytes2) = (bytes(data1), bytes(data2));
    let strand = |sizes: &[usize]| match sizes {
        [size] => quicksort::strand(*size, part),
        _ => BOOKKEEPING + size_of_val(sizes),
    };
    let (strand1, strand2) = (strand(sizes1), strand(sizes2));
    join(
        fit(bytes1, || sort_buckets(data1, spare1, sizes1, part)).strand(strand1),
        fit(bytes2, || sort_buckets(data2, spare2, sizes2, part)).strand(strand2),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_elements_are_sorted_though_they_all_fall_into_one_bucket() {
        let pool = crate::pool();
        let mut data: Vec<f64> =
            (0..50_000).map(|i| if i % 10 == 0 { i as f64 } else { 5.0 }).collect();
        let before = crate::sort::fingerprint(&data);
        let mut spare = vec![0.0; data.len()];
        assert_eq!(pool.install(|| sort(&mut data, &mut spare, 1000)), SortedIn::Spare);
        assert_eq!(crate::sort::check(&spare, before), Ok(()));
    }

    #[test]
    fn regression_the_pieces_of_one_bucket_may_be_more_than_a_thread_s_part() {
        let rows = Rows { row: 10, buckets: 2, part: 3, pivots: &[5.0] };
        let row: Vec<f64> = (0..10).map(f64::from).collect();
        let mut ends = vec![0; 2 * 7];
        ends.chunks_mut(2).for_each(|ends| rows.cut(&row, ends));
        let mut sizes = [0; 2];
        crate::pool().install(|| rows.sum(&ends, 0, &mut sizes));
        assert_eq!(sizes, [7 * 5, 7 * 5]);
    }

    #[test]
    fn the_declared_size_of_reading_cuts_is_that_of_the_lines_it_touches() {
        // Nearly as of 10⁸ elements, but rows begin anywhere in a line.
        let (count, buckets) = (1250, 10_007);
        let rows = Rows { row: PIECE * buckets, buckets, part: SERIAL_BELOW, pivots: &[] };
        for (first, read) in [(0, 1), (1, 1), (16, 13), (15, 17), (4999, 100)] {
            // With the end before the first bucket, where it begins.
            let ends = |row: usize| {
                let at = |bucket: usize| (row * buckets + bucket) * size_of::<u32>() / LINE;
                at(first.max(1) - 1)..=at(first + read - 1)
            };
            let lines: std::collections::HashSet<_> = (0..count).flat_map(ends).collect();
            let (declared, touched) = (rows.cuts(count, read), LINE * lines.len());
            let near = touched - touched / 100..=touched + touched / 10;
            assert!(near.contains(&declared), "{first}, {read}: {declared}, {touched}");
        }
    }

    #[test]
    fn pieces_end_at_the_pivots() {
        let pivots = [10.0, 10.0, 20.0];
        let rows = Rows { row: 100, buckets: 4, part: 1, pivots: &pivots };
        let row: Vec<f64> = (0..100).map(|i| f64::from(i) / 2.0).collect();
        let mut ends = [0; 4];
        rows.cut(&row, &mut ends);
        assert_eq!(ends, [20, 20, 40, 100]);
    }
}
