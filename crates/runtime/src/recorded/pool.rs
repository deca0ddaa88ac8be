//! Pools without threads: they know what they were built with, and run all on the calling thread.

use std::{
    any::Any,
    cell::{Cell, RefCell},
    fmt,
    sync::{Arc, OnceLock},
};

use befit_machine::Machine;
use befit_record::inside;
use befit_sched::{SchedulerKind, Tiers};

use super::{BroadcastContext, Scope, ScopeFifo, ThreadPoolBuilder, declared};
use crate::{JoinThreadsError, Statistics, Work, WorkerStatistics, Yield};

pub(super) type PanicHandler = Box<dyn Fn(Box<dyn Any + Send>) + Send + Sync>;

static GLOBAL: OnceLock<ThreadPool> = OnceLock::new();

thread_local! {
    /// The pools that this thread runs in, the innermost last.
    static CURRENT: RefCell<Vec<Arc<Inner>>> = const { RefCell::new(Vec::new()) };
    /// Which thread of a pool this one stands for: another than 0 in a broadcast.
    static INDEX: Cell<usize> = const { Cell::new(0) };
}

struct Inner {
    threads: usize,
    scheduler: SchedulerKind,
    machine: Machine,
    panic_handler: Option<PanicHandler>,
}

/// What stands for a pool of threads; made by [`ThreadPoolBuilder`].
pub struct ThreadPool(Arc<Inner>);

/// Answers from the pool that this thread runs in, or the global one; not recorded.
pub(super) fn with_current<R>(f: impl FnOnce(&ThreadPool) -> R) -> R {
    inside::unrecorded(|| {
        let current = CURRENT.with_borrow(|pools| pools.last().cloned());
        match current {
            Some(inner) => f(&ThreadPool(inner)),
            None => f(GLOBAL.get_or_init(|| {
                ThreadPoolBuilder::new().build().expect("the global thread pool can be built")
            })),
        }
    })
}

/// The number of threads that the pool was built for that the caller runs in; outside one: the
/// global pool.
pub fn current_num_threads() -> usize {
    with_current(ThreadPool::current_num_threads)
}

/// Calls `f` with the machine of the pool that the caller runs in; outside one: of the global pool.
pub fn with_current_machine<R>(f: impl FnOnce(&Machine) -> R) -> R {
    with_current(|pool| f(pool.machine()))
}

/// 0 in a pool, but in a broadcast the thread that it stands for; `None` outside a pool.
pub fn current_thread_index() -> Option<usize> {
    inside::in_region().then(|| inside::unrecorded(|| INDEX.get()))
}

/// The most threads that a pool can be built for.
pub fn max_num_threads() -> usize {
    u16::MAX.into()
}

/// Calls `f` as thread `index`.
pub(super) fn as_thread<R>(index: usize, f: impl FnOnce() -> R) -> R {
    struct Before(usize);
    impl Drop for Before {
        fn drop(&mut self) {
            inside::unrecorded(|| INDEX.set(self.0));
        }
    }
    let _before = Before(inside::unrecorded(|| INDEX.replace(index)));
    f()
}

/// The thread has left the pool, also by a panic.
struct Left;

impl Drop for Left {
    fn drop(&mut self) {
        inside::unrecorded(|| drop(CURRENT.with_borrow_mut(Vec::pop)));
    }
}

impl ThreadPool {
    pub(super) fn new(
        threads: usize,
        scheduler: SchedulerKind,
        machine: Machine,
        panic_handler: Option<PanicHandler>,
    ) -> Self {
        Self(Arc::new(Inner { threads, scheduler, machine, panic_handler }))
    }

    /// Gives the pool back if there is a global one already.
    pub(super) fn make_global(pool: Self) -> Result<(), Self> {
        GLOBAL.set(pool)
    }

    /// A detached task has panicked.
    pub(super) fn detached_panic(&self, panic: Box<dyn Any + Send>) {
        match &self.0.panic_handler {
            Some(handler) => handler(panic),
            None => {
                eprintln!(
                    "befit: a spawned task panicked, and the pool has no panic_handler; aborting"
                );
                std::process::abort();
            }
        }
    }

    /// Runs `f` with this as the current pool.
    fn enter<R>(&self, f: impl FnOnce() -> R) -> R {
        inside::unrecorded(|| CURRENT.with_borrow_mut(|pools| pools.push(Arc::clone(&self.0))));
        let _left = Left;
        f()
    }

