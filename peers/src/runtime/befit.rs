//! befit, under any of its schedulers.

use befit::{Forks, SchedulerKind, Scope, Task, ThreadPool, ThreadPoolBuilder, fit};

use super::{Runtime, TaskScope, spawn_halves};
use crate::{Error, program::Fib};

/// A befit pool with defaults but for threads and scheduler.
pub(crate) struct Befit(ThreadPool);

impl Befit {
    pub(crate) fn new(threads: usize, scheduler: SchedulerKind) -> Result<Self, Error> {
        let pool = ThreadPoolBuilder::new().num_threads(threads).scheduler(scheduler).build();
        pool.map(Self).map_err(|e| Error::Failed(format!("befit cannot be set up: {e}")))
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

    fn install<T: Send>(&self, bytes: Option<usize>, work: impl FnOnce(&mut ()) -> T + Send) -> T {
        match bytes {
            Some(bytes) => self.0.install(fit(bytes, || work(&mut ()))),
            None => self.0.install(|| work(&mut ())),
        }
    }

    fn fib_task(_: &mut (), n: u32) -> u64 {
        befit::run(Fib(n))
    }

    fn spawn_tree<F: Fn(usize) + Sync>(_: &mut (), low: usize, high: usize, leaf: &F) {
        befit::scope(|s| spawn_halves(s, low, high, leaf));
    }

    #[inline(always)]
    fn sum<F: Fn(&mut (), usize) -> u64 + Sync>(_: &mut (), n: usize, term: &F) -> u64 {
        if n == 0 { 0 } else { befit::run(Halves { low: 0, high: n, term }) }
    }

    #[inline(always)]
    fn join<X: Send, Y: Send>(
        _: &mut (),
        a: impl FnOnce(&mut ()) -> X + Send,
        b: impl FnOnce(&mut ()) -> Y + Send,
    ) -> (X, Y) {
        befit::join(|| a(&mut ()), || b(&mut ()))
    }

    #[inline(always)]
    fn join_fit<X: Send, Y: Send>(
        _: &mut (),
        (bytes_a, a): (usize, impl FnOnce(&mut ()) -> X + Send),
        (bytes_b, b): (usize, impl FnOnce(&mut ()) -> Y + Send),
    ) -> (X, Y) {
        befit::join(fit(bytes_a, || a(&mut ())), fit(bytes_b, || b(&mut ())))
    }
}
