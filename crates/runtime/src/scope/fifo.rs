//! First in, first out: queues of spawned tasks that are run in the order in which one thread
//! spawned them.
//!
//! A policy decides *when* a task runs, and most run the newest first. So a task that is to wait
//! its turn stays in a [`Fifo`], and the policy gets a *ticket* for it: whoever is published a
//! ticket runs the oldest task of the queue.

use std::{collections::VecDeque, fmt, marker::PhantomData, ptr::NonNull, sync::Arc};

use super::base::{self, Base, Kind};
use crate::{
    broadcast::BroadcastContext,
    engine::{JobHeader, JobRef, JobTable, Place},
    pool::{Registry, Worker, current_or_global},
    primitive::{Mutex, lock},
};

/// Tasks that run in the order in which they came. It is itself the job that its tickets stand for.
#[repr(C)]
pub(crate) struct Fifo {
    header: JobHeader,
    tasks: Mutex<VecDeque<JobRef>>,
}

// SAFETY: the header is written before the queue is shared, and then only read; the place that it
// points to lives as long as there are tickets (promised to `Fifos::at`); the tasks are behind a
// lock, and `JobRef` is `Send`.
unsafe impl Send for Fifo {}
// SAFETY: as above.
unsafe impl Sync for Fifo {}

impl Fifo {
    const TABLE: &'static JobTable = &JobTable { execute: Self::execute, sizes: |_| (None, None) };

    fn new() -> Self {
        Self { header: JobHeader::new(Self::TABLE), tasks: Mutex::new(VecDeque::new()) }
    }

    /// Adds a task; answers the ticket for one.
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

/// A queue for each thread of a pool, and one for all threads that are not the pool's.
pub(crate) struct Fifos(Box<[Fifo]>);

impl Fifos {
    /// For a pool of so many threads.
    pub(crate) fn new(threads: usize) -> Self {
        Self((0..=threads).map(|_| Fifo::new()).collect())
    }

    /// As [`Self::new`]; the tasks are spawned at `place`.
    ///
    /// # Safety
    /// It lives until all tickets have been executed.
    unsafe fn at(place: Place, threads: usize) -> Self {
        let fifos = Self::new(threads);
        for fifo in &fifos.0 {
            // SAFETY: promised by the caller.
            unsafe { fifo.header.birthplace.set(place.as_ptr()) };
        }
        fifos
    }

    /// Adds a task to the calling thread's queue; answers the ticket for one.
    ///
    /// # Safety
    /// The queues, which are those of the pool `registry`, stay until all their tickets have been
    /// executed.
    pub(super) unsafe fn push(&self, registry: &Arc<Registry>, task: JobRef) -> JobRef {
        let thread = Worker::with_current(|worker| match worker {
            Some(worker) if Arc::ptr_eq(worker.registry(), registry) => worker.thread(),
            _ => self.0.len() - 1,
        });
        // SAFETY: promised by the caller.
        unsafe { self.0[thread].push(task) }
    }
}

impl fmt::Debug for Fifos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fifos").finish_non_exhaustive()
    }
}

/// A scope whose tasks start in the order in which one thread spawned them; made by [`scope_fifo`].
pub struct ScopeFifo<'s> {
    base: Base,
    fifos: Fifos,
    /// As in `Scope`.
    marker: PhantomData<fn(&'s ()) -> &'s ()>,
}

// SAFETY: the base is a field.
unsafe impl Kind for ScopeFifo<'_> {
    fn base(&self) -> &Base {
        &self.base
    }
}

/// As [`scope`](crate::scope()), but of the tasks that one thread spawns into it the oldest is
/// started first.
///
/// With one thread that is the order in which they were spawned. With more, an older task starts
/// before a younger one, but maybe on another thread. Tasks of several threads have no order
/// between them.
///
/// ```
/// use std::sync::Mutex;
///
/// let pool = befit::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
/// let order = Mutex::new(Vec::new());
/// pool.scope_fifo(|s| {
///     for i in 0..5 {
///         let order = &order;
///         s.spawn_fifo(move |_| order.lock().unwrap().push(i));
///     }
/// });
/// assert_eq!(order.into_inner().unwrap(), [0, 1, 2, 3, 4]);
/// ```
///
/// # Panics
/// As [`scope`](crate::scope()).
pub fn scope_fifo<'s, F, R>(body: F) -> R
where
    F: FnOnce(&ScopeFifo<'s>) -> R + Send,
    R: Send,
{
    current_or_global(|worker| scope_fifo_on(worker, body))
}

/// As [`scope_fifo`], on a worker.
pub(crate) fn scope_fifo_on<'s, R>(worker: &Worker, body: impl FnOnce(&ScopeFifo<'s>) -> R) -> R {
    base::run_on(worker, ScopeFifo::new, body)
}

