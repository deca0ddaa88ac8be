//! The n-th Fibonacci number by its definition, with a fork for each call: the time is that of
//! forks.

use std::hint::black_box;

fn fib(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = rayon::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn main() {
    let n = befit_rayon_programs::size(30) as u32;
    // One parallel region, which is what is timed.
    let found = rayon::scope(|_| fib(black_box(n)));
    let expected = (0..n).fold((0, 1), |(a, b), _| (b, a + b)).0;
    assert_eq!(found, expected, "the sum of the two before");
}
