//! rayon: its `join`, and its parallel iterators where a program forks more than two tasks at once.

use rayon::{
    Scope, ThreadPool, ThreadPoolBuilder,
    iter::{IntoParallelIterator, ParallelIterator},
};

use super::{Runtime, TaskScope, spawn_halves};
use crate::error::Error;

/// A rayon pool with defaults but for the number of threads.
pub(crate) struct Rayon(ThreadPool);

impl Rayon {
    pub(crate) fn new(threads: usize) -> Result<Self, Error> {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        pool.map(Self).map_err(|e| Error::Setup { runtime: "rayon", reason: e.to_string() })
    }
}

impl<'s> TaskScope<'s> for Scope<'s> {
    #[inline(always)]
    fn spawn_task<W: FnOnce(&Self) + Send + 's>(&self, work: W) {
        self.spawn(work);
    }
}

impl Runtime for Rayon {
    type Context<'c> = ();

    fn install<W, T>(&self, _: Option<usize>, work: W) -> T
    where
        W: FnOnce(&mut ()) -> T + Send,
        T: Send,
    {
        self.0.install(|| work(&mut ()))
    }

    fn spawn_tree<F>(_: &mut (), low: usize, high: usize, leaf: &F)
    where
        F: Fn(usize) + Sync,
    {
        rayon::scope(|s| spawn_halves(s, low, high, leaf));
    }

    #[inline(always)]
    fn join<A, B, X, Y>(_: &mut (), a: A, b: B) -> (X, Y)
    where
        A: FnOnce(&mut ()) -> X + Send,
        B: FnOnce(&mut ()) -> Y + Send,
        X: Send,
        Y: Send,
    {
        rayon::join(|| a(&mut ()), || b(&mut ()))
    }
}

/// As [`Rayon`], but sums by a parallel iterator. That forks fewer tasks: rayon stops cutting a
/// range once there are enough pieces for its threads, and cuts further only what was stolen.
pub(crate) struct RayonIter(Rayon);

impl RayonIter {
    pub(crate) fn new(threads: usize) -> Result<Self, Error> {
        Rayon::new(threads).map(Self)
    }
}

impl Runtime for RayonIter {
    type Context<'c> = ();

    fn install<W, T>(&self, bytes: Option<usize>, work: W) -> T
    where
        W: FnOnce(&mut ()) -> T + Send,
        T: Send,
    {
        self.0.install(bytes, work)
    }

    #[inline(always)]
    fn join<A, B, X, Y>(cx: &mut (), a: A, b: B) -> (X, Y)
    where
        A: FnOnce(&mut ()) -> X + Send,
        B: FnOnce(&mut ()) -> Y + Send,
        X: Send,
        Y: Send,
    {
        Rayon::join(cx, a, b)
    }

    fn spawn_tree<F>(cx: &mut (), low: usize, high: usize, leaf: &F)
    where
        F: Fn(usize) + Sync,
    {
        Rayon::spawn_tree(cx, low, high, leaf);
    }

    #[inline(always)]
    fn sum<F>(_: &mut (), n: usize, term: &F) -> u64
    where
        F: Fn(&mut (), usize) -> u64 + Sync,
    {
        (0..n).into_par_iter().map(|i| term(&mut (), i)).sum()
    }
}
