//! Sums and Fibonacci numbers as befit's tasks.

use befit::{Forks, Task};

struct Terms<'t, F> {
    low: usize,
    high: usize,
    term: &'t F,
}

impl<F: Fn(&mut (), usize) -> u64 + Sync> Task for Terms<'_, F> {
    type Output = u64;

    fn run(self, forks: impl Forks) -> u64 {
        let Self { low, high, term } = self;
        if high - low == 1 {
            return term(&mut (), low);
        }
        let middle = low + (high - low) / 2;
        let (a, b) = forks.join(Self { low, high: middle, term }, Self { low: middle, high, term });
        a + b
    }
}

/// The sum of `term(i)` for all `i` from `low` up to, not including, `high`; there is at least one.
/// Not each fork of the tree is made, as in [`fib`].
#[inline(always)]
pub fn sum<F>(_: &mut (), low: usize, high: usize, term: &F) -> u64
where
    F: Fn(&mut (), usize) -> u64 + Sync,
{
    befit::run(Terms { low, high, term })
}

struct Fib(u32);

impl Task for Fib {
    type Output = u64;

    fn run(self, forks: impl Forks) -> u64 {
        let Self(n) = self;
        if n < 2 {
            return n.into();
        }
        let (a, b) = forks.join(Self(n - 1), Self(n - 2));
        a + b
    }
}

/// A Fibonacci number by its definition. Not each call forks: where befit finds that nobody asks
/// for a fork, up to four levels of calls make none before it looks again (see [`Task`]).
pub fn fib(_: &mut (), n: u32) -> u64 {
    befit::run(Fib(n))
}
