//! Sorts random numbers by a digit of eight bits at a time, from the lowest, and checks the result.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;

const DIGITS: usize = 256;
const PARTS: usize = 256;

fn digit(number: &AtomicU32, pass: u32) -> usize {
    (number.load(Relaxed) >> (8 * pass)) as usize % DIGITS
}

/// How often each digit is in each part.
fn count(parts: &[&[AtomicU32]], pass: u32) -> Vec<Vec<usize>> {
    let of_part = |part: &&[AtomicU32]| {
        let mut counts = vec![0; DIGITS];
        part.iter().for_each(|number| counts[digit(number, pass)] += 1);
        counts
    };
    parts.par_iter().map(of_part).collect()
}

/// Turns counts into the places where each part's numbers of each digit begin.
fn begin(counts: &mut [Vec<usize>]) {
    let mut at = 0;
    for digit in 0..DIGITS {
        for part in counts.iter_mut() {
            at += std::mem::replace(&mut part[digit], at);
        }
    }
}

fn sort(numbers: Vec<AtomicU32>) -> Vec<AtomicU32> {
    let mut from = numbers;
    let mut to: Vec<AtomicU32> = from.iter().map(|_| AtomicU32::new(0)).collect();
    for pass in 0..4 {
        let parts: Vec<_> = from.chunks(from.len().div_ceil(PARTS)).collect();
        let mut places = count(&parts, pass);
        begin(&mut places);
        parts.par_iter().zip(&mut places).for_each(|(part, places)| {
            for number in *part {
                let place = &mut places[digit(number, pass)];
                to[*place].store(number.load(Relaxed), Relaxed);
                *place += 1;
            }
        });
        std::mem::swap(&mut from, &mut to);
    }
    from
}

fn main() {
    let n = befit_rayon_programs::size(4_000_000).max(1);
    let mut random = fastrand::Rng::with_seed(1);
    let numbers = sort((0..n).map(|_| AtomicU32::new(random.u32(..))).collect());
    assert!(numbers.windows(2).all(|two| two[0].load(Relaxed) <= two[1].load(Relaxed)));
    println!("sorted {n} numbers");
}