/// [`scope_fifo`] whose body runs on the calling thread. See
/// [`in_place_scope`](crate::in_place_scope()).
///
/// ```
/// let mut sum = 0;
/// befit::in_place_scope_fifo(|s| s.spawn_fifo(|_| sum += 1));
/// assert_eq!(sum, 1);
/// ```
pub fn in_place_scope_fifo<'s, F, R>(body: F) -> R
where
    F: FnOnce(&ScopeFifo<'s>) -> R,
{
    Registry::with_current(|registry| in_place_scope_fifo_in(registry, body))
}

/// As [`in_place_scope_fifo`], in the given pool.
pub(crate) fn in_place_scope_fifo_in<'s, R>(
    registry: &Arc<Registry>,
    body: impl FnOnce(&ScopeFifo<'s>) -> R,
) -> R {
    base::run_in_place(registry, ScopeFifo::new, body)
}

impl<'s> ScopeFifo<'s> {
    fn new(base: Base) -> Self {
        // SAFETY: a scope's place lives as long as the scope, which waits for all its tasks.
        let fifos = unsafe { Fifos::at(base.place(), base.registry().engine().threads()) };
        Self { base, fifos, marker: PhantomData }
    }

    /// Spawns a task into the scope, to start after all that the calling thread has spawned into it
    /// before. It may spawn more into the same scope, which it is given.
    ///
    /// It has no form with a size: which task a worker runs is decided by the order, not by the
    /// cache that it befits.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    ///
    /// let count = AtomicU32::new(0);
    /// befit::scope_fifo(|s| {
    ///     s.spawn_fifo(|s| {
    ///         count.fetch_add(1, Relaxed);
    ///         s.spawn_fifo(|_| { count.fetch_add(1, Relaxed); });
    ///     });
    /// });
    /// assert_eq!(count.into_inner(), 2);
    /// ```
    /// It may not borrow from the scope's body, which may return before it runs:
    /// ```compile_fail,E0373
    /// befit::scope_fifo(|s| {
    ///     let local = 1;
    ///     s.spawn_fifo(|_| assert_eq!(local, 1));
    /// });
    /// ```
    pub fn spawn_fifo<F>(&self, work: F)
    where
        F: FnOnce(&ScopeFifo<'s>) + Send + 's,
    {
        // SAFETY: the work borrows for `'s` at least; scopes are waited for by `run`, and this one
        // is open; the job is given away below.
        let task = unsafe { base::task(self, work) };
        // SAFETY: they are part of the scope, which stays until all its tasks have ended; each
        // ticket runs one.
        let ticket = unsafe { self.fifos.push(self.base.registry(), task) };
        self.base.give(ticket, None);
    }

    /// Spawns a task on every thread of the pool: as
    /// [`Scope::spawn_broadcast`](crate::Scope::spawn_broadcast).
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    ///
    /// let threads = AtomicUsize::new(0);
    /// befit::scope_fifo(|s| s.spawn_broadcast(|_, _| { threads.fetch_add(1, Relaxed); }));
    /// assert_eq!(threads.into_inner(), befit::current_num_threads());
    /// ```
    pub fn spawn_broadcast<F>(&self, work: F)
    where
        F: Fn(&ScopeFifo<'s>, BroadcastContext<'_>) + Send + Sync + 's,
    {
        // SAFETY: the work borrows for `'s` at least; scopes are waited for by `run`, and this one
        // is open.
        unsafe { base::spawn_broadcast(self, work) };
    }
}

impl fmt::Debug for ScopeFifo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopeFifo").field("open", &self.base.open()).finish_non_exhaustive()
    }
}
