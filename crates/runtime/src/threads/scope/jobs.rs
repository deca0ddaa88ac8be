//! Spawned tasks, on the heap, since the function that spawns them goes on: those of scopes, and
//! *detached* ones, for which nobody waits.
//!
//! A policy decides *when* a task runs, and most run the newest first. So a task that is to wait
//! its turn stays in a [`Fifo`], and the policy gets a *ticket* for it: the worker that is given a
//! ticket runs the oldest task of the queue. What comes from outside the pool waits likewise: see
//! `Registry::inject_in_turn`.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr::NonNull,
    sync::Arc,
};

use befit_machine::Bytes;
use befit_sched::TaskInfo;

use super::{Base, block};
use crate::{
    BroadcastContext, Work,
    api::Kind,
    threads::{
        engine::{About, Closure, JobHeader, JobRef, JobTable, SpawnedHeader, SpawnedRef},
        primitive::{Mutex, lock},
        registry::Registry,
        worker::Worker,
    },
};

/// Calls `work` with the context of the calling thread, a worker.
fn with_context<R>(work: impl FnOnce(BroadcastContext<'_>) -> R) -> R {
    let (index, threads) = Worker::with_current(|worker| {
        let worker = worker.expect("jobs run on workers");
        (worker.thread(), worker.registry().threads())
    });
    work(BroadcastContext::new(index, threads))
}

/// Spawns `work` into `scope`.
///
/// # Safety
/// What `work` borrows lives until the scope has ended. The scope is being waited for by
/// [`super::run`], and it is open: the caller is its body, or one of its tasks.
pub(crate) unsafe fn spawn_into<S, F>(scope: &S, size: Option<usize>, work: F)
where
    S: Kind,
    F: FnOnce(&S) + Send,
{
    // SAFETY: the scope stays until all its tasks have ended, this one included, which is counted
    // below before it is given away; what the work borrows lives as long.
    let job = unsafe { ScopeJob::into_job(work, NonNull::from(scope)) };
    scope.base().spawn(job, size.map(|bytes| Bytes(bytes as u64)));
}

/// As [`spawn_into`], behind what the calling thread has put into `fifos` before.
///
/// # Safety
/// As for [`spawn_into`]; the queues are part of the scope.
pub(crate) unsafe fn spawn_fifo_into<S, F>(scope: &S, fifos: &Fifos, work: F)
where
    S: Kind,
    F: FnOnce(&S) + Send,
{
    // SAFETY: promised by the caller; the ticket that stands for the job is given away below.
    let task = unsafe { task(scope, work) };
    // SAFETY: the queues are part of the scope, which stays until all its tasks have ended; each
    // ticket runs one.
    let ticket = unsafe { fifos.push(&scope.base().registry, task.job()) };
    scope.base().give_ticket(ticket);
}

/// Spawns `work` on every thread of the scope's pool.
///
/// # Safety
/// As for [`spawn_into`].
pub(crate) unsafe fn spawn_broadcast_into<S, F>(scope: &S, work: F)
where
    S: Kind,
    F: Fn(&S, BroadcastContext<'_>) + Send + Sync,
{
    let work = Arc::new(work);
    let registry = &scope.base().registry;
    for thread in 0..registry.threads() {
        let work = Arc::clone(&work);
        // SAFETY: promised by the caller; given to a thread below.
        let job =
            unsafe { task(scope, move |scope: &S| with_context(|context| work(scope, context))) };
        registry.post(thread, job.job());
    }
}

/// Makes `work` a counted task of `scope`.
///
/// # Safety
/// What `work` borrows lives until the scope has ended. The scope is being waited for by
/// [`super::run`], and it is open: the caller is its body, or one of its tasks. The job must be
/// given to a policy or a thread.
unsafe fn task<S, F>(scope: &S, work: F) -> SpawnedRef
where
    S: Kind,
    F: FnOnce(&S) + Send,
{
    scope.base().begin_task();
    // SAFETY: the scope stays until all its tasks have ended, this one included, which has just
    // been counted; what the work borrows lives as long.
    unsafe { ScopeJob::into_job(work, NonNull::from(scope)) }
}

#[repr(C)]
struct ScopeJob<S, F> {
    header: SpawnedHeader,
    scope: NonNull<S>,
    work: F,
}

impl<S: Kind, F: FnOnce(&S) + Send> ScopeJob<S, F> {
    const TABLE: &'static JobTable =
        &JobTable { execute: Self::execute, about: Self::about, on_stack: false };

    /// Puts `work` on the heap.
    ///
    /// # Safety
    /// `scope` counts the task before it is given away, and stays until it has ended, as does what
    /// `work` borrows.
    unsafe fn into_job(work: F, scope: NonNull<S>) -> SpawnedRef {
        let header = SpawnedHeader::new(Self::TABLE);
        // SAFETY: the scope stays (promised by the caller).
        let lineage = unsafe { scope.as_ref() }.base().lineage();
        // SAFETY: it lives as long as the scope.
        unsafe { header.job.birthplace.set(lineage.as_ptr()) };
        let header = block::put_in(Self { header, scope, work }).cast();
        // SAFETY: on the heap until executed; the closure is `Send`, the scope `Sync`; the pointer
        // is to the whole job; the table is its own.
        unsafe { SpawnedRef::new(header) }
    }

    /// See [`JobTable::about`]. What the task declares is known where it is spawned.
    unsafe fn about(job: NonNull<JobHeader>) -> About {
        // SAFETY: put there by `into_job`, and not executed.
        let job = unsafe { job.cast::<Self>().as_ref() };
        About { closure: Some(Closure::of(&job.work)), ..About::NOTHING }
    }

    /// See [`JobRef::execute`].
    unsafe fn execute(job: NonNull<JobHeader>, ended: &dyn Fn()) {
        let job = job.cast::<Self>();
        // SAFETY: put there by `into_job`, and executed once.
        let Self { scope, work, .. } = unsafe { job.read() };
        // SAFETY: as above; it has been moved out. Before the work runs: what that spawns can lie
        // there.
        unsafe { block::release(job) };
        let base = {
            // SAFETY: the scope stays until this task has ended, below.
            let scope = unsafe { scope.as_ref() };
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(scope))) {
                scope.base().keep_panic(panic);
            }
            NonNull::from(scope.base())
        };
        ended();
        // SAFETY: live, and this task's only end; jobs are executed on threads of the pool that
        // they were given to.
        unsafe { Base::end_task(base) };
    }
}

