//! Loads whose addresses depend on one another, or do not, over a part of a buffer of zeros.
//!
//! Addresses are drawn independently, so that a set of S bytes in a cache of C bytes hits with
//! probability C/S. A cyclic chase would show a cliff instead: under LRU it misses always as soon
//! as S is above C.

use std::{hint::black_box, time::Instant};

use memmap2::MmapMut;

use crate::CalibrateError;

/// Bytes of a line.
pub(crate) const LINE: usize = 64;
/// Bytes of an ordinary page.
pub(crate) const PAGE: usize = 4096;

/// A buffer of `bytes` zeros whose pages have been provided, near the CPU that this runs on: such
/// as any program gets, or huge ones if they are wanted and to be had.
pub(crate) fn buffer(bytes: usize, huge: bool) -> Result<MmapMut, CalibrateError> {
    let mut map = untouched(bytes)?;
    #[cfg(target_os = "linux")]
    if huge {
        // Refused by kernels without huge pages: ordinary ones remain.
        let _ = map.advise(memmap2::Advice::HugePage);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = huge;
    touch(&mut map);
    Ok(map)
}

/// A buffer of `bytes` zeros whose pages are still to be provided.
pub(crate) fn untouched(bytes: usize) -> Result<MmapMut, CalibrateError> {
    MmapMut::map_anon(bytes).map_err(CalibrateError::Memory)
}

/// Has the pages of a part of a buffer provided: where there are several memories, from the one
/// near the CPU that this runs on.
pub(crate) fn touch(part: &mut [u8]) {
    part.chunks_mut(PAGE).for_each(|page| page[0] = 0);
}

/// A word of `buffer`, which is zero as all of it is; the optimiser does not know.
#[inline(always)]
fn word(buffer: &[u8], at: usize) -> usize {
    match buffer.get(at..at + 4) {
        Some(w) => u32::from_le_bytes([w[0], w[1], w[2], w[3]]) as usize,
        None => 0,
    }
}

/// Draws lines of a set independently.
struct Draw(u64);

impl Draw {
    /// One of so many.
    #[inline(always)]
    fn next(&mut self, count: u64) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (((self.0 >> 32) * count) >> 32) as usize
    }
}

/// The lines of a buffer that are loaded, by their number: where each is, in bytes.
pub(crate) trait Set {
    /// Bytes of the buffer for each.
    const EACH: usize;
    /// Where the line with this number is.
    fn at(number: usize) -> usize;
}

/// All lines.
pub(crate) enum All {}

impl Set for All {
    const EACH: usize = LINE;
    #[inline(always)]
    fn at(number: usize) -> usize {
        number * LINE
    }
}

/// One line of each page, at another place in each: so they are in all sets of a cache.
pub(crate) enum OneAPage {}

impl Set for OneAPage {
    const EACH: usize = PAGE;
    #[inline(always)]
    fn at(number: usize) -> usize {
        let random = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        number * PAGE + random as usize % (PAGE / LINE) * LINE
    }
}

/// Nanoseconds a load whose address needs the load before. It includes one addition.
pub(crate) fn dependent<S: Set>(buffer: &[u8], loads: u32, seed: u64) -> f64 {
    let lines = (buffer.len() / S::EACH) as u64;
    let (mut draw, mut value) = (Draw(seed), 0);
    let start = Instant::now();
    for _ in 0..loads {
        value = word(buffer, S::at(draw.next(lines)) + value);
    }
    black_box(value);
    start.elapsed().as_secs_f64() * 1e9 / f64::from(loads)
}

/// As [`dependent`], of lines none of which is loaded twice: the second load would find it in this
/// core's own cache.
pub(crate) fn each_once(buffer: &[u8], loads: usize, seed: u64) -> f64 {
    let order = some_of(buffer.len() / LINE, loads, seed);
    let mut value = 0;
    let start = Instant::now();
    for line in &order {
        value = word(buffer, *line as usize * LINE + value);
    }
    black_box(value);
    start.elapsed().as_secs_f64() * 1e9 / order.len() as f64
}

/// So `many` of the numbers below `count`, at least one, in any order.
fn some_of(count: usize, many: usize, seed: u64) -> Vec<u32> {
    let mut numbers: Vec<u32> = (0..count as u32).collect();
    let mut draw = Draw(seed);
    let many = many.clamp(1, count);
    for at in 0..many {
        numbers.swap(at, at + draw.next((count - at) as u64));
    }
    numbers.truncate(many);
    numbers
}

/// Nanoseconds a load of a gather: none waits for another.
pub(crate) fn independent<S: Set>(buffer: &[u8], loads: u32, seed: u64) -> f64 {
    let lines = (buffer.len() / S::EACH) as u64;
    let (mut draw, mut sum) = (Draw(seed), 0_usize);
    let start = Instant::now();
    for _ in 0..loads {
        sum = sum.wrapping_add(word(buffer, S::at(draw.next(lines))));
    }
    black_box(sum);
    start.elapsed().as_secs_f64() * 1e9 / f64::from(loads)
}

