//! Tasks that nobody waits for, and closures that run on every thread of a pool.
//!
//! The policy decides which thread runs a task; a part of a broadcast goes past it, into its
//! thread's mailbox. A thread reads its mail whenever it looks for work, so also while it waits:
//! broadcasts may be nested, and several may be under way at once.
//!
//! ```
//! // Each thread's share of a pool-wide setting, say.
//! let pool = befit::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
//! let names = pool.broadcast(|c| format!("thread {} of {}", c.index(), c.num_threads()));
//! assert_eq!(names, ["thread 0 of 3", "thread 1 of 3", "thread 2 of 3"]);
//! ```

use std::{
    marker::PhantomData,
    sync::{Arc, Mutex, PoisonError},
};

use super::{Scope, Work};
use crate::backend;

/// Starts `work` in the current pool (outside one: in the global pool) and returns at once.
///
/// A pool that is dropped first runs everything that was spawned in it. Of what threads outside the
/// pool spawn, most schedulers run the oldest first, so that none waits for ever (`docs/rayon.md`
/// names those that do not).
///
/// ```
/// let (sender, receiver) = std::sync::mpsc::channel();
/// befit::spawn(move || sender.send(6 * 7).unwrap());
/// assert_eq!(receiver.recv().unwrap(), 42);
/// ```
///
/// # Panics
/// Nobody is there to take `work`'s panic: it goes to the pool's
/// [`panic_handler`](crate::ThreadPoolBuilder::panic_handler); without one the process aborts.
///
/// # What may not be sent
/// ```compile_fail,E0277
/// let shared = std::rc::Rc::new(1);
/// befit::spawn(move || drop(shared));
/// ```
/// ```compile_fail,E0597
/// let local = 1;
/// befit::spawn(|| drop(&local));
/// ```
pub fn spawn<W>(work: W)
where
    W: Work<Output = ()> + Send + 'static,
{
    backend::with_current(|pool| pool.spawn(work));
}

/// As [`spawn`], but of the tasks that one thread spawns by this function the oldest is started
/// first.
///
/// Tasks of several threads have no order between them; all threads that are none of the pool's
/// count as one.
///
/// ```
/// use std::sync::mpsc;
///
/// let pool = befit::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
/// let (sender, receiver) = mpsc::channel();
/// pool.install(move || {
///     for i in 0..3 {
///         let sender = sender.clone();
///         befit::spawn_fifo(move || sender.send(i).unwrap());
///     }
/// });
/// assert_eq!(receiver.iter().collect::<Vec<_>>(), [0, 1, 2]);
/// ```
///
/// # Panics
/// As [`spawn`].
pub fn spawn_fifo<F>(work: F)
where
    F: FnOnce() + Send + 'static,
{
    backend::with_current(|pool| pool.spawn_fifo(work));
}

/// Starts `work` on every thread of the current pool (outside one: of the global pool) and returns
/// at once. Each thread runs it when it next looks for work.
///
/// ```
/// use std::sync::mpsc;
///
/// let pool = befit::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
/// let (sender, receiver) = mpsc::channel();
/// pool.spawn_broadcast(move |context| sender.send(context.index()).unwrap());
/// assert_eq!(receiver.iter().sum::<usize>(), 1);
/// ```
///
/// # Panics
/// Each thread's panic is treated as [`spawn`]'s.
pub fn spawn_broadcast<F>(work: F)
where
    F: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    backend::with_current(|pool| pool.spawn_broadcast(work));
}

/// Runs `work` once on every thread of the current pool (outside one: of the global pool), and
/// returns its results, in the order of the threads.
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
/// and what it returns must be [`Send`]:
/// ```compile_fail,E0277
/// befit::broadcast(|_| std::rc::Rc::new(1));
/// ```
pub fn broadcast<F, R>(work: F) -> Vec<R>
where
    F: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    backend::with_current(|pool| broadcast_in(pool, work))
}

/// As [`broadcast`], in the given pool.
pub(super) fn broadcast_in<F, R>(pool: &Arc<backend::Registry>, work: F) -> Vec<R>
where
    F: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    let results: Vec<Mutex<Option<R>>> = (0..pool.threads()).map(|_| Mutex::new(None)).collect();
    pool.in_place_scope(|s: &Scope<'_>| {
        backend::unrecorded(|| {
            s.spawn_broadcast(|_, context| {
                let index = context.index();
                let result = work(context);
                let slot = || results[index].lock().unwrap_or_else(PoisonError::into_inner);
                backend::unrecorded(|| *slot() = Some(result));
            });
        });
    });
    let result = |slot: Mutex<Option<R>>| slot.into_inner().unwrap_or_else(PoisonError::into_inner);
    // Had one panicked, so would have the scope.
    results.into_iter().map(|slot| result(slot).expect("every thread has returned")).collect()
}

/// What the closure of a [`broadcast`] is told: which of how many threads it runs on.
///
/// ```
/// let n = befit::current_num_threads();
/// let told = befit::broadcast(|context| (context.index(), context.num_threads()));
/// assert!(told.into_iter().eq((0..n).map(|i| (i, n))));
/// ```
#[derive(Debug)]
pub struct BroadcastContext<'a> {
    index: usize,
    num_threads: usize,
    /// It describes the thread that it was made on, so it stays there, and for one call.
    not_send: PhantomData<(&'a (), *const ())>,
}

impl BroadcastContext<'_> {
    pub(crate) fn new(index: usize, num_threads: usize) -> Self {
        Self { index, num_threads, not_send: PhantomData }
    }

    /// Which thread of the pool this is, from 0; what
    /// [`current_thread_index`](crate::current_thread_index) returns.
    #[inline]
    pub fn index(&self) -> usize {
        self.index
    }

    /// The number of threads of the pool.
    #[inline]
    pub fn num_threads(&self) -> usize {
        self.num_threads
    }
}
