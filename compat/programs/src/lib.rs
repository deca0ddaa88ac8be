//! What the programs share: their one argument, and a sum in parallel.

use std::ops::Range;

/// The size from the command line, `usual` without one.
///
/// # Panics
/// When it is no whole number.
pub fn size(usual: usize) -> usize {
    std::env::args().nth(1).map_or(usual, |n| n.parse().expect("n is a whole number"))
}

/// The sum of what `of` gives for each of `range`, each in a task of its own, whatever the number
/// of threads. (A parallel iterator would cut the range into as many parts as suit the threads.)
pub fn sum(range: Range<u64>, of: &(impl Fn(u64) -> u64 + Sync)) -> u64 {
    match range.end - range.start {
        0 => 0,
        1 => of(range.start),
        length => {
            let middle = range.start + length / 2;
            let (left, right) = (range.start..middle, middle..range.end);
            let (a, b) = rayon::join(|| sum(left, of), || sum(right, of));
            a + b
        }
    }
}
