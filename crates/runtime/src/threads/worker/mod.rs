//! One thread of a pool.
//!
//! A [`Worker`] is where the two layers meet: it owns the list of pending forks, knows which task
//! is running, and calls the policy as its protocol asks. `publish` gives forks and spawned tasks
//! to the policy, `run` runs what the policy gives back, `wait` does so until a latch is set, and
//! sleeps when there is nothing. `mail` runs jobs that bypass the policy.

mod mail;
mod outbox;
mod publish;
mod run;
mod sizes;
mod wait;

use std::{
    cell::Cell,
    ptr::{self, NonNull},
    sync::Arc,
};

use befit_machine::WorkerId;
use befit_sched::{
    TaskInfo,
    forks::{Batch, ForkThresholds},
};

use self::run::Entry;
pub(crate) use self::{mail::Mailbox, outbox::Outbox};
use super::registry::Registry;
use crate::{
    stats::Counters,
    threads::{
        engine::{Engine, Lineage, Meter, NoUnwind, Random, Stack, ThreadEnv},
        fork::{
            ForkList, InlinedRegions, StealRequests, stack_pointer, steal_requests_of_this_thread,
        },
        latch::Latch,
        marks::Mark,
        primitive::thread_local,
        scope::{Blocks, HeldCredits},
        sizer::Sizer,
        sleep::{Parker, Refused},
    },
};

thread_local! {
    /// The worker that this thread is, if any.
    static CURRENT: Cell<*const Worker> = const { Cell::new(ptr::null()) };
}

/// The default size of a thread's stack, in bytes: [`std::thread`]'s.
const STACK: usize = 2 << 20;

/// The part of the stack that may be used before a worker is deep: one in so many. The rest is for
/// the program's own recursion.
const DEEP: usize = 4;

/// One thread of a pool. Lives on that thread's stack (or for ever, if the thread was adopted);
/// only that thread uses it.
pub(crate) struct Worker {
    forks: ForkList,
    /// Others make this worker publish a fork by these.
    requests: NonNull<StealRequests>,
    inlined_regions: InlinedRegions,
    /// How many forks the next steal request publishes.
    batch: Batch,
    /// The task that is running: the entry's, or an inner one that declared its size. Null between
    /// jobs.
    task: Cell<*const Running<'static>>,
    /// Under schedulers that place by size.
    thresholds: Option<ForkThresholds>,
    /// In pools that know sizes of tasks that declare none.
    sizer: Option<Sizer>,
    /// The policy may have to see forks that declare no size, at once.
    looks_at_forks: bool,
    counters: Arc<Counters>,
    /// The job that runs here, as the policy knows it. Null between jobs.
    entry: Cell<*const Entry>,
    /// The lineage of what the running code forks. Null between jobs.
    lineage: Cell<*const Lineage>,
    /// Credits of tasks that have ended, of one scope.
    held_credits: HeldCredits,
    /// Memory for what it spawns.
    blocks: Blocks,
    /// What this worker has spawned and the policy has not seen.
    outbox: Arc<Outbox>,
    /// Tells others that there is something in it.
    outbox_mark: Mark,
    /// Spawned tasks go to the outbox.
    keeps_spawned: bool,
    /// Whether a handler of start or exit runs.
    handler: Cell<Option<Handler>>,
    /// Value of the engine's alarm that this worker has heeded.
    alarm: Cell<usize>,
    /// Of tasks that yield.
    refused: Refused,
    /// A thread outside waits for this worker's processor, on which it made the last call.
    gives_way: Cell<bool>,
    thread: usize,
    id: WorkerId,
    /// Under schedulers that measure.
    meter: Option<Meter>,
    random: Random,
    /// The policy, or the measuring of time, must know when tasks begin and end.
    watched: bool,
    /// The thread belongs to the program, which has lent it to the pool.
    adopted: bool,
    /// The address on this thread's stack below which it is *deep*: see [`Self::is_deep`].
    deep_below: usize,
    /// The thread's own stack, as far as its jobs use it, in pools that read what closures
    /// capture. Written before the first job, and then only read, also by other threads.
    stack: Cell<Stack>,
    registry: Arc<Registry>,
}

