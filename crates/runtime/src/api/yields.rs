//! Giving way: user code that waits for something lets its thread run other tasks meanwhile.

use crate::backend::{self, Worker};

/// What [`yield_now`](crate::yield_now) and [`yield_local`](crate::yield_local) found.
///
/// ```
/// /// Waits until `is_over`, and helps meanwhile.
/// fn wait_until(is_over: impl Fn() -> bool) {
///     while !is_over() {
///         if befit::yield_now() != Some(befit::Yield::Executed) {
///             std::thread::yield_now();
///         }
///     }
/// }
/// let (sender, receiver) = std::sync::mpsc::channel();
/// befit::spawn(move || sender.send(1).unwrap());
/// wait_until(|| receiver.try_recv().is_ok());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Yield {
    /// A task, which has been run.
    Executed,
    /// Nothing.
    Idle,
}

/// Runs one task of the calling thread's pool, if one is ready. `None` outside a pool.
///
/// It is for code that waits for something in a loop: a task that it waits for may be one that only
/// its own thread can run. It does not block, and does not give up the processor: where it returns
/// [`Yield::Idle`] time and again, [`std::thread::yield_now`] or sleep is in order.
///
/// The second half of a [`join`](crate::join()) may be such a task, but need not: a fork that is
/// not worth its price is two calls. So the first half must not wait for the second, not even in
/// this way.
///
/// The task runs on top of the caller's stack, and may be any, also one that takes long, or that
/// needs a lock which the caller holds.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
///
/// let pool = befit::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
/// let done = AtomicBool::new(false);
/// pool.scope(|s| {
///     s.spawn(|_| done.store(true, Relaxed));
///     while !done.load(Relaxed) {
///         befit::yield_now();
///     }
/// });
/// assert_eq!(befit::yield_now(), None);
/// ```
pub fn yield_now() -> Option<Yield> {
    backend::this_worker(None, |worker| worker.run_one(false))
}

/// As [`yield_now`], but takes only what the calling thread has at hand: its own forks and what it
/// spawned, and what is sent to it by a [broadcast](crate::broadcast()); it steals nothing.
///
/// Under a scheduler whose queues belong to caches (`sb`, `sb-d`) what is at hand is what waits in
/// the queues of the caches above the thread.
///
/// ```
/// let pool = befit::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
/// let run = pool.install(|| {
///     befit::spawn(|| ());
///     (befit::yield_local(), befit::yield_local())
/// });
/// assert_eq!(run, (Some(befit::Yield::Executed), Some(befit::Yield::Idle)));
/// ```
pub fn yield_local() -> Option<Yield> {
    backend::this_worker(None, |worker| worker.run_one(true))
}

/// Whether the calling thread has work at hand that waits, as [`yield_local`] would find it; `None`
/// outside a pool.
///
/// It is a hint for code that chooses whether to fork: others may take the work at any moment.
///
/// ```
/// let pool = befit::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
/// let pending = || befit::current_thread_has_pending_tasks();
/// pool.scope(|s| {
///     assert_eq!(pending(), Some(false));
///     s.spawn(|_| ());
///     assert_eq!(pending(), Some(true));
/// });
/// assert_eq!(pending(), None);
/// ```
pub fn current_thread_has_pending_tasks() -> Option<bool> {
    backend::this_worker(None, Worker::has_own_work)
}
