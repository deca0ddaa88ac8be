//! Fibonacci numbers by their definition: nothing but forks, so the time is the price of forks.
//!
//! `plain` is the usual benchmark. `sized` declares that each call touches 64 bytes, which befit
//! any private cache: a runtime that looks at sizes need not fork at all. Its leaves can do some
//! work each, as real leaves do. `task` is `sized` again, for befit as a [`befit::Task`].

use std::{hint::black_box, time::Duration};

use befit::{Forks, Task, fit};

use super::{checked, timed};
use crate::{Error, runtime::Runtime};

/// The declared size of a call: a line of its stack.
const BYTES: usize = 64;

/// The [`rounds`](work) that take about 100 ns: at 3 GHz, 300 cycles of 6 each (multiply 3 to 4,
/// shift 1, xor 1).
pub(crate) const ROUNDS_OF_100_NS: u32 = 50;

/// A fork per call, without sizes.
pub(crate) fn plain<R: Runtime>(runtime: &R, n: usize) -> Result<Duration, Error> {
    run::<R, 0>(runtime, n, None, fib::<R>)
}

/// A fork with sizes per call; a leaf works for `ROUNDS`.
pub(crate) fn sized<R: Runtime, const ROUNDS: u32>(
    runtime: &R,
    n: usize,
) -> Result<Duration, Error> {
    run::<R, ROUNDS>(runtime, n, Some(BYTES), fib_sized::<R, ROUNDS>)
}

/// As [`sized`] without work, in the way that costs least on the runtime.
pub(crate) fn task<R: Runtime>(runtime: &R, n: usize) -> Result<Duration, Error> {
    run::<R, 0>(runtime, n, Some(BYTES), R::fib_task)
}

/// Times `fib`, which touches `bytes` and whose leaves work for `ROUNDS`.
fn run<R: Runtime, const ROUNDS: u32>(
    runtime: &R,
    n: usize,
    bytes: Option<usize>,
    fib: impl FnOnce(&mut R::Context<'_>, u32) -> u64 + Send,
) -> Result<Duration, Error> {
    // It is at most 60.
    let n = n as u32;
    let (time, found) = timed(runtime, bytes, move |cx| fib(cx, black_box(n)));
    checked(time, found, expected::<ROUNDS>(n))
}

fn fib<R: Runtime>(cx: &mut R::Context<'_>, n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = R::join(
        cx,
        |cx: &mut R::Context<'_>| fib::<R>(cx, n - 1),
        |cx: &mut R::Context<'_>| fib::<R>(cx, n - 2),
    );
    a + b
}

pub(crate) fn fib_sized<R: Runtime, const ROUNDS: u32>(cx: &mut R::Context<'_>, n: u32) -> u64 {
    if n < 2 {
        return work::<ROUNDS>(n);
    }
    let (a, b) = R::join_fit(
        cx,
        (BYTES, |cx: &mut R::Context<'_>| fib_sized::<R, ROUNDS>(cx, n - 1)),
        (BYTES, |cx: &mut R::Context<'_>| fib_sized::<R, ROUNDS>(cx, n - 2)),
    );
    a.wrapping_add(b)
}

/// [`fib_sized`] as befit's task.
pub(crate) struct Fib(pub(crate) u32);

impl Task for Fib {
    type Output = u64;

    fn run(self, forks: impl Forks) -> u64 {
        let Self(n) = self;
        if n < 2 {
            return work::<0>(n);
        }
        let (a, b) = forks.join(fit(BYTES, Self(n - 1)), fit(BYTES, Self(n - 2)));
        a.wrapping_add(b)
    }
}

/// A leaf: a chain of multiplications, each of which needs the one before.
#[inline(always)]
fn work<const ROUNDS: u32>(n: u32) -> u64 {
    let mut x = u64::from(n);
    for _ in 0..ROUNDS {
        x = x.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x ^= x >> 32;
    }
    x
}

/// The sum over the whole tree, which has fib(n) leaves with 1 and fib(n − 1) with 0.
fn expected<const ROUNDS: u32>(n: u32) -> u64 {
    let (mut zeros, mut ones) = (1_u64, 0_u64);
    for _ in 0..n {
        (zeros, ones) = (ones, zeros + ones);
    }
    ones.wrapping_mul(work::<ROUNDS>(1)).wrapping_add(zeros.wrapping_mul(work::<ROUNDS>(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expected_numbers_are_fibonaccis() {
        assert_eq!([0, 1, 2, 10, 38].map(expected::<0>), [0, 1, 1, 55, 39_088_169]);
    }
}
