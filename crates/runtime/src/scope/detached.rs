//! Tasks that nobody waits for: spawned, spawned to wait their turn, spawned on every thread.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    ptr::NonNull,
    sync::Arc,
};

use befit_sched::TaskInfo;

use crate::{
    broadcast::BroadcastContext,
    engine::{JobHeader, JobRef, JobTable, sizes_of},
    fit::Work,
    pool::Registry,
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
    Registry::with_current(|registry| spawn_in(registry, work));
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
    Registry::with_current(|registry| spawn_fifo_in(registry, work));
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
    Registry::with_current(|registry| spawn_broadcast_in(registry, work));
}

/// As [`spawn`], in the given pool.
pub(crate) fn spawn_in<W>(registry: &Arc<Registry>, work: W)
where
    W: Work<Output = ()> + Send + 'static,
{
    let (size, strand) = sizes_of(&work);
    // A root, even if spawned by a task: it may go on when that task, and its claim on a cache, has
    // ended.
    let task = TaskInfo::root(size, strand);
    registry.give(DetachedJob::into_job(work, Arc::clone(registry)), |_| task);
}

/// As [`spawn_fifo`], in the given pool.
pub(crate) fn spawn_fifo_in<F>(registry: &Arc<Registry>, work: F)
where
    F: FnOnce() + Send + 'static,
{
    let job = DetachedJob::into_job(work, Arc::clone(registry));
    // SAFETY: the queues are part of the registry, which the thread that runs the ticket keeps;
    // each ticket runs one.
    let ticket = unsafe { registry.fifos().push(registry, job) };
    registry.give(ticket, |_| TaskInfo::root(None, None));
}

/// As [`spawn_broadcast`], in the given pool.
pub(crate) fn spawn_broadcast_in<F>(registry: &Arc<Registry>, work: F)
where
    F: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    let work = Arc::new(work);
    for thread in 0..registry.engine().threads() {
        let work = Arc::clone(&work);
        let job = DetachedJob::into_job(
            move || BroadcastContext::with(|context| work(context)),
            Arc::clone(registry),
        );
        registry.post(thread, job);
    }
}

#[repr(C)]
struct DetachedJob<W> {
    header: JobHeader,
    registry: Arc<Registry>,
    work: W,
}

impl<W: Work<Output = ()> + Send + 'static> DetachedJob<W> {
    const TABLE: &'static JobTable = &JobTable { execute: Self::execute, sizes: |_| (None, None) };

    /// Puts `work` on the heap; from now on it keeps the pool running.
    fn into_job(work: W, registry: Arc<Registry>) -> JobRef {
        registry.keep();
        let job = Box::new(Self { header: JobHeader::new(Self::TABLE), registry, work });
        let header = NonNull::from(Box::leak(job)).cast();
        // SAFETY: on the heap until executed; the closure is `Send`; the pointer is to the whole
        // job; the table is its own.
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
