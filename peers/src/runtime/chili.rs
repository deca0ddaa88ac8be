//! chili: fork-join with heartbeats.

use std::num::NonZero;

use chili::{Config, Scope, ThreadPool};

use super::Runtime;

/// A chili pool with defaults but for the number of threads, of which the caller of `install` is
/// one.
pub(crate) struct Chili(ThreadPool);

impl Chili {
    pub(crate) fn new(threads: usize) -> Self {
        Self(ThreadPool::with_config(Config {
            thread_count: NonZero::new(threads),
            ..Config::default()
        }))
    }
}

impl Runtime for Chili {
    type Context<'c> = Scope<'c>;

    fn install<T: Send>(
        &self,
        _: Option<usize>,
        work: impl FnOnce(&mut Scope<'_>) -> T + Send,
    ) -> T {
        work(&mut self.0.scope())
    }

    /// chili's `join` offers its *first* argument to others and runs the second itself: they are
    /// swapped here, so that every runtime runs the first half first.
    #[inline(always)]
    fn join<X: Send, Y: Send>(
        cx: &mut Scope<'_>,
        a: impl FnOnce(&mut Scope<'_>) -> X + Send,
        b: impl FnOnce(&mut Scope<'_>) -> Y + Send,
    ) -> (X, Y) {
        let (b, a) = cx.join(b, a);
        (a, b)
    }
}