impl Registry {
    /// Starts `work` in this pool; nobody waits for it.
    pub(crate) fn spawn<W>(self: &Arc<Self>, work: W)
    where
        W: Work<Output = ()> + Send + 'static,
    {
        let declared = About::work(&work).declared;
        let job = DetachedJob::into_job(work, Arc::clone(self));
        self.give_spawned(job, |worker| {
            // SAFETY: it is given away only when this has returned.
            let (size, strand) = unsafe { self.spawned_sizes(worker, job.job(), declared) };
            // A root, even if spawned by a task: it may go on when that task, and its claim on a
            // cache, has ended.
            TaskInfo::root(size, strand)
        });
    }

    /// As [`Self::spawn`], behind what the calling thread has spawned in this way before.
    pub(crate) fn spawn_fifo<F>(self: &Arc<Self>, work: F)
    where
        F: FnOnce() + Send + 'static,
    {
        let job = DetachedJob::into_job(work, Arc::clone(self));
        // SAFETY: the queues are part of the registry, which the thread that runs the ticket keeps;
        // each ticket runs one.
        let ticket = unsafe { self.fifos.push(self, job.job()) };
        self.give(ticket, |_| TaskInfo::root(None, None));
    }

    /// Starts `work` on every thread of this pool.
    pub(crate) fn spawn_broadcast<F>(self: &Arc<Self>, work: F)
    where
        F: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        let work = Arc::new(work);
        for thread in 0..self.threads() {
            let work = Arc::clone(&work);
            let call = move || with_context(|context| work(context));
            self.post(thread, DetachedJob::into_job(call, Arc::clone(self)).job());
        }
    }
}

#[repr(C)]
struct DetachedJob<W> {
    header: SpawnedHeader,
    registry: Arc<Registry>,
    work: W,
}

impl<W: Work<Output = ()> + Send + 'static> DetachedJob<W> {
    const TABLE: &'static JobTable =
        &JobTable { execute: Self::execute, about: Self::about, on_stack: false };

    /// Puts `work` on the heap; from now on it keeps the pool running.
    fn into_job(work: W, registry: Arc<Registry>) -> SpawnedRef {
        registry.keep();
        let header = SpawnedHeader::new(Self::TABLE);
        let header = block::put_in(Self { header, registry, work }).cast();
        // SAFETY: on the heap until executed; the closure is `Send`; the pointer is to the whole
        // job; the table is its own.
        unsafe { SpawnedRef::new(header) }
    }

    /// See [`JobTable::about`].
    unsafe fn about(job: NonNull<JobHeader>) -> About {
        // SAFETY: put there by `into_job`, and not executed.
        About::work(&unsafe { job.cast::<Self>().as_ref() }.work)
    }

    /// See [`JobRef::execute`].
    unsafe fn execute(job: NonNull<JobHeader>, ended: &dyn Fn()) {
        let job = job.cast::<Self>();
        // SAFETY: put there by `into_job`, and executed once.
        let Self { registry, work, .. } = unsafe { job.read() };
        // SAFETY: as above; it has been moved out.
        unsafe { block::release(job) };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work.run())) {
            registry.detached_panic(panic);
        }
        ended();
        registry.release();
    }
}

