//! [`ThreadPool`], and what can be asked of the pool that the caller runs in.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use befit_machine::Machine;
use befit_sched::{SchedulerKind, Tiers};

use super::{
    BroadcastContext, JoinThreadsError, Scope, ScopeFifo, ThreadPoolBuildError, ThreadPoolBuilder,
    Work, Yield, scope, scope_fifo, spawn::broadcast_in,
};
use crate::{
    Statistics,
    backend::{self, Worker},
};

/// The pool for callers outside all pools; never dropped.
static GLOBAL: OnceLock<ThreadPool> = OnceLock::new();

/// The global pool; built if there is none.
#[cold]
pub(crate) fn global() -> &'static Arc<backend::Registry> {
    let build = || match ThreadPoolBuilder::new().build() {
        Ok(pool) => pool,
        // `join` has no other way to say it. A program that wants to handle it calls `build_global`
        // first.
        Err(error) => panic!("the global thread pool cannot be built: {error}"),
    };
    GLOBAL.get_or_init(build).pool()
}

/// Makes the pool that `build` returns the global one, and then the calling thread its thread 0, if
/// that was asked for.
///
/// Nothing is locked while it is built: functions of the program are called, and may wait for
/// threads that use the global pool. So another pool may become the global one meanwhile.
pub(super) fn make_global(
    build: impl FnOnce() -> Result<ThreadPool, ThreadPoolBuildError>,
) -> Result<(), ThreadPoolBuildError> {
    if GLOBAL.get().is_some() {
        return Err(ThreadPoolBuildError::GlobalPoolExists);
    }
    GLOBAL.set(build()?).map_err(|_| ThreadPoolBuildError::GlobalPoolExists)?;
    GLOBAL.wait().handle.adopt_this_thread();
    Ok(())
}

/// Calls `f` with the machine of the pool that the caller runs in; outside one: of the global pool.
///
/// ```
/// let machine: befit::Machine = "pack:2 l3:1(size=8MiB) core:4 pu:1".parse().unwrap();
/// let pool = befit::ThreadPoolBuilder::new().machine(machine).build().unwrap();
/// let workers = pool.install(|| befit::with_current_machine(|machine| machine.workers().len()));
/// assert_eq!(workers, 8);
/// ```
pub fn with_current_machine<R>(f: impl FnOnce(&Machine) -> R) -> R {
    backend::unrecorded(|| backend::with_current(|pool| f(pool.machine())))
}

/// The most threads that a pool can have.
///
/// ```
/// assert!(befit::max_num_threads() >= 1024);
/// ```
pub fn max_num_threads() -> usize {
    // Far more than machines have; a builder that is asked for more by mistake must not exhaust
    // memory.
    u16::MAX.into()
}

/// The number of threads of the pool that the caller runs in; outside one: of the global pool.
///
/// ```
/// let pool = befit::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
/// assert_eq!(pool.install(befit::current_num_threads), 2);
/// ```
pub fn current_num_threads() -> usize {
    backend::unrecorded(|| backend::with_current(|pool| pool.threads()))
}

/// Which thread of its pool the caller is, from 0; `None` outside a pool.
///
/// ```
/// assert_eq!(befit::current_thread_index(), None);
/// let pool = befit::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
/// assert_eq!(pool.install(befit::current_thread_index), Some(0));
/// ```
pub fn current_thread_index() -> Option<usize> {
    backend::this_worker(None, Worker::thread)
}

/// Threads that run fork-join programs under one scheduler.
///
/// Made by [`ThreadPoolBuilder`]. Most programs need none of their own: they use the global pool.
///
/// ```
/// use befit::{SchedulerKind, ThreadPoolBuilder, fit, join};
///
/// // Space-bounded scheduling on the caches of this machine.
/// let pool = ThreadPoolBuilder::new().scheduler(SchedulerKind::Sb).build().unwrap();
/// let (a, b) = pool.install(|| join(fit(8 << 20, || 1), fit(8 << 20, || 2)));
/// assert_eq!((a, b), (1, 2));
/// ```
///
/// # Dropping
/// Dropping a pool waits until everything that was [spawned](Self::spawn) in it has run and its
/// threads have ended; a thread of another pool runs that pool's work meanwhile.
/// [`Self::join_threads`] does the same, and says so. There are two exceptions to "waits": the
/// global pool is never dropped, and a pool that is dropped by one of its own threads ends behind
/// the back of that thread.
pub struct ThreadPool {
    pub(super) handle: backend::Handle,
}

