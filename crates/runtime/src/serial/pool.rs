//! Pools without threads: they know what they were built with, and run all on the calling thread.

use std::{
    any::Any,
    cell::{Cell, RefCell},
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use befit_machine::Machine;
use befit_record::inside;
use befit_sched::{Options, Policy, SchedulerKind, Tiers};

use super::{in_region, origin, origin_of, region};
use crate::{
    BroadcastContext, JoinThreadsError, SpawnThread, Statistics, ThreadPoolBuildError, Work,
    WorkerStatistics, Yield,
    api::{Decided, Settings, builder::PanicHandler, global},
};

thread_local! {
    /// The pools that this thread runs in, the innermost last.
    static CURRENT: RefCell<Vec<Arc<Registry>>> = const { RefCell::new(Vec::new()) };
    /// Which thread of a pool this one stands for: another than 0 in a broadcast.
    static INDEX: Cell<usize> = const { Cell::new(0) };
}

/// A [`Policy`] whose type has been forgotten; it is not asked for anything.
pub(crate) trait AnyPolicy: fmt::Debug {
    fn minds_places(&self) -> bool;
}

impl<P: Policy> AnyPolicy for P {
    fn minds_places(&self) -> bool {
        Policy::minds_places(self)
    }
}

/// What a pool was built with.
pub(crate) struct Registry {
    threads: usize,
    scheduler: SchedulerKind,
    machine: Machine,
    panic_handler: Option<PanicHandler>,
}

/// What a [`ThreadPool`](crate::ThreadPool) holds.
pub(crate) struct Handle(Arc<Registry>);

impl Handle {
    /// Builds a pool; no thread is started.
    pub(crate) fn build(
        decided: Decided,
        settings: Settings,
        _: impl SpawnThread,
    ) -> Result<Self, ThreadPoolBuildError> {
        let Decided { scheduler, machine, threads, .. } = decided;
        // Read now, not while something is recorded.
        let machine = machine.get().clone();
        let panic_handler = settings.handlers.panic;
        Ok(Self(Arc::new(Registry { threads, scheduler, machine, panic_handler })))
    }

    /// There is no thread to be one of.
    pub(crate) fn adopt_this_thread(&self) {}

    pub(crate) fn pool(&self) -> &Arc<Registry> {
        &self.0
    }

    /// There is nothing to wait for.
    pub(crate) fn end(&mut self) -> Result<(), JoinThreadsError> {
        match this_worker(Some(&self.0), Worker::thread) {
            Some(index) => Err(JoinThreadsError::InsidePool { index }),
            None => Ok(()),
        }
    }

    /// There is nothing to let go.
    pub(crate) fn detach(&mut self) {}
}

/// The start of a pool's thread: there is none.
pub(crate) enum Start {}

impl Start {
    pub(crate) fn run(self, _: usize, _: Option<usize>) {
        match self {}
    }
}

/// The calling thread, in a pool: all that was spawned has run already.
pub(crate) struct Worker;

impl Worker {
    /// 0, but in a broadcast the thread that it stands for.
    pub(crate) fn thread(&self) -> usize {
        INDEX.get()
    }

    pub(crate) fn run_one(&self, _: bool) -> Yield {
        Yield::Idle
    }

    pub(crate) fn has_own_work(&self) -> bool {
        false
    }
}

/// Calls `f` if the calling thread is in a pool, in `pool` if that is given; not recorded.
pub(crate) fn this_worker<R>(
    pool: Option<&Arc<Registry>>,
    f: impl FnOnce(&Worker) -> R,
) -> Option<R> {
    inside::unrecorded(|| {
        let is_here = match pool {
            None => inside::in_region(),
            Some(pool) => CURRENT
                .with_borrow(|pools| pools.last().is_some_and(|last| Arc::ptr_eq(last, pool))),
        };
        is_here.then(|| f(&Worker))
    })
}

/// Calls `f` with the pool that this thread runs in, or the global one.
pub(crate) fn with_current<R>(f: impl FnOnce(&Arc<Registry>) -> R) -> R {
    let pool = inside::unrecorded(|| {
        let current = CURRENT.with_borrow(|pools| pools.last().cloned());
        current.unwrap_or_else(|| Arc::clone(global()))
    });
    let result = f(&pool);
    inside::unrecorded(|| drop(pool));
    result
}

/// Calls `f` as thread `index`.
fn as_thread<R>(index: usize, f: impl FnOnce() -> R) -> R {
    struct Before(usize);
    impl Drop for Before {
        fn drop(&mut self) {
            inside::unrecorded(|| INDEX.set(self.0));
        }
    }
    let _before = Before(inside::unrecorded(|| INDEX.replace(index)));
    f()
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("threads", &self.threads).finish_non_exhaustive()
    }
}

