//! What the threads of one pool share, and how work comes in from outside.

use std::{
    any::Any,
    fmt,
    mem::{ManuallyDrop, MaybeUninit},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    ptr::NonNull,
    sync::{
        Arc,
        atomic::Ordering::{AcqRel, Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use befit_machine::{ClusterId, Machine, WorkerId};
use befit_sched::{Options, SchedulerKind, TaskInfo, Tiers};
use crossbeam_utils::CachePadded;

use super::{
    Worker,
    claim::Claim,
    worker::{Mailbox, Outbox},
};
use crate::{
    Work,
    api::{Handlers, ThreadHandler},
    stats::{self, Clock, Counters, Statistics, Trace},
    threads::{
        engine::{
            About, Ancestor, Engine, JobHeader, JobRef, JobTable, Meter, NoUnwind, Random, Sizes,
            SpawnedRef, ThreadEnv,
        },
        fork::Reachable,
        latch::{Latch, ThreadLatch},
        marks::Marks,
        primitive::{AtomicUsize, Mutex, UnsafeCell, current_cpu, lock},
        scope::{Fifos, Spare},
        sleep::{Calls, PutOff},
    },
};

/// The thread that waits for a call from outside gives the policy what is held back after so long.
const YOUNG: Duration = Duration::from_micros(50);

/// What the threads of one pool share.
pub(crate) struct Registry {
    pub(super) engine: Engine,
    pub(super) counters: Box<[Arc<Counters>]>,
    /// One for each thread: set when it shall end.
    pub(super) stops: Box<[Latch]>,
    /// What keeps the pool running: its handle, and each detached job.
    keepers: AtomicUsize,
    alive: Mutex<Alive>,
    /// Numbers what is spawned from outside, to spread it over the workers.
    outside: AtomicUsize,
    /// The threads outside that wait for what they have given to the pool.
    waiting: AtomicUsize,
    calls: Calls,
    pub(super) handlers: Handlers,
    /// What each thread must run itself.
    pub(super) mailboxes: Box<[CachePadded<Mailbox>]>,
    /// What others urge each thread by.
    pub(super) reachable: Box<[CachePadded<Reachable>]>,
    /// How many workers keep forks that are wanted, as far as they know.
    pub(super) pausing: CachePadded<AtomicUsize>,
    /// What each thread has spawned and the policy has not seen.
    pub(super) outboxes: Box<[Arc<Outbox>]>,
    /// Which outboxes have something.
    pub(super) filled: Marks,
    /// What was [spawned](crate::spawn_fifo()) to be run in order.
    pub(super) fifos: Fifos,
    /// Memory of tasks that its workers have too much of.
    pub(super) spare_blocks: Spare,
    pub(super) seed: u64,
    /// The CPUs that the threads are pinned to; none if they are not.
    pub(super) claim: Option<Claim>,
}

/// The threads that have not ended, and the thread that waits for that.
#[derive(Debug)]
struct Alive {
    threads: usize,
    /// Those of them that have not begun, and whose beginning is the program's affair.
    awaited: usize,
    /// The pool has come to its end: no such thread begins any more.
    over: bool,
    waiter: Option<Done>,
}

impl Registry {
    /// `clock`: what the workers' time is measured by, if it is.
    pub(super) fn new(
        engine: Engine,
        seed: u64,
        handlers: Handlers,
        claim: Option<Claim>,
        clock: Option<Clock>,
    ) -> Self {
        let threads = engine.threads;
        Self {
            counters: (0..threads)
                .map(|_| Arc::new(Counters::new(engine.workers(), engine.clusters(), clock)))
                .collect(),
            stops: (0..threads).map(|t| Latch::new(engine.sleep.parker(t))).collect(),
            keepers: AtomicUsize::new(1),
            alive: Mutex::new(Alive { threads, awaited: 0, over: false, waiter: None }),
            outside: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            calls: Calls::new(),
            handlers,
            mailboxes: (0..threads).map(|_| CachePadded::new(Mailbox::new())).collect(),
            pausing: CachePadded::new(AtomicUsize::new(0)),
            reachable: (0..threads).map(|_| CachePadded::default()).collect(),
            outboxes: (0..threads).map(|_| Arc::new(Outbox::new())).collect(),
            filled: Marks::new(threads),
            fifos: Fifos::new(threads),
            spare_blocks: Spare::none(),
            seed,
            claim,
            engine,
        }
    }

    /// What counts the calling thread, `thread` of the pool, if the policy measures and anything
    /// counts it.
    pub(super) fn meter(&self, thread: usize) -> Option<Meter> {
        let given = || self.handlers.count.as_ref().map(|open| open(thread));
        self.engine.capabilities.sees_forks.then(|| Meter::open(given())).flatten()
    }

    pub(crate) fn scheduler(&self) -> Option<SchedulerKind> {
        self.engine.kind
    }

    /// The name of what was asked for.
    pub(crate) fn scheduler_name(&self) -> &'static str {
        self.scheduler().map_or(self.policy_name(), |kind| kind.name())
    }

    /// The name of what runs.
    pub(crate) fn policy_name(&self) -> &'static str {
        self.engine.policy.name()
    }

    pub(crate) fn options(&self) -> Options {
        self.engine.options
    }

    pub(crate) fn machine(&self) -> &Machine {
        self.engine.machine()
    }

    pub(crate) fn threads(&self) -> usize {
        self.engine.threads
    }

    pub(crate) fn tiers(&self) -> Option<Tiers> {
        self.engine.policy.tiers()
    }

    pub(crate) fn is_pinned(&self) -> bool {
        self.claim.is_some()
    }

    pub(crate) fn statistics(&self) -> Statistics {
        Statistics::read(self.engine.machine(), self.counted())
    }

    /// What its threads did one by one, if they are traced.
    pub(crate) fn trace(&self) -> Option<Trace> {
        stats::trace(self.engine.machine(), self.counted())
    }

    /// Each thread's worker of the machine, and its counters.
    fn counted(&self) -> impl Iterator<Item = (WorkerId, &Counters)> + Clone {
        let threads = self.counters.iter().enumerate();
        threads.map(|(thread, counters)| (self.engine.worker(thread), &**counters))
    }

    // ---- Work from outside ----

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
        let latch = Arc::new(ThreadLatch::new());
        let puts_off = self.calls.are_short();
        let here = current_cpu();
        let put_off = PutOff::new(puts_off, here);
        let op = |worker: &Worker| worker.run_call(&put_off, || op(worker));
        let job = Install::new(op, Done::Thread(Arc::clone(&latch)));
        let young_until = Instant::now() + YOUNG;
        let spins = puts_off && self.engine.sleep.is_any_awake();
        let no_unwind = NoUnwind;
        let number = self.waiting.fetch_add(1, Relaxed);
        // The caller's own processor is about to be free, and has its data. Else several callers
        // get several workers, and one always the same.
        let near = self.claim.as_ref().zip(here).and_then(|(claim, cpu)| claim.thread_on(cpu));
        // SAFETY: `job` stays until the latch is seen set below; closure and result are `Send`.
        self.inject(unsafe { job.as_job() }, root, near.unwrap_or(number));
        // Where the worker that is to run the call was last, the caller is in its way.
        if spins && !self.engine.sleep.is_idle_on(here) {
            latch.spin();
        }
        if puts_off
            && !latch.wait_until(young_until)
            && let Some((worker, job, task)) = put_off.end()
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
        no_unwind.over();
        job.into_result()
    }

    /// The sizes that a spawned task goes by, which itself declares `declared`. It is spawned on
    /// `worker`, or outside this pool.
    ///
    /// # Safety
    /// No other thread has the job before this returns.
    #[inline]
    pub(super) unsafe fn spawned_sizes(
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

    /// As [`Self::give`], of a job that can remember its task.
    #[inline]
    pub(crate) fn give_spawned(
        self: &Arc<Self>,
        job: SpawnedRef,
        task: impl FnOnce(Option<&Worker>) -> TaskInfo,
    ) {
        Worker::with_current(|worker| {
            match worker.filter(|worker| Arc::ptr_eq(worker.registry(), self)) {
                Some(worker) => worker.spawn_task(job, || task(Some(worker))),
                None => self.inject(job.job(), task(None), self.next_outside()),
            }
        });
    }

    fn next_outside(&self) -> usize {
        self.outside.fetch_add(1, Relaxed)
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

    // ---- The end ----

    /// A detached job begins to keep the pool running.
    pub(crate) fn keep(&self) {
        self.keepers.fetch_add(1, Relaxed);
    }

    /// The handle, or a detached job, no longer keeps the pool running. With the last one its
    /// threads end.
    pub(crate) fn release(&self) {
        if self.keepers.fetch_sub(1, AcqRel) == 1 {
            for stop in &self.stops {
                // SAFETY: latch and parker belong to this registry, which the caller borrows.
                unsafe { Latch::set(stop) };
            }
            let mut alive = lock(&self.alive);
            alive.over = true;
            let never_begun = std::mem::take(&mut alive.awaited);
            drop(alive);
            self.threads_ended(never_begun);
        }
    }

    /// The program is given the start of a thread, to be run or not. The pool's end does not wait
    /// for it.
    pub(super) fn awaits_thread(&self) {
        lock(&self.alive).awaited += 1;
    }

    /// A thread that was awaited begins, or never will; returns false if the pool's end came first.
    pub(super) fn thread_came(&self) -> bool {
        let mut alive = lock(&self.alive);
        if !alive.over {
            alive.awaited -= 1;
        }
        !alive.over
    }

    /// `count` threads have ended, or were never started.
    pub(super) fn threads_ended(&self, count: usize) {
        let mut alive = lock(&self.alive);
        alive.threads -= count;
        if count == 0 || alive.threads > 0 {
            return;
        }
        let waiter = alive.waiter.take();
        drop(alive);
        // Before anyone learns of the end: the file is there when the pool has been dropped.
        stats::process::ended(self);
        if let Some(waiter) = waiter {
            // SAFETY: a waiter's latch lives until it is set; taken out, so set here only.
            unsafe { waiter.set() };
        }
    }

    /// Waits until all threads have ended; `worker`, if that is what the caller is, runs its pool's
    /// work meanwhile. Only one thread may wait.
    pub(super) fn wait_for_end(&self, worker: Option<&Worker>) {
        let Some(worker) = worker else {
            let latch = Arc::new(ThreadLatch::new());
            if self.register_waiter(Done::Thread(Arc::clone(&latch))) {
                latch.wait();
            }
            return;
        };
        let latch = Latch::new(worker.parker());
        let no_unwind = NoUnwind;
        let home = Arc::clone(worker.registry());
        if self.register_waiter(Done::Worker { latch: NonNull::from(&latch), home }) {
            // Whatever the last jobs there need of the worker's pool.
            worker.wait(&latch, None);
        }
        no_unwind.over();
    }

    /// Registers `waiter` to be woken when all threads have ended; returns false if they have.
    fn register_waiter(&self, waiter: Done) -> bool {
        let mut alive = lock(&self.alive);
        let some = alive.threads > 0;
        if some {
            alive.waiter = Some(waiter);
        }
        some
    }

    /// Calls the handler for the start or the exit of thread `index`.
    pub(super) fn call_handler(&self, handler: &ThreadHandler, index: usize) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| handler(index))) {
            self.detached_panic(panic);
        }
    }

    /// A detached job has panicked: the pool's handler, else the end of the process, as nobody
    /// waits for the job.
    pub(crate) fn detached_panic(&self, panic: Box<dyn Any + Send>) {
        let Some(handler) = &self.handlers.panic else {
            eprintln!(
                "befit: a detached job panicked, and its pool has no panic handler; aborting"
            );
            std::process::abort();
        };
        if catch_unwind(AssertUnwindSafe(|| handler(panic))).is_err() {
            eprintln!("befit: the panic handler panicked; aborting");
            std::process::abort();
        }
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("scheduler", &self.scheduler_name())
            .field("machine", &self.engine.machine.known.get().map(|machine| &machine.name))
            .field("threads", &self.threads())
            .finish_non_exhaustive()
    }
}

/// A closure that another pool's worker, or a thread of no pool, waits for.
#[repr(C)]
struct Install<F, R> {
    header: JobHeader,
    op: UnsafeCell<ManuallyDrop<F>>,
    result: UnsafeCell<MaybeUninit<thread::Result<R>>>,
    done: Done,
}

/// The latch of the thread that waits.
#[derive(Clone, Debug)]
enum Done {
    Thread(Arc<ThreadLatch>),
    /// A worker of another pool; `home` keeps the parker alive that the latch points to.
    Worker {
        latch: NonNull<Latch>,
        home: Arc<Registry>,
    },
}

// SAFETY: a worker's latch is `Sync` and lives until it is set; all else is `Send`.
unsafe impl Send for Done {}

impl Done {
    /// Sets the latch.
    ///
    /// # Safety
    /// It lives until it is set, which nobody else does.
    unsafe fn set(self) {
        match self {
            Self::Thread(latch) => latch.set(),
            Self::Worker { latch, home } => {
                // SAFETY: promised by the caller; `home` keeps its parker until the end of this
                // arm.
                unsafe { Latch::set(latch.as_ptr()) };
                drop(home);
            }
        }
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
