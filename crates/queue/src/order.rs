//! Puts a window of tasks in the order of their keys, by the keys' leading bits only.
//!
//! This is a radix sort (Knuth, "The Art of Computer Programming", vol. 3, 5.2.5) in two passes of
//! at most a byte each, the high digit first.
//!
//! 1. The first pass cuts the window into chunks, which befit a private cache, and sorts each by
//!    itself, in parallel, into at most 256 buckets.
//! 2. The second pass takes a few neighbouring buckets at a time out of all chunks and sorts them
//!    by the low digit. Their tasks run at once, while their records are in the cache. So only the
//!    first pass delays the first task.

use std::{ops::Range, time::Instant};

use befit::{current_num_threads, par_for_each_mut};

use crate::measure::{Clock, Kind};

/// The high digit has at most so many values.
const BUCKETS: usize = 256;

/// Tasks of a chunk: sorting it writes ten bytes a task, which befit a private cache.
const CHUNK: usize = 1 << 14;

/// Buckets smaller than this are sorted by comparing.
const FEW: usize = 128;

/// The size of the sample that finds the range of the keys.
const SAMPLE: usize = 1024;

/// A task: the leading bits of its key above its number in the window.
type Record = u64;

/// Which bits of a key are sorted by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Digits {
    /// Keys below it count as it.
    low: u64,
    /// The largest difference to it that counts.
    span: u64,
    shift: u32,
    low_bits: u32,
}

impl Digits {
    /// The `bits` leading bits by which keys between the smallest and the largest of a sample
    /// differ. Those outside count as the nearest: a few odd keys must not make all others look
    /// alike.
    pub(crate) fn of<T>(tasks: &[T], key: impl Fn(&T) -> u64, bits: u32) -> Self {
        let sample = tasks.iter().step_by(tasks.len().div_ceil(SAMPLE).max(1)).map(key);
        let (low, high) =
            sample.fold((u64::MAX, 0), |(low, high), key| (low.min(key), high.max(key)));
        let span = high.saturating_sub(low);
        let used = (u64::BITS - span.leading_zeros()).max(1);
        let bits = bits.min(used);
        Self { low, span, shift: used - bits, low_bits: bits.saturating_sub(8) }
    }

    #[inline(always)]
    fn leading(&self, key: u64) -> u64 {
        key.saturating_sub(self.low).min(self.span) >> self.shift
    }

    #[inline(always)]
    fn bucket(&self, record: Record) -> usize {
        // Less than 256 by construction; the remainder tells the compiler.
        (record >> (32 + self.low_bits)) as usize % BUCKETS
    }

    #[inline(always)]
    fn low_digit(&self, record: Record) -> usize {
        (record >> 32) as usize % (1 << self.low_bits)
    }
}

/// A part of the window, sorted into buckets.
#[derive(Debug, Default)]
struct Chunk {
    tasks: Range<usize>,
    records: Vec<Record>,
    /// The starts of the buckets in `records`, and the end of the last one.
    starts: Vec<u32>,
}

/// A window after the first pass. It can be used for window after window, and then allocates no
/// more.
#[derive(Debug, Default)]
pub(crate) struct Window {
    chunks: Vec<Chunk>,
    digits: Option<Digits>,
    /// Neighbouring buckets that are taken at a time, in order.
    pub(crate) groups: Vec<Range<usize>>,
}

impl Window {
    /// The first pass; `group` is how many tasks at least should be taken at a time. `prepare` is
    /// called with each part of the window, by the thread that sorts it.
    pub(crate) fn sort<T: Sync>(
        &mut self,
        tasks: &[T],
        key: impl Fn(&T) -> u64 + Sync,
        digits: Digits,
        group: usize,
        prepare: impl Fn(Range<usize>) + Sync,
        clock: &Clock,
    ) {
        assert!(u32::try_from(tasks.len()).is_ok(), "a window holds less than 2^32 tasks");
        self.digits = Some(digits);
        let len = (tasks.len() / (4 * current_num_threads())).clamp(CHUNK / 4, CHUNK);
        self.chunks.resize_with(tasks.len().div_ceil(len), Chunk::default);
        for (i, chunk) in self.chunks.iter_mut().enumerate() {
            chunk.tasks = i * len..tasks.len().min((i + 1) * len);
        }
        par_for_each_mut(&mut self.chunks, |chunk| {
            let start = Instant::now();
            prepare(chunk.tasks.clone());
            chunk.sort(tasks, &key, &digits);
            clock.add(Kind::Sort, chunk.tasks.len(), start.elapsed());
        });
        self.group(group);
    }

    fn group(&mut self, least: usize) {
        self.groups.clear();
        let (mut first, mut count) = (0, 0);
        for bucket in 0..BUCKETS {
            count += self.chunks.iter().map(|chunk| chunk.bucket(bucket).len()).sum::<usize>();
            if count >= least {
                self.groups.push(first..bucket + 1);
                (first, count) = (bucket + 1, 0);
            }
        }
        if count > 0 {
            self.groups.push(first..BUCKETS);
        }
    }