impl ThreadPool {
    pub(crate) fn pool(&self) -> &Arc<backend::Registry> {
        self.handle.pool()
    }

    /// Runs `work` in this pool and returns its result. `join`, `scope` and `spawn` inside it use
    /// this pool.
    ///
    /// Blocks the calling thread; a thread of another pool runs that pool's work meanwhile. A
    /// thread of this pool just calls `work`.
    ///
    /// # Panics
    /// If `work` panics.
    ///
    /// ```compile_fail,E0277
    /// // It runs on another thread, so it must be `Send`.
    /// let pool = befit::ThreadPoolBuilder::new().build().unwrap();
    /// let shared = std::rc::Rc::new(1);
    /// pool.install(|| drop(shared.clone()));
    /// ```
    pub fn install<W>(&self, work: W) -> W::Output
    where
        W: Work + Send,
        W::Output: Send,
    {
        self.pool().run(work)
    }

    /// [`join`](crate::join) in this pool.
    pub fn join<A, B>(&self, a: A, b: B) -> (A::Output, B::Output)
    where
        A: Work + Send,
        B: Work + Send,
        A::Output: Send,
        B::Output: Send,
    {
        self.pool().run(|| backend::join_at_length(a, b))
    }

    /// [`scope`](crate::scope()) in this pool.
    pub fn scope<'s, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&Scope<'s>) -> R + Send,
        R: Send,
    {
        self.pool().run(|| scope(body))
    }

    /// [`spawn`](crate::spawn()) in this pool.
    pub fn spawn<W>(&self, work: W)
    where
        W: Work<Output = ()> + Send + 'static,
    {
        self.pool().spawn(work);
    }

    /// [`scope_fifo`](crate::scope_fifo()) in this pool.
    ///
    /// ```
    /// let pool = befit::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// let mut squares = [1, 2, 3];
    /// pool.scope_fifo(|s| squares.iter_mut().for_each(|x| s.spawn_fifo(|_| *x *= *x)));
    /// assert_eq!(squares, [1, 4, 9]);
    /// ```
    pub fn scope_fifo<'s, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&ScopeFifo<'s>) -> R + Send,
        R: Send,
    {
        self.pool().run(|| scope_fifo(body))
    }

    /// [`in_place_scope`](crate::in_place_scope()) whose tasks run in this pool.
    ///
    /// ```
    /// let pool = befit::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// let mut place = None;
    /// pool.in_place_scope(|s| {
    ///     assert_eq!(pool.current_thread_index(), None); // the caller, which is outside
    ///     s.spawn(|_| place = pool.current_thread_index());
    /// });
    /// assert!(place.is_some());
    /// ```
    pub fn in_place_scope<'s, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&Scope<'s>) -> R,
    {
        self.pool().in_place_scope(body)
    }

    /// [`in_place_scope_fifo`](crate::in_place_scope_fifo()) whose tasks run in this pool.
    ///
    /// ```
    /// let pool = befit::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// let mut place = None;
    /// pool.in_place_scope_fifo(|s| s.spawn_fifo(|_| place = pool.current_thread_index()));
    /// assert!(place.is_some());
    /// ```
    pub fn in_place_scope_fifo<'s, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&ScopeFifo<'s>) -> R,
    {
        self.pool().in_place_scope(body)
    }

    /// [`spawn_fifo`](crate::spawn_fifo()) in this pool.
    ///
    /// ```
    /// let pool = befit::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// pool.spawn_fifo(move || sender.send(befit::current_num_threads()).unwrap());
    /// assert_eq!(receiver.recv(), Ok(2));
    /// ```
    pub fn spawn_fifo<F>(&self, work: F)
    where
        F: FnOnce() + Send + 'static,
    {
        self.pool().spawn_fifo(work);
    }

    /// [`broadcast`](crate::broadcast()) in this pool.
    ///
    /// ```
    /// let pool = befit::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// assert_eq!(pool.broadcast(|context| 10 * context.index()), [0, 10]);
    /// ```
    pub fn broadcast<F, R>(&self, work: F) -> Vec<R>
    where
        F: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        broadcast_in(self.pool(), work)
    }

    /// [`spawn_broadcast`](crate::spawn_broadcast()) in this pool.
    ///
    /// ```
    /// let pool = befit::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// pool.spawn_broadcast(move |context| sender.send(context.num_threads()).unwrap());
    /// assert_eq!(receiver.iter().collect::<Vec<_>>(), [2, 2]);
    /// ```
    pub fn spawn_broadcast<F>(&self, work: F)
    where
        F: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        self.pool().spawn_broadcast(work);
    }

    /// [`yield_now`](crate::yield_now); `None` if the caller is no thread of this pool.
    ///
    /// ```
    /// let pool = befit::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// assert_eq!((pool.yield_now(), pool.current_thread_has_pending_tasks()), (None, None));
    /// let inside = pool.install(|| (pool.yield_now(), pool.current_thread_has_pending_tasks()));
    /// assert_eq!(inside, (Some(befit::Yield::Idle), Some(false)));
    /// assert_eq!((pool.yield_local(), pool.install(|| pool.yield_local())), (None, inside.0));
    /// ```
    pub fn yield_now(&self) -> Option<Yield> {
        self.own_worker(|worker| worker.run_one(false))
    }

    /// [`yield_local`](crate::yield_local); `None` if the caller is no thread of this pool.
    pub fn yield_local(&self) -> Option<Yield> {
        self.own_worker(|worker| worker.run_one(true))
    }

    /// [`current_thread_has_pending_tasks`](crate::current_thread_has_pending_tasks); `None` if the
    /// caller is no thread of this pool.
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        self.own_worker(Worker::has_own_work)
    }

    /// The number of its threads.
    pub fn current_num_threads(&self) -> usize {
        self.pool().threads()
    }

    /// Which of its threads the caller is, from 0; `None` if it is none of them.
    pub fn current_thread_index(&self) -> Option<usize> {
        self.own_worker(Worker::thread)
    }

    /// Its scheduler, one of the built-in ones.
    ///
    /// # Panics
    /// Where the pool runs a policy of the program's own ([`ThreadPoolBuilder::policy`]).
    pub fn scheduler(&self) -> SchedulerKind {
        self.pool().scheduler().expect("the pool runs a built-in policy")
    }

    /// The machine that its scheduler schedules on.
    pub fn machine(&self) -> &Machine {
        self.pool().machine()
    }

    /// Whether its threads are pinned to CPUs.
    pub fn is_pinned(&self) -> bool {
        self.pool().is_pinned()
    }

    /// What its workers have counted so far.
    pub fn statistics(&self) -> Statistics {
        self.pool().statistics()
    }

    /// How its scheduler has cut the program in two tiers, if it does such a thing.
    pub fn tiers(&self) -> Option<Tiers> {
        self.pool().tiers()
    }

    /// Ends the pool and waits, as dropping it does: until everything that was
    /// [spawned](Self::spawn) in it has run, and its threads have ended.
    ///
    /// ```
    /// let pool = befit::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// pool.spawn(move || sender.send("done").unwrap());
    /// pool.join_threads().unwrap();
    /// assert_eq!(receiver.try_recv(), Ok("done"));
    /// ```
    ///
    /// # Errors
    /// [`JoinThreadsError::InsidePool`], at once: the calling thread is one of the pool's, and
    /// would wait for its own end. The pool then ends by itself, when nothing is left to run. (Not
    /// so for the thread that was given to it by
    /// [`use_current_thread`](ThreadPoolBuilder::use_current_thread), unless it is running one of
    /// the pool's tasks: it runs what is left, and waits for the other threads.)
    pub fn join_threads(mut self) -> Result<(), JoinThreadsError> {
        self.handle.end()
    }

    /// Ends the pool without waiting: its threads end when everything that was
    /// [spawned](Self::spawn) in it has run.
    ///
    /// ```
    /// let pool = befit::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let (finished, finish) = std::sync::mpsc::channel();
    /// pool.spawn(move || sender.send(finish.recv().unwrap()).unwrap());
    /// pool.detach();
    /// finished.send(1).unwrap();
    /// assert_eq!(receiver.recv(), Ok(1));
    /// ```
    pub fn detach(mut self) {
        self.handle.detach();
    }

    /// Calls `f` with the worker that the calling thread is, if it is one of this pool's.
    fn own_worker<R>(&self, f: impl FnOnce(&Worker) -> R) -> Option<R> {
        backend::this_worker(Some(self.pool()), f)
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ThreadPool").field(self.pool()).finish()
    }
}
