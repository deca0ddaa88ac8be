//! A tree in which each task forks ten, down to n leaves; adds up the leaves' numbers.
//!
//! Source: the skynet benchmark (A. Temerev).

use std::hint::black_box;

use befit_rayon_programs::{size, sum};

const BRANCHES: u64 = 10;

/// The sum of the numbers from `first`, `leaves` of them.
fn skynet(first: u64, leaves: u64) -> u64 {
    if leaves == 1 {
        return first;
    }
    let each = leaves / BRANCHES;
    sum(0..BRANCHES, &|branch| skynet(first + each * branch, each))
}

fn main() {
    let n = size(1_000_000).max(1) as u64;
    assert_eq!(BRANCHES.pow(n.ilog10()), n, "n is a power of ten");
    // One parallel region, which is what is timed.
    let found = rayon::scope(|_| skynet(0, black_box(n)));
    assert_eq!(found, n * (n - 1) / 2, "each leaf counts once");
}
