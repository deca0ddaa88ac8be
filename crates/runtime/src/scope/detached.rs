//! Tasks that nobody waits for.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    ptr::NonNull,
    sync::Arc,
};

use befit_machine::Bytes;
use befit_sched::Task;

use crate::{
    engine::{JobHeader, JobRef, JobTable},
    fit::Work,
    pool::{Registry, Worker, global},
};

/// Starts `work` in the current pool (outside one: in the global pool) and returns at once.
///
/// A pool that is dropped first runs everything that was spawned in it.
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
    Worker::with_current(|worker| match worker {
        Some(worker) => spawn_in(worker.registry(), work),
        None => spawn_in(global(), work),
    });
}

/// As [`spawn`], in the given pool.
pub(crate) fn spawn_in<W>(registry: &Arc<Registry>, work: W)
where
    W: Work<Output = ()> + Send + 'static,
{
    let bytes = |n: usize| Bytes(n as u64);
    // A root, even if spawned by a task: it may go on when that task, and its claim on a cache, has ended.
    let task = Task::root(work.size().map(bytes), work.strand().map(bytes));
    registry.keep();
    let job = DetachedJob::into_job(work, Arc::clone(registry));
    Worker::with_current(|worker| match worker {
        Some(worker) if Arc::ptr_eq(worker.registry(), registry) => worker.spawn(job, task),
        _ => registry.inject(job, task),
    });
}

#[repr(C)]
struct DetachedJob<W> {
    header: JobHeader,
    registry: Arc<Registry>,
    work: W,
}

impl<W: Work<Output = ()> + Send + 'static> DetachedJob<W> {
    const TABLE: &'static JobTable = &JobTable { execute: Self::execute, sizes: |_| (None, None) };

    fn into_job(work: W, registry: Arc<Registry>) -> JobRef {
        let job = Box::new(Self { header: JobHeader::new(Self::TABLE), registry, work });
        let header = NonNull::from(Box::leak(job)).cast();
        // SAFETY: on the heap until executed; the closure is `Send`; the pointer is to the whole job; the table is its
        // own.
        unsafe { JobRef::new(header) }
    }

    /// See [`JobRef::execute`].
    unsafe fn execute(job: NonNull<JobHeader>, ended: &dyn Fn()) {
        // SAFETY: leaked by `into_job`, and executed once.
        let job = unsafe { Box::from_raw(job.cast::<Self>().as_ptr()) };
        let Self { registry, work, .. } = *job;
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work.run())) {
            registry.detached_panic(panic);
        }
        ended();
        registry.release();
    }
}
