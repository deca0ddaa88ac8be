//! One closure on every thread of a pool: [`broadcast`], and what its relatives in `scope` are
//! built of.
//!
//! The policy decides which thread runs a task; what must run on a given thread goes past it, into
//! that thread's [`Mailbox`]. A thread reads its mail whenever it looks for work, so also while it
//! waits: broadcasts may be nested, and several may be under way at once.
//!
//! ```
//! // Each thread's share of a pool-wide setting, say.
//! let pool = befit::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
//! let names = pool.broadcast(|context| format!("thread {} of {}", context.index(), context.num_threads()));
//! assert_eq!(names, ["thread 0 of 3", "thread 1 of 3", "thread 2 of 3"]);
//! ```

#[cfg(all(test, loom))]
mod loom;
mod mailbox;
#[cfg(all(test, not(loom)))]
mod tests;

use std::{
    marker::PhantomData,
    sync::{Arc, Mutex, PoisonError},
};

pub(crate) use self::mailbox::Mailbox;
use crate::{
    pool::{Registry, Worker},
    scope::in_place_scope_in,
};

/// Runs `work` once on every thread of the current pool (outside one: of the global pool), and
/// returns what it answered, in the order of the threads.
///
/// A thread runs it when it next looks for work; nothing that runs is interrupted. So it takes as
/// long as the longest task that is running, at least.
///
/// ```
/// use std::cell::Cell;
///
/// thread_local! { static CALLS: Cell<usize> = const { Cell::new(0) } }
///
/// let pool = befit::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
/// pool.broadcast(|_| CALLS.set(CALLS.get() + 1));
/// assert_eq!(pool.broadcast(|_| CALLS.get()), [1, 1]);
/// ```
///
/// # Panics
/// If it panics on any thread, the others are run to their end; then the first panic goes on in the
/// caller.
///
/// # What may not be sent
/// It is used by all threads at once, so what it uses must be [`Sync`]:
/// ```compile_fail,E0277
/// let count = std::cell::Cell::new(0);
/// befit::broadcast(|_| count.set(count.get() + 1));
/// ```
/// and what it answers must be [`Send`]:
/// ```compile_fail,E0277
/// befit::broadcast(|_| std::rc::Rc::new(1));
/// ```
pub fn broadcast<F, R>(work: F) -> Vec<R>
where
    F: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    Registry::with_current(|registry| broadcast_in(registry, work))
}

/// As [`broadcast`], in the given pool.
pub(crate) fn broadcast_in<F, R>(registry: &Arc<Registry>, work: F) -> Vec<R>
where
    F: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    let answers: Vec<Mutex<Option<R>>> =
        (0..registry.engine().threads()).map(|_| Mutex::new(None)).collect();
    in_place_scope_in(registry, |s| {
        s.spawn_broadcast(|_, context| {
            let index = context.index();
            let answer = work(context);
            *answers[index].lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
        });
    });
    let answer = |slot: Mutex<Option<R>>| slot.into_inner().unwrap_or_else(PoisonError::into_inner);
    // Had one panicked, so would have the scope.
    answers.into_iter().map(|slot| answer(slot).expect("every thread has answered")).collect()
}

/// What the closure of a [`broadcast`] is told: which of how many threads it runs on.
#[derive(Debug)]
pub struct BroadcastContext<'a> {
    index: usize,
    num_threads: usize,
    /// It describes the thread that it was made on, so it stays there, and for one call.
    not_send: PhantomData<(&'a (), *const ())>,
}

impl BroadcastContext<'_> {
    /// Calls `f` with the context of the calling thread, a worker.
    pub(crate) fn with<R>(f: impl FnOnce(BroadcastContext<'_>) -> R) -> R {
        let (index, num_threads) = Worker::with_current(|worker| {
            let worker = worker.expect("jobs run on workers");
            (worker.thread(), worker.registry().engine().threads())
        });
        f(BroadcastContext { index, num_threads, not_send: PhantomData })
    }

    /// Which thread of the pool this is, from 0; what
    /// [`current_thread_index`](crate::current_thread_index) answers.
    ///
    /// ```
    /// let indices = befit::broadcast(|context| context.index());
    /// assert!(indices.into_iter().eq(0..befit::current_num_threads()));
    /// ```
    #[inline]
    pub fn index(&self) -> usize {
        self.index
    }

    /// The number of threads of the pool.
    ///
    /// ```
    /// let n = befit::current_num_threads();
    /// assert!(befit::broadcast(|context| context.num_threads()).iter().all(|answer| *answer == n));
    /// ```
    #[inline]
    pub fn num_threads(&self) -> usize {
        self.num_threads
    }
}
