//! Scopes: any number of tasks that may borrow from the function that opened the scope, and all end before it goes on.

mod detached;
mod job;
#[cfg(all(test, not(loom)))]
mod tests;

use std::{
    any::Any,
    fmt,
    marker::PhantomData,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    ptr::NonNull,
    sync::{
        Arc,
        atomic::Ordering::{AcqRel, Relaxed},
    },
};

use befit_machine::Bytes;
use befit_sched::Task;

pub use self::detached::spawn;
pub(crate) use self::detached::spawn_in;
use self::job::ScopeJob;
use crate::{
    engine::{Ancestor, Lineage, NoUnwind, Place},
    latch::Latch,
    pool::{Registry, Worker, global},
    primitive::{AtomicU32, AtomicUsize, Mutex, lock},
};

/// Where tasks can be spawned that borrow what lives longer than the scope; made by [`scope`].
pub struct Scope<'s> {
    registry: Arc<Registry>,
    /// The task that opened the scope.
    parent: Task,
    /// The place of what is spawned.
    place: Place,
    /// Numbers the spawned tasks.
    spawned: AtomicU32,
    /// The body, and the tasks that have not ended.
    open: AtomicUsize,
    /// Set when `open` comes to 0.
    latch: Latch,
    /// The first panic.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    /// Makes `'s` invariant: spawned closures may borrow for `'s`, no longer and no shorter.
    marker: PhantomData<fn(&'s ()) -> &'s ()>,
}

/// Calls `body` with a scope in which it may [spawn](Scope::spawn) tasks, and returns what it returns once all of them
/// have ended.
///
/// Called outside a pool, it runs in the global pool.
///
/// ```
/// let mut squares = vec![0; 8];
/// befit::scope(|s| {
///     for (i, square) in squares.iter_mut().enumerate() {
///         s.spawn(move |_| *square = i * i);
///     }
/// });
/// assert_eq!(squares, [0, 1, 4, 9, 16, 25, 36, 49]);
/// ```
///
/// # Panics
/// If the body or a task panics, the others are run to their end; then the first panic goes on in the caller.
///
/// # What may not be sent
/// ```compile_fail,E0277
/// let shared = std::rc::Rc::new(1);
/// befit::scope(|s| s.spawn(|_| drop(shared.clone())));
/// ```
/// Nor may a task borrow from the body, which may return before it runs:
/// ```compile_fail,E0373
/// befit::scope(|s| {
///     let local = 1;
///     s.spawn(|_| assert_eq!(local, 1));
/// });
/// ```
pub fn scope<'s, F, R>(body: F) -> R
where
    F: FnOnce(&Scope<'s>) -> R + Send,
    R: Send,
{
    Worker::with_current(|worker| match worker {
        Some(worker) => scope_on(worker, body),
        None => global().install_outside(Task::root(None, None), |worker| scope_on(worker, body)),
    })
}

/// As [`scope`], on a worker.
pub(crate) fn scope_on<'s, R>(worker: &Worker, body: impl FnOnce(&Scope<'s>) -> R) -> R {
    // By its address the scope is known to its descendants.
    let known_as = 0u8;
    let ancestor = Ancestor::new(&raw const known_as);
    // SAFETY: the place is of the job that runs this, which outlives the scope.
    let lineage = unsafe { Lineage::new(ancestor, worker.lineage()) };
    let scope = Scope {
        // SAFETY: it lives until the scope has ended, after this function's wait.
        place: unsafe { Place::new(&lineage) },
        registry: Arc::clone(worker.registry()),
        parent: *worker.task(),
        spawned: AtomicU32::new(0),
        open: AtomicUsize::new(1),
        latch: Latch::new(worker.seat()),
        panic: Mutex::new(None),
        marker: PhantomData,
    };
    // Spawned tasks hold pointers to the scope.
    let no_unwind = NoUnwind;
    let result = catch_unwind(AssertUnwindSafe(|| body(&scope)));
    let result = result.map_err(|panic| scope.keep_panic(panic));
    // SAFETY: the scope is live, and this is the body's end.
    unsafe { Scope::end_one(NonNull::from(&scope)) };
    worker.wait(&scope.latch, Some(ancestor));
    no_unwind.over();
    let panic = lock(&scope.panic).take();
    match (result, panic) {
        (Ok(result), None) => result,
        (_, Some(panic)) => resume_unwind(panic),
        (Err(()), None) => unreachable!("the body's panic was kept"),
    }
}

