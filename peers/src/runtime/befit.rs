//! befit, under any of its schedulers.

use befit::{Forks, SchedulerKind, Scope, Task, ThreadPool, ThreadPoolBuilder, fit};

use super::{Runtime, TaskScope, spawn_halves};
use crate::{error::Error, program::Fib};

/// A befit pool with defaults but for threads and scheduler.
pub(crate) struct Befit(ThreadPool);

impl Befit {
    pub(crate) fn new(threads: usize, scheduler: SchedulerKind) -> Result<Self, Error> {
        let pool = ThreadPoolBuilder::new().num_threads(threads).scheduler(scheduler).build();
        pool.map(Self).map_err(|e| Error::Setup { runtime: "befit", reason: e.to_string() })
    }
}

impl<'s> TaskScope<'s> for Scope<'s> {
    #[inline(always)]
    fn spawn_task<W: FnOnce(&Self) + Send + 's>(&self, work: W) {
        self.spawn(work);
    }
}

/// The terms from `low` up to, not including, `high`, of a sum; there is at least one.
struct Halves<'t, F> {
    low: usize,
    high: usize,
    term: &'t F,
}

impl<F: Fn(&mut (), usize) -> u64 + Sync> Task for Halves<'_, F> {
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

impl Runtime for Befit {
    type Context<'c> = ();

    fn install<W, T>(&self, bytes: Option<usize>, work: W) -> T
    where
        W: FnOnce(&mut ()) -> T + Send,
        T: Send,
    {
        match bytes {
            Some(bytes) => self.0.install(fit(bytes, || work(&mut ()))),
            None => self.0.install(|| work(&mut ())),
        }
    }

    fn fib_task(_: &mut (), n: u32) -> u64 {
        befit::run(Fib(n))
    }

    fn spawn_tree<F>(_: &mut (), low: usize, high: usize, leaf: &F)
    where
        F: Fn(usize) + Sync,
    {
        befit::scope(|s| spawn_halves(s, low, high, leaf));
    }

    #[inline(always)]
    fn sum<F>(_: &mut (), n: usize, term: &F) -> u64
    where
        F: Fn(&mut (), usize) -> u64 + Sync,
    {
        if n == 0 { 0 } else { befit::run(Halves { low: 0, high: n, term }) }
    }

    #[inline(always)]
    fn join<A, B, X, Y>(_: &mut (), a: A, b: B) -> (X, Y)
    where
        A: FnOnce(&mut ()) -> X + Send,
        B: FnOnce(&mut ()) -> Y + Send,
        X: Send,
        Y: Send,
    {
        befit::join(|| a(&mut ()), || b(&mut ()))
    }

    #[inline(always)]
    fn join_fit<A, B, X, Y>(
        _: &mut (),
        (bytes_a, a): (usize, A),
        (bytes_b, b): (usize, B),
    ) -> (X, Y)
    where
        A: FnOnce(&mut ()) -> X + Send,
        B: FnOnce(&mut ()) -> Y + Send,
        X: Send,
        Y: Send,
    {
        befit::join(fit(bytes_a, || a(&mut ())), fit(bytes_b, || b(&mut ())))
    }
}