    /// The second pass for some buckets: the numbers of their tasks, in order.
    pub(crate) fn take(&self, buckets: Range<usize>) -> Vec<u32> {
        let Some(digits) = self.digits else { return Vec::new() };
        let mut order = Vec::new();
        let (mut records, mut counts) = (Vec::new(), vec![0; 1 << digits.low_bits]);
        for bucket in buckets {
            records.clear();
            self.chunks
                .iter()
                .for_each(|chunk| records.extend_from_slice(&chunk.records[chunk.bucket(bucket)]));
            if digits.low_bits == 0 {
                order.extend(records.iter().map(|record| *record as u32));
            } else if records.len() < FEW {
                records.sort_unstable();
                order.extend(records.iter().map(|record| *record as u32));
            } else {
                let start = order.len();
                order.resize(start + records.len(), 0);
                count(records.iter().copied(), &mut counts, |record| digits.low_digit(record));
                for record in &records {
                    let place = &mut counts[digits.low_digit(*record)];
                    order[start + *place as usize] = *record as u32;
                    *place += 1;
                }
            }
        }
        order
    }
}

impl Chunk {
    fn sort<T>(&mut self, tasks: &[T], key: &impl Fn(&T) -> u64, digits: &Digits) {
        let tasks = &tasks[self.tasks.clone()];
        // Two bytes each, and the keys are worked out only once.
        let leading: Vec<u16> = tasks.iter().map(|task| digits.leading(key(task)) as u16).collect();
        self.records.resize(leading.len(), 0);
        self.starts.clear();
        self.starts.resize(BUCKETS, 0);
        let record = |(i, leading): (usize, &u16)| Record::from(*leading) << 32 | i as u64;
        count(leading.iter().enumerate().map(record), &mut self.starts, |record| {
            digits.bucket(record)
        });
        for record in (self.tasks.start..).zip(&leading).map(record) {
            let place = &mut self.starts[digits.bucket(record)];
            self.records[*place as usize] = record;
            *place += 1;
        }
        // Each start has become the next one's.
        self.starts.insert(0, 0);
    }

    fn bucket(&self, bucket: usize) -> Range<usize> {
        self.starts[bucket] as usize..self.starts[bucket + 1] as usize
    }
}

/// Puts into `starts` where the records of each digit start once they are sorted.
#[inline(always)]
fn count(
    records: impl Iterator<Item = Record>,
    starts: &mut [u32],
    digit: impl Fn(Record) -> usize,
) {
    starts.fill(0);
    records.for_each(|record| starts[digit(record)] += 1);
    let mut sum = 0;
    for start in starts {
        sum += std::mem::replace(start, sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers without a pattern.
    fn keys(count: usize) -> Vec<u64> {
        (0..count as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect()
    }

    fn order(keys: &[u64], bits: u32, window: &mut Window) -> (Digits, Vec<u32>) {
        let digits = Digits::of(keys, |key| *key, bits);
        window.sort(keys, |key| *key, digits, 100, |_| (), &Clock::default());
        (digits, window.groups.iter().flat_map(|group| window.take(group.clone())).collect())
    }

    #[test]
    fn a_window_comes_out_in_the_order_of_leading_bits_and_of_arrival_among_equals() {
        let mut window = Window::default();
        for count in [1, 2, 100, 5000, 70_000] {
            for bits in [1, 3, 8, 9, 13, 16] {
                for keys in [
                    keys(count),
                    keys(count).iter().map(|key| 5 + key % 1000).collect(),
                    vec![7; count],
                ] {
                    let (digits, order) = order(&keys, bits, &mut window);
                    let mut expected: Vec<u32> = (0..count as u32).collect();
                    expected.sort_by_key(|i| digits.leading(keys[*i as usize]));
                    assert_eq!(order, expected, "{count} keys by {bits} bits");
                }
            }
        }
    }

    #[test]
    fn leading_bits_tell_keys_apart_wherever_they_lie() {
        let far: Vec<u64> = (0..4096).map(|i| (1 << 60) + 3 * i).collect();
        let digits = Digits::of(&far, |key| *key, 8);
        let mut values: Vec<u64> = far.iter().map(|key| digits.leading(*key)).collect();
        assert!(values.is_sorted());
        values.dedup();
        assert!(
            (128..=256).contains(&values.len()),
            "half of what 8 bits can tell, at least: {}",
            values.len()
        );
        assert_eq!(digits.leading(0), 0);
        assert_eq!(digits.leading(u64::MAX), *values.last().unwrap());
    }

    #[test]
    fn a_few_odd_keys_do_not_make_all_others_look_alike() {
        let mut keys: Vec<u64> = (0..100_000).collect();
        keys[12_345] = u64::MAX;
        let digits = Digits::of(&keys, |key| *key, 12);
        assert_ne!(digits.leading(1000), digits.leading(90_000));
    }

    #[test]
    fn groups_cover_all_buckets_and_are_not_too_small() {
        let mut window = Window::default();
        order(&keys(50_000), 16, &mut window);
        let groups = &window.groups;
        assert_eq!((groups[0].start, groups.last().unwrap().end), (0, BUCKETS));
        assert!(groups.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert!(
            groups[..groups.len() - 1].iter().all(|group| window.take(group.clone()).len() >= 100)
        );
    }
}