/// Nanoseconds of two loads that do not depend on each other, with `STEPS` steps of other work
/// after each. A step is five instructions.
pub(crate) fn apart<const STEPS: u32>(buffer: &[u8], pairs: u32, seed: u64) -> f64 {
    let lines = (buffer.len() / LINE) as u64;
    let (mut draw, mut a, mut b) = (Draw(seed), 0, 0);
    let (mut x, mut y, mut u) = (seed, 3_u64, seed | 1);
    let mut work = || {
        for _ in 0..STEPS {
            x = x.wrapping_add(y);
            y ^= x;
            u ^= u >> 3;
        }
    };
    let start = Instant::now();
    for _ in 0..pairs {
        // The first load of a pair waits for both of the pair before.
        let both = a + b;
        a = word(buffer, draw.next(lines) * LINE + both);
        work();
        b = word(buffer, draw.next(lines) * LINE + both);
        work();
    }
    black_box((a, b));
    let time = start.elapsed().as_secs_f64() * 1e9 / f64::from(pairs);
    black_box((x, y, u));
    time
}

/// Nanoseconds a line of a stream that is read.
pub(crate) fn read(buffer: &[u8]) -> f64 {
    read_in_order::<All>(buffer)
}

/// Nanoseconds a line where they are read in order.
pub(crate) fn read_in_order<S: Set>(buffer: &[u8]) -> f64 {
    let lines = buffer.len() / S::EACH;
    let start = Instant::now();
    let sum = (0..lines).fold(0_usize, |sum, line| sum.wrapping_add(word(buffer, S::at(line))));
    black_box(sum);
    start.elapsed().as_secs_f64() * 1e9 / lines as f64
}

/// Nanoseconds a line, of those read and those written, of a stream that is copied from one half of
/// the buffer to the other.
pub(crate) fn copy(buffer: &mut [u8]) -> f64 {
    let half = buffer.len() / LINE / 2 * LINE;
    let zero = black_box(0);
    let start = Instant::now();
    let (from, to) = buffer.split_at_mut(half);
    for (from, to) in from.chunks_exact(LINE).zip(to.chunks_exact_mut(LINE)) {
        to[0] = from[0].wrapping_add(zero);
    }
    black_box(&to[0]);
    start.elapsed().as_secs_f64() * 1e9 / (buffer.len() / LINE) as f64
}

/// Nanoseconds a line that is written, a word at a time, at `runs` places by turns at random, which
/// have `words` words written together. Each place goes on with the next line, or with any if it
/// `jumps`.
pub(crate) fn scatter(buffer: &mut [u8], runs: usize, words: usize, jumps: bool, seed: u64) -> f64 {
    let lines = (buffer.len() / LINE) as u64;
    let (mut draw, zero, end) = (Draw(seed), black_box(0_u32), lines as usize * LINE);
    let mut places: Vec<usize> = (0..runs).map(|_| draw.next(lines) * LINE).collect();
    let start = Instant::now();
    for _ in 0..words {
        let run = draw.next(runs as u64);
        let at = places[run];
        if let Some(word) = buffer.get_mut(at..at + 4) {
            word.copy_from_slice(&zero.to_le_bytes());
        }
        let mut next = at + 4;
        if next.is_multiple_of(LINE) && (jumps || next == end) {
            next = draw.next(lines) * LINE;
        }
        places[run] = next;
    }
    black_box(&buffer[0]);
    start.elapsed().as_secs_f64() * 1e9 / (words * 4 / LINE) as f64
}

/// Nanoseconds a line of a stream that is read and written.
pub(crate) fn update(buffer: &mut [u8]) -> f64 {
    let zero = black_box(0);
    let start = Instant::now();
    for line in buffer.chunks_exact_mut(LINE) {
        line[0] = line[0].wrapping_add(zero);
    }
    black_box(&buffer[0]);
    start.elapsed().as_secs_f64() * 1e9 / (buffer.len() / LINE) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_drawn_twice_where_each_is_loaded_once() {
        for (count, many) in [(8192, 1024), (10_000, 1250), (7, 7), (4, 0)] {
            let mut drawn = some_of(count, many, 3);
            let in_order = drawn.is_sorted();
            drawn.sort_unstable();
            drawn.dedup();
            assert_eq!(drawn.len(), many.max(1));
            assert!(drawn.iter().all(|line| (*line as usize) < count));
            assert!(!in_order || many == 0, "at random");
        }
    }

    #[test]
    fn what_is_written_leaves_a_buffer_of_zeros() {
        let mut buffer = vec![0; 64 * LINE];
        for _ in 0..2 {
            copy(&mut buffer);
            update(&mut buffer);
            scatter(&mut buffer, 4, 1000, true, 1);
            assert!(buffer.iter().all(|byte| *byte == 0));
        }
        buffer[LINE] = 7;
        copy(&mut buffer);
        assert_eq!(buffer[33 * LINE], 7);
    }
}