    /// Runs `work` and returns its result; records it, unless the thread is being recorded already.
    pub fn install<W>(&self, work: W) -> W::Output
    where
        W: Work + Send,
        W::Output: Send,
    {
        self.enter(|| inside::region(declared(&work), || work.run()))
    }

    /// [`join`](crate::join) in this pool.
    pub fn join<A, B>(&self, a: A, b: B) -> (A::Output, B::Output)
    where
        A: Work + Send,
        B: Work + Send,
        A::Output: Send,
        B::Output: Send,
    {
        self.enter(|| super::join(a, b))
    }

    /// [`scope`](crate::scope()) in this pool.
    pub fn scope<'s, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&Scope<'s>) -> R + Send,
        R: Send,
    {
        self.enter(|| super::scope(body))
    }

    /// [`spawn`](crate::spawn()) in this pool.
    pub fn spawn<W>(&self, work: W)
    where
        W: Work<Output = ()> + Send + 'static,
    {
        self.enter(|| super::spawn(work));
    }

    /// [`scope_fifo`](crate::scope_fifo()) in this pool.
    pub fn scope_fifo<'s, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&ScopeFifo<'s>) -> R + Send,
        R: Send,
    {
        self.enter(|| super::scope_fifo(body))
    }

    /// [`in_place_scope`](crate::in_place_scope()) in this pool.
    pub fn in_place_scope<'s, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&Scope<'s>) -> R,
    {
        self.enter(|| super::in_place_scope(body))
    }

    /// [`in_place_scope_fifo`](crate::in_place_scope_fifo()) in this pool.
    pub fn in_place_scope_fifo<'s, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&ScopeFifo<'s>) -> R,
    {
        self.enter(|| super::in_place_scope_fifo(body))
    }

    /// [`spawn_fifo`](crate::spawn_fifo()) in this pool.
    pub fn spawn_fifo<F>(&self, work: F)
    where
        F: FnOnce() + Send + 'static,
    {
        self.enter(|| super::spawn_fifo(work));
    }

    /// [`broadcast`](crate::broadcast()) in this pool.
    pub fn broadcast<F, R>(&self, work: F) -> Vec<R>
    where
        F: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        self.enter(|| super::broadcast(work))
    }

    /// [`spawn_broadcast`](crate::spawn_broadcast()) in this pool.
    pub fn spawn_broadcast<F>(&self, work: F)
    where
        F: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        self.enter(|| super::spawn_broadcast(work));
    }

    /// Finds nothing; `None` if the caller does not run in this pool.
    pub fn yield_now(&self) -> Option<Yield> {
        self.current_thread_index().map(|_| Yield::Idle)
    }

    /// Finds nothing; `None` if the caller does not run in this pool.
    pub fn yield_local(&self) -> Option<Yield> {
        self.yield_now()
    }

    /// No; `None` if the caller does not run in this pool.
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        self.current_thread_index().map(|_| false)
    }

    /// Has nothing to wait for.
    ///
    /// # Errors
    /// [`JoinThreadsError::InsidePool`], if the caller runs in this pool.
    pub fn join_threads(self) -> Result<(), JoinThreadsError> {
        match self.current_thread_index() {
            Some(index) => Err(JoinThreadsError::InsidePool { index }),
            None => Ok(()),
        }
    }

    /// Has nothing to let go.
    pub fn detach(self) {}

    /// The number of threads that it was built for.
    pub fn current_num_threads(&self) -> usize {
        self.0.threads
    }

    /// 0 if the caller runs in this pool, else `None`.
    pub fn current_thread_index(&self) -> Option<usize> {
        inside::unrecorded(|| {
            let own =
                |pools: &Vec<_>| pools.last().is_some_and(|inner| Arc::ptr_eq(inner, &self.0));
            CURRENT.with_borrow(own).then(|| INDEX.get())
        })
    }

    /// The scheduler that it was built with.
    pub fn scheduler(&self) -> SchedulerKind {
        self.0.scheduler
    }

    /// The machine that it was built for.
    pub fn machine(&self) -> &Machine {
        &self.0.machine
    }

    /// No.
    pub fn is_pinned(&self) -> bool {
        false
    }

    /// None: a recorded program has no scheduler.
    pub fn tiers(&self) -> Option<Tiers> {
        None
    }

    /// Zeros.
    pub fn statistics(&self) -> Statistics {
        let workers = vec![WorkerStatistics::default(); self.0.threads];
        Statistics {
            workers,
            anchors: vec![0; self.0.machine.clusters().len()],
            ..Statistics::default()
        }
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool").field("threads", &self.0.threads).finish_non_exhaustive()
    }
}
