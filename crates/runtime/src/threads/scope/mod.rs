//! Scopes and spawned tasks: how scopes count their tasks, keep the first panic, and wait.

mod block;
mod credits;
mod jobs;

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    ptr::{self, NonNull},
    sync::{Arc, atomic::Ordering::Relaxed},
};

use befit_machine::Bytes;
use befit_sched::TaskInfo;

pub(super) use self::{
    block::{Blocks, Spare},
    credits::Credits,
};
pub(crate) use self::{
    credits::HeldCredits,
    jobs::{Fifos, spawn_broadcast_into, spawn_fifo_into, spawn_into},
};
use super::{
    current_or_global,
    engine::{Ancestor, JobRef, Lineage, LineageRef, NoUnwind, SpawnedRef},
    latch::{Latch, ThreadLatch},
    primitive::{AtomicU32, Mutex, lock},
    registry::Registry,
    worker::Worker,
};
use crate::api::Kind;

/// The common part of all scopes.
pub(crate) struct Base {
    /// The pool that the tasks run in.
    registry: Arc<Registry>,
    /// The task that opened the scope.
    parent: TaskInfo,
    /// The lineage of what is spawned.
    lineage: LineageRef,
    /// What the scope is known by to its descendants.
    known_as: Ancestor,
    /// Numbers what is spawned outside the pool, under policies that want to see every task.
    spawned: AtomicU32,
    credits: Credits,
    over: Over,
    /// The first panic.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// Set when the credits come to 0; by the kind of thread that waits.
enum Over {
    /// A worker. Its pool, unless it is the one that the tasks run in: the setter of the latch must
    /// keep it.
    Worker(Latch, Option<Arc<Registry>>),
    /// A thread of no pool.
    Thread(Arc<ThreadLatch>),
}

impl Base {
    pub(crate) fn lineage(&self) -> LineageRef {
        self.lineage
    }

    /// The credits: the number of tasks that have not ended, the body included, and of those whose
    /// credit a worker still holds.
    pub(crate) fn open(&self) -> usize {
        self.credits.get()
    }

    /// Counts a task, and gives it to the policy or to the worker's outbox. The caller is of the
    /// scope: its body, or in one of its tasks.
    // One function for all tasks, and once the look at which worker this is.
    #[inline(never)]
    fn spawn(&self, job: SpawnedRef, size: Option<Bytes>) {
        self.registry.give_spawned(job, |worker| {
            self.count_on(worker);
            // SAFETY: it is given away only when this has returned.
            unsafe { self.spawned_task(worker, job.job(), size) }
        });
    }

    /// Gives the ticket of a counted task to the policy.
    fn give_ticket(&self, ticket: JobRef) {
        // SAFETY: it is given away only when this has returned.
        let task = |worker: Option<&Worker>| unsafe { self.spawned_task(worker, ticket, None) };
        self.registry.give(ticket, task);
    }

    /// The task that `job` is, which is spawned on `worker`, or outside the pool.
    ///
    /// # Safety
    /// No other thread has the job before this returns.
    #[inline]
    unsafe fn spawned_task(
        &self,
        worker: Option<&Worker>,
        job: JobRef,
        size: Option<Bytes>,
    ) -> TaskInfo {
        if self.registry.engine.looks_at_spawned || size.is_some() {
            // SAFETY: promised by the caller.
            unsafe { self.looked_at(worker, job, size) }
        } else {
            self.parent_of_spawned(worker).child(0, None, None)
        }
    }

    /// What spawns a task on `worker`, or outside the pool.
    fn parent_of_spawned<'a>(&'a self, worker: Option<&'a Worker>) -> &'a TaskInfo {
        worker.map_or(&self.parent, Worker::task)
    }

    /// The number of what is spawned on `worker`, or outside the pool, among its parent's children.
    fn next_number(&self, worker: Option<&Worker>) -> u32 {
        match worker {
            Some(worker) => worker.running().number_child(),
            None => self.spawned.fetch_add(1, Relaxed),
        }
    }

