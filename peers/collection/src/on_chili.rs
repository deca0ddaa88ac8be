//! chili. The calling thread is one of the pool's.

use std::num::NonZero;

use chili::{Config, Scope, ThreadPool};

/// What a program hands on.
pub type Context<'c> = Scope<'c>;

/// A pool.
pub struct Pool(ThreadPool);

impl Pool {
    pub(crate) fn new(threads: usize) -> Self {
        let thread_count = NonZero::new(threads);
        Self(ThreadPool::with_config(Config { thread_count, ..Config::default() }))
    }

    /// Runs `work` in it.
    pub fn install<T: Send>(&self, work: impl FnOnce(&mut Scope<'_>) -> T + Send) -> T {
        work(&mut self.0.scope())
    }
}

/// Runs both, maybe at the same time. chili offers the first to others and runs the second itself.
#[inline(always)]
pub fn join<X: Send, Y: Send>(
    cx: &mut Scope<'_>,
    a: impl FnOnce(&mut Scope<'_>) -> X + Send,
    b: impl FnOnce(&mut Scope<'_>) -> Y + Send,
) -> (X, Y) {
    let (b, a) = cx.join(b, a);
    (a, b)
}
