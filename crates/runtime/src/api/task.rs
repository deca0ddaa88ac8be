//! Recursions that cost no more than without forks, where none is needed: tasks compiled with forks
//! and without.
//!
//! A `join` of closures can become two inlined calls, but the compiler does not see two inlined
//! calls: behind the same line of the source lies the fork, too, and what comes after must do for
//! both. So it cannot make a loop of the last call, nor put the calls of several levels into one
//! another, as it does with the same function without `join`; for a function that does next to
//! nothing that makes up most of what is left of a fork's price.
//!
//! A [`Task`] is a struct with a method that is generic in *how* it forks. So the compiler makes
//! several functions of it: one that forks, and its *serial elision*, in which a fork is two calls
//! and nothing else. Wherever the former finds that its forks are not needed, it goes on with the
//! latter. (Cilk compiles each function twice as well, for another difference: whether it has been
//! stolen from. M. Frigo, C. E. Leiserson, K. H. Randall, *The implementation of the Cilk-5
//! multithreaded language*, PLDI 1998, section 4; the serial elision is section 2's.)
//!
//! The elision does not go down to the leaves, as nobody could ask for a fork meanwhile: after
//! [four levels](FOUR) the next fork looks again.

use super::{Fit, Work};
use crate::backend;

/// A task that the compiler makes with forks and without: a recursion that may fork down to single
/// calls, at the price of one without forks.
///
/// Closures are shorter to write, and where a leaf does a microsecond of work they cost nothing
/// worth mention either. A task pays off where the leaves are a few instructions and a cut-off by
/// hand is to be spared. Its code is compiled five times.
///
/// ```
/// use befit::{Forks, Task};
///
/// struct Fib(u32);
///
/// impl Task for Fib {
///     type Output = u64;
///
///     fn run(self, forks: impl Forks) -> u64 {
///         let Fib(n) = self;
///         if n < 2 {
///             return n.into();
///         }
///         let (a, b) = forks.join(Fib(n - 1), Fib(n - 2));
///         a + b
///     }
/// }
///
/// assert_eq!(befit::run(Fib(20)), 6765);
/// ```
///
/// Tasks borrow as closures do, and say [how much they touch](crate::fit()) where they are forked:
/// ```
/// use befit::{Forks, Task, fit};
///
/// struct Scale<'a>(&'a mut [f64]);
///
/// impl Task for Scale<'_> {
///     type Output = ();
///
///     fn run(self, forks: impl Forks) {
///         let Scale(v) = self;
///         if v.len() <= 16 {
///             return v.iter_mut().for_each(|x| *x *= 2.0);
///         }
///         let (left, right) = v.split_at_mut(v.len() / 2);
///         forks.join(fit(size_of_val(left), Scale(left)), fit(size_of_val(right), Scale(right)));
///     }
/// }
///
/// let mut v = vec![1.0; 1000];
/// befit::run(Scale(&mut v));
/// assert!(v.iter().all(|x| *x == 2.0));
/// ```
pub trait Task: Send {
    /// What [`run`](Self::run) returns.
    type Output: Send;

    /// Does the task; what it forks it forks by `forks`.
    fn run(self, forks: impl Forks) -> Self::Output;
}

/// What a task can fork: a [`Task`], or one with [its size](crate::fit()).
pub trait Forkable: Send {
    /// The task, without its size.
    type Task: Task;

    /// Whether values of this type declare a size.
    const SIZED: bool;

    /// The task with what is declared about it.
    fn into_fit(self) -> Fit<Self::Task>;
}

impl<T: Task> Forkable for T {
    type Task = T;
    const SIZED: bool = false;

    #[inline(always)]
    fn into_fit(self) -> Fit<T> {
        Fit { work: self, size: None, strand: None }
    }
}

impl<T: Task> Forkable for Fit<T> {
    type Task = T;
    const SIZED: bool = true;

    #[inline(always)]
    fn into_fit(self) -> Self {
        self
    }
}

/// What a forked task returns.
type Output<F> = <<F as Forkable>::Task as Task>::Output;

/// How a [`Task`] forks: published to [`Task::run`], to be used any number of times. Only befit
/// implements it.
pub trait Forks: Copy + Sealed {
    /// Runs `a` and `b`, maybe in parallel, and returns both results, as [`join`](crate::join())
    /// does.
    ///
    /// # Panics
    /// If one of them panics, the panic goes on in the caller, once no other thread runs the other
    /// any more. Unlike that of closures, the second may never be run if the first panics.
    fn join<A: Forkable, B: Forkable>(self, a: A, b: B) -> (Output<A>, Output<B>);
}

/// Runs a task, and what it forks in the pool that the caller is in: call it within
/// [`ThreadPool::install`](crate::ThreadPool::install), [`join`](crate::join()) or the like.
/// Outside of pools its forks run in the global one.
#[inline]
pub fn run<T: Task>(task: T) -> T::Output {
    task.run(Forking)
}

/// Nobody else implements [`Forks`], so that it can grow.
pub trait Sealed {}

/// Forks where one is needed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Forking;

/// Two calls; what they fork is forked by `N`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Elided<N>(N);

/// Between two looks at whether anybody wants a fork: 2⁴ calls of a binary recursion. (Four
/// functions that call one another can be inlined further than one that calls itself.)
pub(crate) const FOUR: Elided<Elided<Elided<Elided<Forking>>>> =
    Elided(Elided(Elided(Elided(Forking))));

impl Sealed for Forking {}

impl Forks for Forking {
    #[inline(always)]
    fn join<A: Forkable, B: Forkable>(self, a: A, b: B) -> (Output<A>, Output<B>) {
        if backend::is_inlined() {
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