/// Tasks that run in the order in which they came. It is itself the job that its tickets stand for.
#[repr(C)]
pub(crate) struct Fifo {
    header: JobHeader,
    tasks: Mutex<VecDeque<JobRef>>,
}

// SAFETY: the header is written before the queue is shared, and then only read; the lineage that it
// points to lives as long as there are tickets (the scope, of which they are a part, waits for all
// its tasks); the tasks are behind a lock, and `JobRef` is `Send`.
unsafe impl Send for Fifo {}
// SAFETY: as above.
unsafe impl Sync for Fifo {}

impl Fifo {
    const TABLE: &'static JobTable =
        &JobTable { execute: Self::execute, about: About::nothing, on_stack: false };

    fn new() -> Self {
        Self { header: JobHeader::new(Self::TABLE), tasks: Mutex::new(VecDeque::new()) }
    }

    /// Adds a task; returns the ticket for one.
    ///
    /// # Safety
    /// The queue stays where it is until all its tickets have been executed, each of them once.
    unsafe fn push(&self, task: JobRef) -> JobRef {
        lock(&self.tasks).push_back(task);
        // SAFETY: stays until executed (promised by the caller); it is `Sync`; the pointer is to
        // all of it; the table is its own.
        unsafe { JobRef::new(NonNull::from(self).cast()) }
    }

    /// See [`JobRef::execute`].
    unsafe fn execute(ticket: NonNull<JobHeader>, ended: &dyn Fn()) {
        let task = {
            // SAFETY: a ticket that has not been executed keeps its queue; the reference ends
            // before the task does.
            let fifo = unsafe { ticket.cast::<Self>().as_ref() };
            lock(&fifo.tasks).pop_front().expect("there is a task for each ticket")
        };
        // SAFETY: taken out of the queue, so executed once, on a thread of the pool that the ticket
        // was given to.
        unsafe { task.execute(ended) };
    }
}

/// A queue for each thread of a pool, and one, the last, for all threads that are not the pool's.
pub(crate) struct Fifos(Box<[Fifo]>);

impl Fifos {
    /// For a pool of so many threads.
    pub(crate) fn new(threads: usize) -> Self {
        Self((0..=threads).map(|_| Fifo::new()).collect())
    }

    /// The queues of a scope.
    pub(crate) fn of(scope: &Base) -> Self {
        let fifos = Self::new(scope.registry.threads());
        for fifo in &fifos.0 {
            // SAFETY: a scope's lineage lives as long as the scope, which waits for all its tasks.
            unsafe { fifo.header.birthplace.set(scope.lineage.as_ptr()) };
        }
        fifos
    }

    /// Adds a task to the calling thread's queue; returns the ticket for one.
    ///
    /// # Safety
    /// The queues, which are those of the pool `registry`, stay until all their tickets have been
    /// executed.
    unsafe fn push(&self, registry: &Arc<Registry>, task: JobRef) -> JobRef {
        let thread = Worker::with_current(|worker| match worker {
            Some(worker) if Arc::ptr_eq(worker.registry(), registry) => worker.thread(),
            _ => self.0.len() - 1,
        });
        // SAFETY: promised by the caller.
        unsafe { self.0[thread].push(task) }
    }

    /// As [`Self::push`], of a thread that is not the pool's.
    ///
    /// # Safety
    /// As there.
    pub(in crate::threads) unsafe fn push_from_outside(&self, task: JobRef) -> JobRef {
        // SAFETY: promised by the caller.
        unsafe { self.outside().push(task) }
    }

    /// Whether `job` is a ticket for what came from outside.
    pub(in crate::threads) fn is_from_outside(&self, job: &JobRef) -> bool {
        job.is_at(NonNull::from(self.outside()).cast())
    }

    fn outside(&self) -> &Fifo {
        &self.0[self.0.len() - 1]
    }
}
