//! rayon: its `join`, and its parallel iterators where a program forks more than two tasks at once.

use rayon::{
    Scope, ThreadPool, ThreadPoolBuilder,
    iter::{IntoParallelIterator, ParallelIterator},
};

use super::{Runtime, TaskScope, halves, spawn_halves};
use crate::Error;

/// A rayon pool with defaults but for the number of threads.
///
/// With `ITER` it sums by a parallel iterator. That forks fewer tasks: rayon stops cutting a range
/// once there are enough pieces for its threads, and cuts further only after a steal.
pub(crate) struct Rayon<const ITER: bool>(ThreadPool);

impl<const ITER: bool> Rayon<ITER> {
    pub(crate) fn new(threads: usize) -> Result<Self, Error> {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        pool.map(Self).map_err(|e| Error::Failed(format!("rayon cannot be set up: {e}")))
    }
}

impl<'s> TaskScope<'s> for Scope<'s> {
    #[inline(always)]
    fn spawn_task<W: FnOnce(&Self) + Send + 's>(&self, work: W) {
        self.spawn(work);
    }
}

impl<const ITER: bool> Runtime for Rayon<ITER> {
    type Context<'c> = ();

    fn install<T: Send>(&self, _: Option<usize>, work: impl FnOnce(&mut ()) -> T + Send) -> T {
        self.0.install(|| work(&mut ()))
    }

    fn spawn_tree<F: Fn(usize) + Sync>(_: &mut (), low: usize, high: usize, leaf: &F) {
        rayon::scope(|s| spawn_halves(s, low, high, leaf));
    }

    #[inline(always)]
    fn join<X: Send, Y: Send>(
        _: &mut (),
        a: impl FnOnce(&mut ()) -> X + Send,
        b: impl FnOnce(&mut ()) -> Y + Send,
    ) -> (X, Y) {
        rayon::join(|| a(&mut ()), || b(&mut ()))
    }

    #[inline(always)]
    fn sum<F: Fn(&mut (), usize) -> u64 + Sync>(cx: &mut (), n: usize, term: &F) -> u64 {
        match n {
            _ if ITER => (0..n).into_par_iter().map(|i| term(&mut (), i)).sum(),
            0 => 0,
            _ => halves::<Self, F>(cx, 0, n, term),
        }
    }
}
