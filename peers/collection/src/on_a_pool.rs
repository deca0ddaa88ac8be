//! rayon, or befit with its default scheduler, which has the same functions.

#[cfg(feature = "befit")]
use befit as runtime;
#[cfg(not(feature = "befit"))]
use rayon as runtime;
use runtime::{ThreadPool, ThreadPoolBuilder};

/// What a program hands on; nothing here.
pub type Context<'c> = ();

/// A pool.
pub struct Pool(ThreadPool);

impl Pool {
    pub(crate) fn new(threads: usize) -> Self {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        Self(pool.expect("the pool can be built"))
    }

    /// Runs `work` in it.
    pub fn install<T: Send>(&self, work: impl FnOnce(&mut ()) -> T + Send) -> T {
        self.0.install(|| work(&mut ()))
    }
}

/// Runs both, maybe at the same time.
#[inline(always)]
pub fn join<X: Send, Y: Send>(
    _: &mut (),
    a: impl FnOnce(&mut ()) -> X + Send,
    b: impl FnOnce(&mut ()) -> Y + Send,
) -> (X, Y) {
    runtime::join(|| a(&mut ()), || b(&mut ()))
}