impl Worker {
    pub(super) fn new(registry: Arc<Registry>, thread: usize) -> Self {
        let engine = &registry.engine;
        let id = engine.worker(thread);
        Self {
            forks: ForkList::new(),
            requests: steal_requests_of_this_thread(),
            inlined_regions: InlinedRegions::new(),
            batch: Batch::new(),
            task: Cell::new(ptr::null()),
            thresholds: engine.thresholds(id),
            sizer: engine.sizes.as_ref().map(|table| Sizer::new(Arc::clone(table))),
            looks_at_forks: engine.capabilities.sees_forks
                || (engine.capabilities.places_by_size && engine.sizes.is_some()),
            counters: Arc::clone(&registry.counters[thread]),
            entry: Cell::new(ptr::null()),
            lineage: Cell::new(ptr::null()),
            held_credits: HeldCredits::none(),
            blocks: Blocks::none(),
            outbox: Arc::clone(&registry.outboxes[thread]),
            outbox_mark: registry.filled.of(thread),
            keeps_spawned: engine.keeps_spawned && !registry.counters[thread].times.are_measured(),
            handler: Cell::new(None),
            alarm: Cell::new(0),
            refused: Refused::default(),
            gives_way: Cell::new(false),
            thread,
            id,
            // On the thread that it counts: workers are made on their own.
            meter: registry.meter(thread),
            random: Random::new(registry.seed, thread as u64),
            watched: engine.capabilities.follows_tasks
                || registry.counters[thread].times.are_measured(),
            adopted: false,
            deep_below: stack_pointer().saturating_sub(STACK / DEEP),
            stack: Cell::new(Stack::UNKNOWN),
            registry,
        }
    }

    /// The same worker on a stack of so many bytes.
    pub(super) fn with_stack(self, bytes: Option<usize>) -> Self {
        Self { deep_below: stack_pointer().saturating_sub(bytes.unwrap_or(STACK) / DEEP), ..self }
    }

    /// Whether so much of the stack is in use that a waiting worker should put nothing on top but
    /// what it waits for. What it runs may wait as well, on top of it, and so on: a program with
    /// enough large tasks would use up any stack.
    fn is_deep(&self) -> bool {
        stack_pointer() < self.deep_below
    }

    /// Calls `f` with the worker that the calling thread is, if it is one.
    pub(crate) fn with_current<R>(f: impl FnOnce(Option<&Self>) -> R) -> R {
        let worker = CURRENT.with(Cell::get);
        // SAFETY: null, or set by `run_until` on this thread, which resets it before the worker
        // goes, or a worker that is never freed; `f` cannot keep the reference beyond its call,
        // during which `run_until` does not return.
        f(unsafe { worker.as_ref() })
    }

    /// Makes the calling thread this worker until `stop` is set.
    pub(crate) fn run_until(&self, stop: &Latch) {
        let no_unwind = NoUnwind;
        let outer = CURRENT.with(|current| current.replace(self));
        // SAFETY: null, or the worker of an outer call of this function on this thread, which waits
        // for this one to return, or one that is never freed.
        let serving = unsafe { outer.as_ref() };
        // The requests are the thread's. Whether the outer worker pauses is counted in its pool.
        if let Some(outer) = serving {
            outer.set_pauses(false);
        }
        self.stack.set(self.stack_from(stack_pointer()));
        self.requests().raise_inline_limit();
        // SAFETY: it is dropped below, on this thread.
        let reachable = unsafe { self.registry.reachable[self.thread].open(self.requests()) };
        let handlers = &self.registry.handlers;
        if let Some(start) = &handlers.start {
            self.call(Handler::Start, || self.registry.call_handler(start, self.thread));
        }
        self.work_until(stop, None);
        if let Some(exit) = &handlers.exit {
            self.call(Handler::Exit, || self.registry.call_handler(exit, self.thread));
            self.work_off();
        }
        self.set_pauses(false);
        drop(reachable);
        self.requests().raise_inline_limit();
        if let Some(outer) = serving {
            // What others requested meanwhile may have been served here.
            outer.requests().set_requested(outer.may_share());
        }
        CURRENT.with(|current| current.set(outer));
        no_unwind.over();
    }

    /// Makes the calling thread, which is no worker, thread 0 of a pool, for ever.
    pub(super) fn adopt_this_thread(registry: Arc<Registry>) {
        let worker: &'static Self =
            Box::leak(Box::new(Self { adopted: true, ..Self::new(registry, 0) }));
        worker.stack.set(worker.stack_from(stack_pointer()));
        worker.requests().raise_inline_limit();
        worker.begin_base();
        CURRENT.with(|current| current.set(worker));
    }