impl Registry {
    /// Runs `f` with this as the current pool.
    pub(super) fn enter<R>(self: &Arc<Self>, f: impl FnOnce() -> R) -> R {
        /// The thread has left the pool, also by a panic.
        struct Left;
        impl Drop for Left {
            fn drop(&mut self) {
                inside::unrecorded(|| drop(CURRENT.with_borrow_mut(Vec::pop)));
            }
        }
        inside::unrecorded(|| CURRENT.with_borrow_mut(|pools| pools.push(Arc::clone(self))));
        let _left = Left;
        f()
    }

    /// Runs `work` and returns its result; records it, unless the thread is being recorded already.
    pub(crate) fn run<W: Work>(self: &Arc<Self>, work: W) -> W::Output {
        let origin = inside::unrecorded(|| origin(&work, 0));
        self.enter(|| region(origin, || work.run()))
    }

    /// Runs `work` at once, as a child that only the end of the program waits for.
    pub(crate) fn spawn<W: Work<Output = ()>>(self: &Arc<Self>, work: W) {
        self.enter(|| {
            in_region(|| {
                let origin = inside::unrecorded(|| origin(&work, 0));
                self.catch(|| inside::detached(origin, || work.run()));
            });
        });
    }

    /// As [`Self::spawn`]: what runs at once runs in order.
    pub(crate) fn spawn_fifo(self: &Arc<Self>, work: impl FnOnce()) {
        self.spawn(work);
    }

    /// As [`Self::spawn`], once for each thread that the pool was built for.
    pub(crate) fn spawn_broadcast(self: &Arc<Self>, work: impl Fn(BroadcastContext<'_>)) {
        self.enter(|| {
            in_region(|| {
                let origin = inside::unrecorded(|| origin_of(&work, 0));
                self.on_every_thread(|context| {
                    self.catch(|| inside::detached(origin, || work(context)));
                });
            });
        });
    }

    /// Calls `f` once as each thread that the pool was built for.
    pub(super) fn on_every_thread(&self, f: impl Fn(BroadcastContext<'_>)) {
        let threads = inside::unrecorded(|| self.threads());
        for index in 0..threads {
            as_thread(index, || f(BroadcastContext::new(index, threads)));
        }
    }

    /// Runs a detached task.
    fn catch(&self, task: impl FnOnce()) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(task)) {
            inside::unrecorded(|| self.detached_panic(panic));
        }
    }

    fn detached_panic(&self, panic: Box<dyn Any + Send>) {
        let Some(handler) = &self.panic_handler else {
            eprintln!(
                "befit: a detached job panicked, and its pool has no panic handler; aborting"
            );
            std::process::abort();
        };
        handler(panic);
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    pub(crate) fn scheduler(&self) -> Option<SchedulerKind> {
        Some(self.scheduler)
    }

    pub(crate) fn scheduler_name(&self) -> &'static str {
        self.scheduler.name()
    }

    pub(crate) fn policy_name(&self) -> &'static str {
        self.scheduler_name()
    }

    pub(crate) fn options(&self) -> Options {
        Options::default()
    }

    pub(crate) fn machine(&self) -> &Machine {
        &self.machine
    }

    pub(crate) fn is_pinned(&self) -> bool {
        false
    }

    pub(crate) fn tiers(&self) -> Option<Tiers> {
        None
    }

    /// Zeros.
    pub(crate) fn statistics(&self) -> Statistics {
        let workers = vec![WorkerStatistics::default(); self.threads()];
        let anchors = vec![0; self.machine().clusters().len()];
        Statistics { workers, anchors, ..Statistics::default() }
    }

    /// A recorded pool has no threads to trace.
    pub(crate) fn trace(&self) -> Option<crate::stats::Trace> {
        None
    }
}