    /// As [`Self::spawned_task`]: its number where the policy wants to see every one, and its size.
    ///
    /// # Safety
    /// No other thread has the job before this returns.
    #[inline(never)]
    unsafe fn looked_at(
        &self,
        worker: Option<&Worker>,
        job: JobRef,
        size: Option<Bytes>,
    ) -> TaskInfo {
        let numbered = self.registry.engine.capabilities.sees_forks;
        let index = if numbered { self.next_number(worker) } else { 0 };
        // SAFETY: promised by the caller.
        let (size, strand) = unsafe { self.registry.spawned_sizes(worker, job, (size, None)) };
        self.parent_of_spawned(worker).child(index, size, strand)
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

    /// One more task. The caller is of the scope: its body, or in one of its tasks.
    fn begin_task(&self) {
        Worker::with_current(|worker| {
            self.count_on(worker.filter(|worker| Arc::ptr_eq(worker.registry(), &self.registry)));
        });
    }

    /// As [`Self::begin_task`]; the caller is `worker`, if it is one of the tasks' pool.
    #[inline]
    fn count_on(&self, worker: Option<&Worker>) {
        match worker.map(Worker::held_credits) {
            Some(held_credits) if held_credits.use_one(self) => {}
            Some(held_credits) if held_credits.is_empty() => {
                self.credits.add(held_credits.draw(self));
            }
            // It holds another scope's: this one's would have no place.
            Some(_) | None => self.credits.add(1),
        }
    }

    /// A task has ended. Its worker holds the credit, unless nothing else of the scope is left: the
    /// worker that waits for the scope, maybe this one, should go on at once. The scope may be gone
    /// when this returns.
    ///
    /// # Safety
    /// `this` is live, and the task one of those counted; the calling thread is a worker of the
    /// pool that the tasks run in.
    unsafe fn end_task(this: NonNull<Self>) {
        Worker::with_current(|worker| {
            let held_credits = worker.expect("tasks run on workers").held_credits();
            let all = {
                // SAFETY: live, as the task's credit is returned below, or later.
                let base = unsafe { this.as_ref() };
                if !held_credits.is_for(base.lineage.as_ptr()) {
                    Self::return_credits(held_credits);
                }
                held_credits.put(base) == base.credits.get()
            };
            if all {
                Self::return_credits(held_credits);
            }
        });
    }

    /// Returns the credits that the calling worker holds.
    #[inline(never)]
    pub(crate) fn return_credits(held_credits: &HeldCredits) {
        if let Some((scope, count)) = held_credits.take_all() {
            // SAFETY: these credits have not been returned, so the scope is live; the tasks ran on
            // this worker, so the pool is its own, which it keeps.
            unsafe { Self::end(scope, count) };
        }
    }

    /// So many of body and tasks have ended. The scope may be gone when this returns.
    ///
    /// # Safety
    /// `this` is live, and the caller stands for so many of those counted in the credits; the pool
    /// that the tasks run in lives until this returns.
    unsafe fn end(this: NonNull<Self>, count: usize) {
        // SAFETY: the scope cannot go before the latch is set, and that comes later than this
        // borrow's last use.
        let credits = unsafe { &(*this.as_ptr()).credits };
        if !credits.take(count) {
            return;
        }
        // SAFETY: only the last to end comes here, and the scope waits for it; the borrow ends with
        // the latch's setting.
        match unsafe { &(*this.as_ptr()).over } {
            Over::Worker(latch, home) => {
                let home = home.clone();
                // SAFETY: the latch is set here only; its parker belongs to the tasks' pool, which
                // the caller keeps, or to another that `home`, cloned, keeps until the end of this
                // arm.
                unsafe { Latch::set(latch) };
                drop(home);
            }
            Over::Thread(latch) => Arc::clone(latch).set(),
        }
    }

    /// Waits until everything has ended. On the thread that opened the scope.
    fn wait(&self) {
        match &self.over {
            Over::Worker(latch, home) => {
                Worker::with_current(|worker| {
                    let worker = worker.expect("a thread stays a worker while it runs user code");
                    // Of tasks in another pool, too: what they need of the worker's pool, and wait
                    // for, descends from the scope.
                    worker.wait(latch, Some(self.known_as));
                    if home.is_none() {
                        worker.running().has_synced();
                    }
                });
            }
            Over::Thread(latch) => latch.wait(),
        }
    }
}

/// Runs `body` on a worker, with a scope whose tasks run in that worker's pool.
pub(crate) fn open<S: Kind, R: Send>(body: impl FnOnce(&S) -> R + Send) -> R {
    current_or_global(|worker| run_on(worker, body))
}

/// Runs `body` with a scope whose tasks run in the pool of `worker`, the calling thread.
fn run_on<S: Kind, R>(worker: &Worker, body: impl FnOnce(&S) -> R) -> R {
    let over = Over::Worker(Latch::new(worker.parker()), None);
    // SAFETY: the lineage is of the job that runs this, which outlives the scope.
    unsafe { run(worker.registry(), *worker.task(), worker.lineage(), over, body) }
}

impl Registry {
    /// Runs `body` with a scope whose tasks run in this pool, wherever the calling thread belongs.
    pub(crate) fn in_place_scope<S: Kind, R>(self: &Arc<Self>, body: impl FnOnce(&S) -> R) -> R {
        Worker::with_current(|worker| {
            let (above, over) = match worker {
                Some(worker) if Arc::ptr_eq(worker.registry(), self) => {
                    return run_on(worker, body);
                }
                Some(worker) => {
                    let home = Some(Arc::clone(worker.registry()));
                    (worker.lineage(), Over::Worker(Latch::new(worker.parker()), home))
                }
                None => (ptr::null(), Over::Thread(Arc::new(ThreadLatch::new()))),
            };
            // SAFETY: the lineage is null, that of what descends from nothing, or of the job that
            // runs this, which outlives the scope.
            unsafe { run(self, TaskInfo::root(None, None), above, over, body) }
        })
    }
}

/// Runs `body` with a scope, waits for all that it spawned, and returns what it returned; or goes
/// on with the first panic.
///
/// # Safety
/// `above`, the lineage where the scope is opened, is null or lives until this returns.
unsafe fn run<S: Kind, R>(
    registry: &Arc<Registry>,
    parent: TaskInfo,
    above: *const Lineage,
    over: Over,
    body: impl FnOnce(&S) -> R,
) -> R {
    // By its address the scope is known to its descendants.
    let address = 0u8;
    let known_as = Ancestor::new(&raw const address);
    // What is spawned lies on no stack, so that of this thread does not matter.
    // SAFETY: promised by the caller; the address is that of a variable of this function.
    let lineage = unsafe { Lineage::new(known_as, above, true, ptr::null()) };
    let scope = S::new(Base {
        registry: Arc::clone(registry),
        parent,
        // SAFETY: it lives until the scope has ended, after this function's wait.
        lineage: unsafe { LineageRef::new(&lineage) },
        known_as,
        spawned: AtomicU32::new(0),
        credits: Credits::new(),
        over,
        panic: Mutex::new(None),
    });
    let base = scope.base();
    // Spawned tasks hold pointers to the scope.
    let no_unwind = NoUnwind;
    let result = catch_unwind(AssertUnwindSafe(|| body(&scope)));
    let result = result.map_err(|panic| base.keep_panic(panic));
    // What is left of what the body drew, if it ran on a worker.
    let held = Worker::with_current(|worker| worker.map_or(0, |w| w.held_credits().take_of(base)));
    // SAFETY: the scope is live, and this is the body's end, with credits that are held no more;
    // its caller is a thread of the pool, or waits for it.
    unsafe { Base::end(NonNull::from(base), 1 + held) };
    base.wait();
    no_unwind.over();
    let panic = lock(&base.panic).take();
    match (result, panic) {
        (Ok(result), None) => result,
        (_, Some(panic)) => resume_unwind(panic),
        (Err(()), None) => unreachable!("the body's panic was kept"),
    }
}
