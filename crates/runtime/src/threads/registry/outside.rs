//! Work that comes to a pool from outside: from threads that are none of its own.

use std::{
    mem::{ManuallyDrop, MaybeUninit},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    ptr::NonNull,
    sync::{Arc, atomic::Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use befit_machine::{ClusterId, WorkerId};
use befit_sched::TaskInfo;

use super::{Done, Registry};
use crate::{
    Work,
    threads::{
        Worker,
        engine::{
            About, Ancestor, JobHeader, JobRef, JobTable, NoUnwind, Random, Sizes, SpawnedRef,
            ThreadEnv,
        },
        latch::{Latch, ThreadLatch},
        primitive::{UnsafeCell, current_cpu},
        sleep::{HeldFork, PutOff},
    },
};

/// The thread that waits for a call from outside gives the policy what is held back after so long.
const YOUNG: Duration = Duration::from_micros(50);

/// A closure that another pool's worker, or a thread of no pool, waits for.
#[repr(C)]
struct Install<F, R> {
    header: JobHeader,
    op: UnsafeCell<ManuallyDrop<F>>,
    result: UnsafeCell<MaybeUninit<thread::Result<R>>>,
    done: Done,
}

/// A call by a thread that is no worker, whatever it calls.
struct Call {
    latch: Arc<ThreadLatch>,
    /// Whether a fork of it may be held back.
    puts_off: bool,
    put_off: PutOff,
    /// The processor that it comes from, if known.
    here: Option<usize>,
}

impl Call {
    fn new(registry: &Registry) -> Self {
        let puts_off = registry.calls.are_short();
        let here = current_cpu();
        let put_off = PutOff::new(puts_off, here);
        Self { latch: Arc::new(ThreadLatch::new()), puts_off, put_off, here }
    }
}

impl Registry {
    /// Runs `work` on a worker of this pool: on the calling thread if it is one, else on another
    /// while the caller waits (running its own pool's work, if it is a worker).
    pub(crate) fn run<W>(self: &Arc<Self>, work: W) -> W::Output
    where
        W: Work + Send,
        W::Output: Send,
    {
        Worker::with_current(|worker| {
            if worker.is_some_and(|worker| Arc::ptr_eq(worker.registry(), self)) {
                return work.run();
            }
            // SAFETY: the closure is here.
            let (size, strand) = unsafe { self.engine.sizes_from_outside(&About::work(&work)) };
            let root = TaskInfo::root(size, strand);
            match worker {
                Some(worker) => self.install_from(worker, root, |_| work.run()),
                None => self.install_outside(root, |_| work.run()),
            }
        })
    }

    fn install_from<R: Send>(
        &self,
        worker: &Worker,
        root: TaskInfo,
        op: impl FnOnce(&Worker) -> R + Send,
    ) -> R {
        let latch = Latch::new(worker.parker());
        let home = Arc::clone(worker.registry());
        let job = Install::new(op, Done::Worker { latch: NonNull::from(&latch), home });
        let no_unwind = NoUnwind;
        // SAFETY: `job` stays until the latch is seen set below; closure and result are `Send`.
        let injected = unsafe { job.as_job() };
        // What it forks in this pool is needed for the worker to go on, whichever pool runs it.
        // SAFETY: the lineage is of the job that waits here.
        unsafe { job.header.birthplace.set(worker.lineage()) };
        self.inject(injected, root, self.next_outside());
        worker.wait(&latch, Some(Ancestor::new(&raw const job)));
        no_unwind.over();
        job.into_result()
    }

    /// As [`Self::run`], for a thread that is no worker.
    #[cold]
    pub(crate) fn install_outside<R: Send>(
        &self,
        root: TaskInfo,
        op: impl FnOnce(&Worker) -> R + Send,
    ) -> R {
        let call = Call::new(self);
        let op = |worker: &Worker| worker.run_call(&call.put_off, || op(worker));
        let job = Install::new(op, Done::Thread(Arc::clone(&call.latch)));
        let no_unwind = NoUnwind;
        // SAFETY: `job` stays until the latch was seen set; closure and result are `Send`.
        self.inject_and_wait(&call, unsafe { job.as_job() }, root);
        no_unwind.over();
        job.into_result()
    }

    /// Gives the policy the job of `call`, and returns when its latch was seen set.
    fn inject_and_wait(&self, call: &Call, job: JobRef, root: TaskInfo) {
        let Call { ref latch, puts_off, ref put_off, here } = *call;
        let young_until = Instant::now() + YOUNG;
        let spins = puts_off && self.engine.sleep.is_any_awake();
        let number = self.waiting.fetch_add(1, Relaxed);
        // The caller's own processor is about to be free, and has its data. Else several callers
        // get several workers, and one always the same.
        let near = self.claim.as_ref().zip(here).and_then(|(claim, cpu)| claim.thread_on(cpu));
        // SAFETY: the caller has just made it, and nobody else has it yet.
        unsafe { self.inject_in_turn(job, root, near.unwrap_or(number)) };
        // Where the worker that is to run the call was last, the caller is in its way.
        let spins = spins && !self.engine.sleep.is_idle_on(here);
        if spins {
            latch.spin(|| put_off.is_shared());
        }
        // A wait with an end takes longer: the system sets a timer, and stops it.
        if puts_off
            && (!spins || put_off.holds_or_ends())
            && !latch.wait_until(young_until)
            && let Some(HeldFork { worker, job, task, .. }) = put_off.end()
        {
            self.add_from_outside(worker, job, task, number);
            if self.engine.capabilities.may_refuse {
                // The policy may have bound it to the worker that waits for it: another must look,
                // and be refused it, to get it when nothing moves.
                self.engine.pass_on(worker, ClusterId::ROOT);
            }
        }
        latch.wait();
        if let Some(worked) = put_off.worked() {
            self.calls.ended(puts_off, worked);
        }
        self.waiting.fetch_sub(1, Relaxed);
    }

    /// The sizes that a spawned task goes by, which itself declares `declared`. It is spawned on
    /// `worker`, or outside this pool.
    ///
    /// # Safety
    /// No other thread has the job before this returns.
    #[inline]
    pub(in crate::threads) unsafe fn spawned_sizes(
        &self,
        worker: Option<&Worker>,
        job: JobRef,
        declared: Sizes,
    ) -> Sizes {
        let mut sizes = declared;
        if self.engine.sizes.is_some() {
            // SAFETY: promised by the caller.
            let about = About { declared, ..unsafe { job.about() } };
            sizes = match worker {
                // SAFETY: as above: nobody has run the closure.
                Some(worker) => unsafe { worker.sizes(&about, 0, 0, worker.running()) },
                // SAFETY: as above.
                None => unsafe { self.engine.sizes_from_outside(&about) },
            };
        }
        if let (Some(worker), (Some(_), _)) = (worker, sizes) {
            worker.counters().sized.bump();
        }
        sizes
    }

    /// Gives the policy a spawned job: from the calling thread, if it is a worker of this pool, or
    /// from outside. `task` gets the worker.
    pub(crate) fn give(
        self: &Arc<Self>,
        job: JobRef,
        task: impl FnOnce(Option<&Worker>) -> TaskInfo,
    ) {
        Worker::with_current(|worker| {
            match worker.filter(|worker| Arc::ptr_eq(worker.registry(), self)) {
                Some(worker) => worker.spawn(job, task(Some(worker))),
                None => self.inject(job, task(None), self.next_outside()),
            }
        });
    }

    /// As [`Self::give`], of a job that can remember its task; from outside it comes in its turn.
    #[inline]
    pub(crate) fn give_spawned(
        self: &Arc<Self>,
        job: SpawnedRef,
        task: impl FnOnce(Option<&Worker>) -> TaskInfo,
    ) {
        Worker::with_current(|worker| {
            match worker.filter(|worker| Arc::ptr_eq(worker.registry(), self)) {
                Some(worker) => worker.spawn_task(job, || task(Some(worker))),
                None => {
                    let task = task(None);
                    // SAFETY: nobody else has the job yet.
                    unsafe { self.inject_in_turn(job.job(), task, self.next_outside()) };
                }
            }
        });
    }

    fn next_outside(&self) -> usize {
        self.outside.fetch_add(1, Relaxed)
    }

    /// As [`Self::inject`], in turn: of the jobs that are given in this way, the oldest is run
    /// first, as a policy that runs a worker's newest job first would let it wait for as long as
    /// others come.
    ///
    /// The policy gets a ticket for one of them, of which it knows nothing. So a job of which it is
    /// to know something takes no turn. Nor does one that descends from another: a worker may wait
    /// that runs only descendants of what it waits for.
    ///
    /// # Safety
    /// No other thread has the job.
    unsafe fn inject_in_turn(&self, job: JobRef, task: TaskInfo, number: usize) {
        let engine = &self.engine;
        let is_unsized = (task.size, task.strand) == (TaskInfo::UNKNOWN, TaskInfo::UNKNOWN);
        let is_known = engine.looks_at_spawned || (engine.capabilities.uses_sizes && !is_unsized);
        // SAFETY: nobody else has it, so it has not been executed.
        if is_known || unsafe { job.descends() } {
            return self.inject(job, task, number);
        }
        // SAFETY: the queues are part of the registry, which the thread that runs the ticket keeps;
        // each ticket runs one.
        let ticket = unsafe { self.fifos.push_from_outside(job) };
        self.inject(ticket, TaskInfo::root(None, None), number);
    }

    /// Gives the policy a job that comes from no worker of this pool, as that of the thread with
    /// this number, modulo their number.
    fn inject(&self, job: JobRef, task: TaskInfo, number: usize) {
        let worker = self.engine.worker(number % self.threads());
        self.add_from_outside(worker, job, task, number);
    }

    /// Gives the policy a job as `worker`'s. `number` is the calling thread's.
    fn add_from_outside(&self, worker: WorkerId, job: JobRef, task: TaskInfo, number: usize) {
        let random = Random::new(!self.seed, number as u64);
        let sizes = self.engine.size_source();
        let mut env = ThreadEnv { random: &random, counters: None, meter: None, sizes };
        self.engine.add_from_outside(worker, job, task, &mut env);
    }

    /// Gives `thread` a job that it must run itself.
    pub(crate) fn post(&self, thread: usize, job: JobRef) {
        self.mailboxes[thread].post(job);
        self.engine.sleep.notify_mail(thread);
    }
}

impl<F: FnOnce(&Worker) -> R + Send, R: Send> Install<F, R> {
    const TABLE: &'static JobTable =
        &JobTable { execute: Self::execute, about: About::nothing, on_stack: true };

    fn new(op: F, done: Done) -> Self {
        Self {
            header: JobHeader::new(Self::TABLE),
            op: UnsafeCell::new(ManuallyDrop::new(op)),
            result: UnsafeCell::new(MaybeUninit::uninit()),
            done,
        }
    }

    /// # Safety
    /// The job stays where it is until its latch is seen set, and is given to a policy once.
    unsafe fn as_job(&self) -> JobRef {
        // SAFETY: stays until executed; closure and result are `Send`; the pointer is to all of it;
        // the table is its own.
        unsafe { JobRef::new(NonNull::from(self).cast()) }
    }

    /// See [`JobRef::execute`].
    unsafe fn execute(job: NonNull<JobHeader>, ended: &dyn Fn()) {
        let job = job.cast::<Self>();
        let done = {
            // SAFETY: not yet executed, so it is live; the reference ends before the latch is set.
            let job = unsafe { job.as_ref() };
            // SAFETY: executed once, and its owner does not touch the closure.
            let op = job.op.with(|op| unsafe { ManuallyDrop::into_inner(op.read()) });
            let run = || Worker::with_current(|worker| op(worker.expect("jobs run on workers")));
            let result = catch_unwind(AssertUnwindSafe(run));
            // SAFETY: the owner reads it only after the latch is set.
            job.result.with_mut(|slot| unsafe { (*slot).write(result) });
            job.done.clone()
        };
        ended();
        // SAFETY: the latch lives until it is set, here only.
        unsafe { done.set() };
    }

    /// The result, or its panic; after the latch was seen set.
    fn into_result(self) -> R {
        // SAFETY: the private callers have seen the latch set, so it was written.
        let result = self.result.with(|result| unsafe { result.read() });
        // SAFETY: as above.
        match unsafe { result.assume_init() } {
            Ok(result) => result,
            Err(panic) => resume_unwind(panic),
        }
    }
}
