//! Pools of threads, and the threads themselves.

mod builder;
mod pin;
mod registry;
#[cfg(all(test, not(loom)))]
mod tests;
mod worker;

use std::{
    fmt,
    sync::{Arc, OnceLock},
    thread::JoinHandle,
};

use befit_machine::{Bytes, Machine};
use befit_sched::{SchedulerKind, Task};

pub use self::builder::ThreadPoolBuilder;
pub(crate) use self::{registry::Registry, worker::Worker};
use crate::{
    fit::Work,
    fork::join_on,
    scope::{Scope, scope_on, spawn_in},
    stats::Statistics,
};

/// The pool of who has none; never dropped.
static GLOBAL: OnceLock<ThreadPool> = OnceLock::new();

/// The global pool; built if there is none.
#[cold]
pub(crate) fn global() -> &'static Arc<Registry> {
    let build = || match ThreadPoolBuilder::new().build() {
        Ok(pool) => pool,
        // `join` has no other way to say it. A program that wants to handle it calls `build_global` first.
        Err(error) => panic!("the global thread pool cannot be built: {error}"),
    };
    &GLOBAL.get_or_init(build).registry
}

/// The number of threads of the pool that the caller runs in; outside one: of the global pool.
///
/// ```
/// let pool = befit::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
/// assert_eq!(pool.install(befit::current_num_threads), 2);
/// ```
pub fn current_num_threads() -> usize {
    Worker::with_current(|worker| match worker {
        Some(worker) => worker.registry().engine().threads(),
        None => global().engine().threads(),
    })
}

/// Which thread of its pool the caller is, from 0; `None` outside a pool.
///
/// ```
/// assert_eq!(befit::current_thread_index(), None);
/// let pool = befit::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
/// assert_eq!(pool.install(befit::current_thread_index), Some(0));
/// ```
pub fn current_thread_index() -> Option<usize> {
    Worker::with_current(|worker| worker.map(Worker::thread))
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
/// Dropping a pool waits until everything that was [spawned](Self::spawn) in it has run and its threads have ended.
/// There are two exceptions to "waits": the global pool is never dropped, and a pool that is dropped by one of its own
/// threads ends behind the back of that thread.
pub struct ThreadPool {
    registry: Arc<Registry>,
    threads: Vec<JoinHandle<()>>,
}

impl ThreadPool {
    /// Runs `work` in this pool and returns its result. `join`, `scope` and `spawn` inside it use this pool.
    ///
    /// Blocks the calling thread; a thread of another pool runs that pool's work meanwhile. A thread of this pool just
    /// calls `work`.
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
        let bytes = |n: usize| Bytes(n as u64);
        let root = Task::root(work.size().map(bytes), work.strand().map(bytes));
        self.registry.install(root, |_| work.run())
    }

    /// [`join`](crate::join) in this pool.
    pub fn join<A, B>(&self, a: A, b: B) -> (A::Output, B::Output)
    where
        A: Work + Send,
        B: Work + Send,
        A::Output: Send,
        B::Output: Send,
    {
        self.registry.install(Task::root(None, None), |worker| join_on(worker, a, b))
    }

    /// [`scope`](crate::scope()) in this pool.
    pub fn scope<'s, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&Scope<'s>) -> R + Send,
        R: Send,
    {
        self.registry.install(Task::root(None, None), |worker| scope_on(worker, body))
    }

    /// [`spawn`](crate::spawn()) in this pool.
    pub fn spawn<W>(&self, work: W)
    where
        W: Work<Output = ()> + Send + 'static,
    {
        spawn_in(&self.registry, work);
    }

    /// The number of its threads.
    pub fn current_num_threads(&self) -> usize {
        self.registry.engine().threads()
    }

    /// Which of its threads the caller is, from 0; `None` if it is none of them.
    pub fn current_thread_index(&self) -> Option<usize> {
        Worker::with_current(|worker| {
            worker.filter(|worker| Arc::ptr_eq(worker.registry(), &self.registry)).map(Worker::thread)
        })
    }

    /// Its scheduler.
    pub fn scheduler(&self) -> SchedulerKind {
        self.registry.engine().kind()
    }

    /// The machine that its scheduler schedules on.
    pub fn machine(&self) -> &Machine {
        self.registry.engine().machine()
    }

    /// Whether its threads are pinned to CPUs.
    pub fn is_pinned(&self) -> bool {
        self.registry.claim().is_some()
    }

    /// What its workers have counted so far.
    pub fn statistics(&self) -> Statistics {
        self.registry.statistics()
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.registry.release();
        let own = Worker::with_current(|worker| match worker {
            Some(worker) if Arc::ptr_eq(worker.registry(), &self.registry) => true,
            Some(worker) => {
                // Its last jobs may need this worker's pool.
                self.registry.wait_for_end(worker);
                false
            }
            None => false,
        });
        if !own {
            for thread in self.threads.drain(..) {
                // Threads of a pool do not panic: they abort.
                let _ = thread.join();
            }
        }
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ThreadPool").field(&self.registry).finish()
    }
}
