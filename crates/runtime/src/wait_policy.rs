//! What a worker may do while it waits.

/// What a worker may run while it waits for forks, spawned tasks or another pool.
///
/// A waiting worker runs other tasks on top of the waiting one on its stack, *with all that the
/// waiting task holds*. If that task holds a lock across a [`join`](crate::join), and one of the
/// others takes the same lock, the thread waits for itself for ever.
///
/// ```
/// use std::sync::Mutex;
/// use befit::{ThreadPoolBuilder, WaitPolicy, join};
///
/// let builder = ThreadPoolBuilder::new().num_threads(4);
/// let pool = builder.wait_policy(WaitPolicy::Descendants).build().unwrap();
/// let sum = Mutex::new(0);
/// let add = || {
///     let mut sum = sum.lock().unwrap();
///     let (a, b) = join(|| 1, || 2);
///     *sum += a + b;
/// };
/// pool.install(|| join(|| join(add, add), || join(add, add)));
/// assert_eq!(sum.into_inner().unwrap(), 12);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum WaitPolicy {
    /// Anything, so that no worker is without work while there is some. Locks must not be held
    /// across forks.
    #[default]
    Anything,
    /// Only descendants of what it waits for (*leapfrogging*: Wagner & Calder, PPoPP 1993). A lock
    /// held across a fork is safe as long as what is forked does not take it. Some workers may be
    /// without work although there is some.
    ///
    /// Two things run all the same: a [`broadcast`](crate::broadcast())'s part, for which there is
    /// no other thread, and what the task itself asks for by [`yield_now`](crate::yield_now).
    ///
    /// The schedulers `ws`, `pws`, `cilk-a`, `cats` and `cats-s` can do this; with another one,
    /// building the pool is an error.
    Descendants,
}