impl<'s> Scope<'s> {
    /// Spawns a task into the scope. It may spawn more into the same scope, which it is given.
    ///
    /// A task costs an allocation and a call into the scheduler: prefer [`join`](crate::join) for small ones.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    ///
    /// let count = AtomicU32::new(0);
    /// befit::scope(|s| {
    ///     s.spawn(|s| {
    ///         count.fetch_add(1, Relaxed);
    ///         s.spawn(|_| { count.fetch_add(1, Relaxed); });
    ///     });
    /// });
    /// assert_eq!(count.into_inner(), 2);
    /// ```
    pub fn spawn<F>(&self, work: F)
    where
        F: FnOnce(&Scope<'s>) + Send + 's,
    {
        self.spawn_sized(None, work);
    }

    /// As [`Self::spawn`], for a task that, with all that it forks, touches `bytes` distinct bytes (see
    /// [`fit`](crate::fit())).
    ///
    /// It is a function of its own, not `spawn(fit(bytes, …))`, because only a closure that is passed directly can
    /// leave the type of its argument out.
    ///
    /// ```
    /// let mut v = vec![1u8; 4096];
    /// befit::scope(|s| {
    ///     for page in v.chunks_mut(1024) {
    ///         s.spawn_fit(page.len(), |_| page.fill(2));
    ///     }
    /// });
    /// assert!(v.iter().all(|b| *b == 2));
    /// ```
    pub fn spawn_fit<F>(&self, bytes: usize, work: F)
    where
        F: FnOnce(&Scope<'s>) + Send + 's,
    {
        self.spawn_sized(Some(Bytes(bytes as u64)), work);
    }

    fn spawn_sized<F>(&self, size: Option<Bytes>, work: F)
    where
        F: FnOnce(&Scope<'s>) + Send + 's,
    {
        let index = self.spawned.fetch_add(1, Relaxed);
        // Relaxed is enough: whoever can call this keeps the scope open, by the body or by a task.
        self.open.fetch_add(1, Relaxed);
        // SAFETY: the scope stays until all its tasks have ended, this one included, which has just been counted.
        let job = unsafe { ScopeJob::into_job(work, NonNull::from(self)) };
        Worker::with_current(|worker| match worker {
            Some(worker) if Arc::ptr_eq(worker.registry(), &self.registry) => {
                worker.spawn(job, worker.task().child(index, size, None));
            }
            _ => self.registry.inject(job, self.parent.child(index, size, None)),
        });
    }

    /// Keeps the first panic.
    fn keep_panic(&self, panic: Box<dyn Any + Send>) {
        let mut kept = lock(&self.panic);
        if kept.is_none() {
            *kept = Some(panic);
        } else {
            drop(kept);
            drop(panic);
        }
    }

    /// The body or a task has ended. The scope may be gone when this returns.
    ///
    /// # Safety
    /// `this` is live, and the caller one of those counted in `open`; the pool of its owner lives until this returns.
    unsafe fn end_one(this: NonNull<Self>) {
        // SAFETY: the scope cannot go before the latch is set, and that comes later than this borrow's last use.
        let open = unsafe { &(*this.as_ptr()).open };
        if open.fetch_sub(1, AcqRel) == 1 {
            // SAFETY: only the last to end comes here, and the scope waits for it.
            let latch = unsafe { &raw const (*this.as_ptr()).latch };
            // SAFETY: the latch is set here only; its seat belongs to the pool that the caller keeps.
            unsafe { Latch::set(latch) };
        }
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("open", &self.open).finish_non_exhaustive()
    }
}
