//! Collects the primes below n, found by trial division, in one list behind a lock, and checks them
//! against a sieve.

use std::sync::Mutex;

use rayon::prelude::*;

fn is_prime(n: u32) -> bool {
    n >= 2 && (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d))
}

fn primes(n: u32) -> Vec<u32> {
    let found = Mutex::new(Vec::new());
    (0..n).into_par_iter().with_min_len(64).filter(|n| is_prime(*n)).for_each(|prime| {
        found.lock().expect("no task panics").push(prime);
    });
    found.into_inner().expect("no task panics")
}

fn main() {
    let n = befit_rayon_programs::size(200_000);
    // One parallel region, which is what is timed.
    let mut found = rayon::scope(|_| primes(n as u32));
    found.sort_unstable();
    let mut composite = vec![false; n];
    for d in 2..n {
        (2 * d..n).step_by(d).for_each(|multiple| composite[multiple] = true);
    }
    let sieved = (2..n).filter(|d| !composite[*d]);
    assert!(found.iter().map(|prime| *prime as usize).eq(sieved));
    println!("{} primes", found.len());
}
