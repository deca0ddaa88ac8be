//! Counts how often each of n random words occurs: parts of the text side by side, each into a
//! table of its own, and then all tables into one, one after another. Checks the sum.

use std::collections::HashMap;

use rayon::prelude::*;

/// Words of a part.
const PART: usize = 4096;

fn count(text: &[u32]) -> HashMap<u32, u32> {
    let mut counts = HashMap::new();
    for word in text {
        *counts.entry(*word).or_insert(0) += 1;
    }
    counts
}

fn count_all(text: &[u32]) -> HashMap<u32, u32> {
    let parts: Vec<_> = text.par_chunks(PART).map(count).collect();
    let mut all = HashMap::new();
    for part in parts {
        for (word, times) in part {
            *all.entry(word).or_insert(0) += times;
        }
    }
    all
}

fn main() {
    let n = befit_rayon_programs::size(500_000);
    let mut random = fastrand::Rng::with_seed(1);
    let text: Vec<u32> = (0..n).map(|_| random.u32(..20_000)).collect();
    // One parallel region, which is what is timed.
    let counts = rayon::scope(|_| count_all(&text));
    let sum: u32 = counts.values().sum();
    assert_eq!(sum as usize, n);
    println!("{} different words", counts.len());
}
