//! Scopes: any number of tasks that may borrow from the function that opened the scope, and all end
//! before it goes on.

mod base;
mod credits;
mod detached;
mod fifo;
mod job;
#[cfg(all(test, loom))]
mod loom;
#[cfg(all(test, not(loom)))]
mod tests;

use std::{fmt, marker::PhantomData, sync::Arc};

use befit_machine::Bytes;

use self::base::Kind;
pub(crate) use self::{
    base::Base,
    credits::HeldCredits,
    detached::{spawn_broadcast_in, spawn_fifo_in, spawn_in},
    fifo::{Fifos, in_place_scope_fifo_in, scope_fifo_on},
};
pub use self::{
    detached::{spawn, spawn_broadcast, spawn_fifo},
    fifo::{ScopeFifo, in_place_scope_fifo, scope_fifo},
};
use crate::{
    broadcast::BroadcastContext,
    pool::{Registry, Worker, current_or_global},
};

/// Where tasks can be spawned that borrow what lives longer than the scope; made by [`scope`].
pub struct Scope<'s> {
    base: Base,
    /// Makes `'s` invariant: spawned closures may borrow for `'s`, no longer and no shorter.
    marker: PhantomData<fn(&'s ()) -> &'s ()>,
}

// SAFETY: the base is a field.
unsafe impl Kind for Scope<'_> {
    fn base(&self) -> &Base {
        &self.base
    }
}

/// Calls `body` with a scope in which it may [spawn](Scope::spawn) tasks, and returns what it
/// returns once all of them have ended.
///
/// Called outside a pool, it runs in the global pool.
///
/// ```
/// let mut squares = vec![0; 8];
/// befit::scope(|s| {
///     for (i, square) in squares.iter_mut().enumerate() {
///         s.spawn(move |_| *square = i * i);
///     }
/// });
/// assert_eq!(squares, [0, 1, 4, 9, 16, 25, 36, 49]);
/// ```
///
/// # Panics
/// If the body or a task panics, the others are run to their end; then the first panic goes on in
/// the caller.
///
/// # What may not be sent
/// ```compile_fail,E0277
/// let shared = std::rc::Rc::new(1);
/// befit::scope(|s| s.spawn(|_| drop(shared.clone())));
/// ```
/// Nor may a task borrow from the body, which may return before it runs:
/// ```compile_fail,E0373
/// befit::scope(|s| {
///     let local = 1;
///     s.spawn(|_| assert_eq!(local, 1));
/// });
/// ```
pub fn scope<'s, F, R>(body: F) -> R
where
    F: FnOnce(&Scope<'s>) -> R + Send,
    R: Send,
{
    current_or_global(|worker| scope_on(worker, body))
}

/// As [`scope`], on a worker.
pub(crate) fn scope_on<'s, R>(worker: &Worker, body: impl FnOnce(&Scope<'s>) -> R) -> R {
    base::run_on(worker, Scope::new, body)
}

/// [`scope`] whose body runs on the calling thread, also outside a pool; only the tasks run in the
/// current pool, or the global one.
///
/// So the body need not be [`Send`]. While a thread outside all pools waits for the tasks it does
/// nothing else.
///
/// ```
/// let words = std::rc::Rc::new(["here", "there"]); // not `Send`
/// let mut lengths = [0; 2];
/// befit::in_place_scope(|s| {
///     for (word, length) in words.iter().zip(&mut lengths) {
///         s.spawn(move |_| *length = word.len());
///     }
/// });
/// assert_eq!(lengths, [4, 5]);
/// ```
/// The tasks run on other threads all the same:
/// ```compile_fail,E0277
/// let words = std::rc::Rc::new(["here", "there"]);
/// befit::in_place_scope(|s| s.spawn(|_| drop(words.clone())));
/// ```
///
/// # Panics
/// As [`scope`].
pub fn in_place_scope<'s, F, R>(body: F) -> R
where
    F: FnOnce(&Scope<'s>) -> R,
{
    Registry::with_current(|registry| in_place_scope_in(registry, body))
}

/// As [`in_place_scope`], in the given pool.
pub(crate) fn in_place_scope_in<'s, R>(
    registry: &Arc<Registry>,
    body: impl FnOnce(&Scope<'s>) -> R,
) -> R {
    base::run_in_place(registry, Scope::new, body)
}

impl<'s> Scope<'s> {
    fn new(base: Base) -> Self {
        Self { base, marker: PhantomData }
    }

    /// Spawns a task into the scope. It may spawn more into the same scope, which it is given.
    ///
    /// A task costs an allocation and a call into the scheduler: prefer [`join`](crate::join) for
    /// small ones.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    ///
    /// let count = AtomicU32::new(0);
    /// befit::scope(|s| {
    ///     s.spawn(|s| {
    ///         count.fetch_add(1, Relaxed);
    ///         s.spawn(|_| { count.fetch_add(1, Relaxed); });
    ///     });
    /// });
    /// assert_eq!(count.into_inner(), 2);
    /// ```
    pub fn spawn<F>(&self, work: F)
    where
        F: FnOnce(&Scope<'s>) + Send + 's,
    {
        self.spawn_sized(None, work);
    }

    /// As [`Self::spawn`], for a task that, with all that it forks, touches `bytes` distinct bytes
    /// (see [`fit`](crate::fit())).
    ///
    /// It is a function of its own, not `spawn(fit(bytes, …))`, because only a closure that is
    /// passed directly can leave the type of its argument out.
    ///
    /// ```
    /// let mut v = vec![1u8; 4096];
    /// befit::scope(|s| {
    ///     for page in v.chunks_mut(1024) {
    ///         s.spawn_fit(page.len(), |_| page.fill(2));
    ///     }
    /// });
    /// assert!(v.iter().all(|b| *b == 2));
    /// ```
    pub fn spawn_fit<F>(&self, bytes: usize, work: F)
    where
        F: FnOnce(&Scope<'s>) + Send + 's,
    {
        self.spawn_sized(Some(Bytes(bytes as u64)), work);
    }

    fn spawn_sized<F>(&self, size: Option<Bytes>, work: F)
    where
        F: FnOnce(&Scope<'s>) + Send + 's,
    {
        // SAFETY: the work borrows for `'s` at least; scopes are waited for by `run`, and this one
        // is open; the job is given away below.
        let job = unsafe { base::task(self, work) };
        self.base.give(job, size);
    }

    /// Spawns a task on every thread of the pool, each of which runs it when it next looks for
    /// work, before the scope ends.
    ///
    /// ```
    /// use std::sync::Mutex;
    ///
    /// let pool = befit::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    /// let threads = Mutex::new(Vec::new());
    /// pool.scope(|s| s.spawn_broadcast(|_, context| threads.lock().unwrap().push(context.index())));
    /// let mut threads = threads.into_inner().unwrap();
    /// threads.sort();
    /// assert_eq!(threads, [0, 1, 2]);
    /// ```
    /// All threads use it at once, so what it uses must be [`Sync`]:
    /// ```compile_fail,E0277
    /// let count = std::cell::Cell::new(0);
    /// befit::scope(|s| s.spawn_broadcast(|_, _| count.set(1)));
    /// ```
    pub fn spawn_broadcast<F>(&self, work: F)
    where
        F: Fn(&Scope<'s>, BroadcastContext<'_>) + Send + Sync + 's,
    {
        // SAFETY: the work borrows for `'s` at least; scopes are waited for by `run`, and this one
        // is open.
        unsafe { base::spawn_broadcast(self, work) };
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("open", &self.base.open()).finish_non_exhaustive()
    }
}
