//! Counts n numbers by their last bits, four times: each task has counts of its own, which are
//! added up in pairs. Checks that none is lost.

use rayon::prelude::*;

/// So many numbers a task at the bottom has.
const LEAF: usize = 4096;
const ROUNDS: u32 = 4;
const BUCKETS: usize = 4096;

fn count(numbers: &[u32]) -> Vec<u32> {
    let of_one = |mut counts: Vec<u32>, part: &[u32]| {
        for number in part {
            counts[*number as usize % BUCKETS] += 1;
        }
        counts
    };
    let none = || vec![0; BUCKETS];
    let leaves = numbers.par_chunks(LEAF).fold(none, of_one);
    leaves.reduce(none, |mut sum, counts| {
        sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        sum
    })
}

fn main() {
    let n = befit_rayon_programs::size(2_000_000);
    let mut random = fastrand::Rng::with_seed(1);
    let numbers: Vec<u32> = (0..n).map(|_| random.u32(..)).collect();
    // One parallel region, which is what is timed.
    let counted = rayon::scope(|_| {
        (0..ROUNDS)
            .map(|_| count(&numbers).iter().map(|count| *count as usize).sum::<usize>())
            .sum()
    });
    assert_eq!(n * ROUNDS as usize, counted, "each number is counted each time");
}