    /// Whether this is a thread that was not started by or for the pool, and that is in none of the
    /// pool's jobs.
    pub(super) fn is_adopted_and_free(&self) -> bool {
        self.adopted && self.is_at_base()
    }

    pub(super) fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    pub(crate) fn forks(&self) -> &ForkList {
        &self.forks
    }

    /// The lineage of what the running code forks; lives until its job has ended.
    pub(crate) fn lineage(&self) -> *const Lineage {
        self.lineage.get()
    }

    pub(crate) fn requests(&self) -> &StealRequests {
        // SAFETY: this thread's, on which the worker was made and is used.
        unsafe { self.requests.as_ref() }
    }

    pub(crate) fn inlined_regions(&self) -> &InlinedRegions {
        &self.inlined_regions
    }

    /// The task that is running. Only while user code runs.
    pub(crate) fn task(&self) -> &TaskInfo {
        self.running().task
    }

    /// As [`Self::task`], with where it runs.
    #[inline]
    pub(crate) fn running(&self) -> &Running<'_> {
        // SAFETY: null, or what is set stays on the stack for as long as it is.
        unsafe { self.task.get().as_ref() }.unwrap_or_else(|| no_task())
    }

    /// The running job is a half of a fork, at `depth`.
    pub(crate) fn begin_at(&self, depth: u32) {
        self.inlined_regions.begin_at(depth);
        self.running().depth.set(depth);
    }

    /// The task that made the pending fork at index `at` of the list.
    fn task_of_fork(&self, at: usize) -> &Running<'_> {
        let mut running = self.task.get();
        loop {
            // SAFETY: null, or on this stack, as are all tasks that are running in one another.
            let node = unsafe { running.as_ref() }.unwrap_or_else(|| no_task());
            if node.first_fork <= at {
                return node;
            }
            running = node.outer;
        }
    }

    /// `task`, ready to be [entered](Self::enter).
    pub(crate) fn inner_task<'t>(&self, task: &'t TaskInfo) -> Running<'t> {
        let depth = Cell::new(self.inlined_regions.depth());
        let spawned = Cell::new(0);
        Running { task, depth, spawned, first_fork: self.forks.len(), outer: self.task.get() }
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Its number in the pool.
    pub(crate) fn thread(&self) -> usize {
        self.thread
    }

    pub(crate) fn parker(&self) -> &Parker {
        self.engine().sleep.parker(self.thread)
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.registry.engine
    }

    fn env(&self) -> ThreadEnv<'_> {
        ThreadEnv {
            random: &self.random,
            counters: Some(self.counters()),
            meter: self.meter.as_ref(),
            sizes: self.engine().size_source(),
        }
    }

    /// Makes `running` the running task until the result is dropped.
    pub(crate) fn enter<'a>(&'a self, running: &'a Running<'a>) -> Entered<'a> {
        self.task.set(ptr::from_ref(running).cast());
        Entered { worker: self, running }
    }
}

/// What needs a running task was called while none runs: by code of the program that the pool calls
/// between jobs.
#[cold]
#[inline(never)]
fn no_task() -> ! {
    panic!("befit is not called by a scheduling policy, nor by what counts for one (`count_with`)");
}

/// A function that the program runs at a thread's start or end. What it forks stays on the thread:
/// others may not have started, or have ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Handler {
    Start,
    Exit,
}

/// A task that runs on a worker, as far as it must be known to describe its forks.
#[derive(Debug)]
pub(crate) struct Running<'t> {
    task: &'t TaskInfo,
    /// How many forks enclose it, counted from the nearest spawned task or root.
    depth: Cell<u32>,
    /// How many tasks it has spawned since its last sync, under policies that see every one.
    spawned: Cell<u32>,
    /// Pending forks from this index on are this task's, up to those of the next inner one.
    first_fork: usize,
    /// The task that it runs in.
    outer: *const Running<'static>,
}

impl Running<'_> {
    /// Numbers the task that it spawns next: see [`TaskInfo::index`].
    pub(crate) fn number_child(&self) -> u32 {
        let number = self.spawned.get();
        self.spawned.set(number.wrapping_add(1));
        number
    }

    /// A scope that it opened has ended. What it spawns next is numbered anew.
    pub(crate) fn has_synced(&self) {
        self.spawned.set(0);
    }
}

/// Keeps a task the running one; see [`Worker::enter`].
pub(crate) struct Entered<'a> {
    worker: &'a Worker,
    running: &'a Running<'a>,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.worker.task.set(self.running.outer);
    }
}
