//! What the threads of one pool share; how work comes in from outside, and how the pool ends.

mod end;
mod outside;

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr::NonNull,
    sync::Arc,
};

use befit_machine::{Machine, WorkerId};
use befit_sched::{Options, SchedulerKind, Tiers};
use crossbeam_utils::CachePadded;

use super::{
    claim::Claim,
    worker::{Mailbox, Outbox},
};
use crate::{
    api::Handlers,
    stats::{self, Clock, Counters, Statistics, Trace},
    threads::{
        engine::{Engine, Meter},
        fork::Reachable,
        latch::{Latch, ThreadLatch},
        marks::Marks,
        primitive::{AtomicUsize, Mutex},
        scope::{Fifos, Spare},
        sleep::Calls,
    },
};

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
            calls: Calls::new(engine.sleep.is_roomy()),
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
    /// counts it. A panic of what the program gives for that is one of a detached job.
    pub(super) fn meter(&self, thread: usize) -> Option<Meter> {
        if !self.engine.capabilities.sees_forks {
            return None;
        }
        let open = || Meter::open(self.handlers.count.as_ref().map(|open| open(thread)));
        catch_unwind(AssertUnwindSafe(open)).unwrap_or_else(|panic| {
            self.detached_panic(panic);
            None
        })
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
