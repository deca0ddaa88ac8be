//! The two ways of forking, and how one follows the other down a recursion.

use super::{Forkable, Forks, Output, Task};
use crate::fit::{Fit, Work};

/// Nobody else implements [`Forks`], so that it can grow.
pub trait Sealed {}

/// Forks where one is needed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Forking;

/// Two calls; what they fork is forked by `N`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elided<N>(N);

/// Between two looks at whether anybody wants a fork: 2⁴ calls of a binary recursion. Time of
/// fib(38), one thread, to that of the function without forks, on an AMD Zen 3, for 0, 1, 2, 4, 6
/// and 8 levels: 2.0, 1.2, 1.03, 0.68, 0.9, 0.8. (Below 1, as four functions that call one another
/// can be put into one another further than one that calls itself.)
pub(super) const FOUR: Elided<Elided<Elided<Elided<Forking>>>> =
    Elided(Elided(Elided(Elided(Forking))));

impl Sealed for Forking {}

impl Forks for Forking {
    #[inline(always)]
    fn join<A: Forkable, B: Forkable>(self, a: A, b: B) -> (Output<A>, Output<B>) {
        if is_inlined() {
            return FOUR.join(a, b);
        }
        join_at_length(a, b)
    }
}

impl<N: Sealed> Sealed for Elided<N> {}

impl<N: Forks> Forks for Elided<N> {
    #[inline(always)]
    fn join<A: Forkable, B: Forkable>(self, a: A, b: B) -> (Output<A>, Output<B>) {
        let Self(next) = self;
        (a.into_fit().work.run(next), b.into_fit().work.run(next))
    }
}

/// Whether the calling thread is a worker in a plain stretch, of whom nobody wants anything.
#[inline(always)]
fn is_inlined() -> bool {
    // A recording has all forks.
    #[cfg(befit_record)]
    return false;
    #[cfg(not(befit_record))]
    crate::fork::is_inlined()
}

/// [`Forks::join`] where a fork may be needed. Out of line, so that the elision pays for nothing
/// but itself.
#[inline(never)]
fn join_at_length<A: Forkable, B: Forkable>(a: A, b: B) -> (Output<A>, Output<B>) {
    let (a, b) = (forking(a.into_fit()), forking(b.into_fit()));
    if A::SIZED || B::SIZED {
        crate::join(a, b)
    } else {
        crate::join(a.into_closure(), b.into_closure())
    }
}

/// The task as a half of a [`crate::join`].
fn forking<T: Task>(task: Fit<T>) -> Fit<impl FnOnce() -> T::Output + Send> {
    let Fit { work, size, strand } = task;
    Fit { work: move || work.run(Forking), size, strand }
}
