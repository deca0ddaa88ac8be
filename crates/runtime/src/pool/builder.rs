//! How a pool is set up.

use std::{any::Any, fmt, sync::Arc};

use befit_machine::Machine;
use befit_sched::{Counting, OptionChoices, Options, Policy, SchedulerKind, WorkerCounts};

use super::{
    GLOBAL, ThreadPool, max_num_threads,
    pin::Claim,
    registry::{Handlers, Registry},
    spawn::{SpawnThread, ThreadBuilder},
    worker::Worker,
};
use crate::{
    DefaultSpawn, Pin, WaitPolicy,
    engine::{AnyPolicy, Engine},
    environment::PROCESS,
    error::ThreadPoolBuildError,
    machine::PoolMachine,
    stats,
};

/// Sets up a [`ThreadPool`].
///
/// ```
/// use befit::{SchedulerKind, ThreadPoolBuilder};
///
/// let pool = ThreadPoolBuilder::new()
///     .num_threads(3)
///     .scheduler(SchedulerKind::Pws)
///     // Two sockets of two cores each: what the scheduler believes, whatever this machine is.
///     .machine("pack:2 l3:1(size=8MiB) core:2 l2:1(size=1MiB) pu:1".parse().unwrap())
///     .thread_name(|i| format!("sum-{i}"))
///     .build()
///     .unwrap();
/// assert_eq!(pool.machine().workers().len(), 4);
/// ```
///
/// The type's parameter says who starts the threads; it changes with [`Self::spawn_handler`].
///
/// # The environment
/// Where the program does not decide, by calling the method, these variables do, if they are set
/// and not empty. A value that cannot be is an error of [`Self::build`], which names the variable.
///
/// | variable | method | values |
/// |---|---|---|
/// | `BEFIT_SCHEDULER` | [`Self::scheduler`] | the name of a [`SchedulerKind`]: `ws`, `pws`, `sb`, `cats-s`, … |
/// | `BEFIT_MACHINE` | [`Self::machine`] | a preset's name, `host`, an hwloc synthetic string; with this crate's feature `xml` also a file that `lstopo machine.xml` wrote |
/// | `BEFIT_PIN` | [`Self::pin`] | `auto`, `always`, `never` |
/// | `BEFIT_THREADS` | [`Self::num_threads`] | a whole number from 1 up |
/// | `BEFIT_SIGMA`, `BEFIT_MU` | [`Self::sigma`], [`Self::mu`] | a number above 0 and at most 1 |
/// | `BEFIT_COUNTING` | [`Self::counting`] | `capped`, `full` |
/// | `BEFIT_NEARNESS` | [`Self::nearness`] | a whole number from 1 up |
/// | `BEFIT_BRANCHING` | [`Self::branching`] | a whole number from 2 up |
/// | `BEFIT_BOUNDARY` | [`Self::boundary`] | a whole number |
/// | `BEFIT_STATS` | none | a file: what the pools of the process counted is written there as JSON when pools end and when the process does; `%p` stands for the process's number |
#[must_use = "a builder does nothing until `build` or `build_global` is called"]
pub struct ThreadPoolBuilder<S = DefaultSpawn> {
    num_threads: usize,
    scheduler: Option<SchedulerKind>,
    policy: Option<Box<dyn AnyPolicy>>,
    machine: Option<Machine>,
    options: OptionChoices,
    wait_policy: WaitPolicy,
    pin: Option<Pin>,
    timed: Option<bool>,
    seed: u64,
    thread_name: Option<Box<dyn FnMut(usize) -> String>>,
    stack_size: Option<usize>,
    handlers: Handlers,
    use_current_thread: bool,
    spawn: S,
}

impl Default for ThreadPoolBuilder {
    fn default() -> Self {
        Self {
            num_threads: 0,
            scheduler: None,
            policy: None,
            machine: None,
            options: OptionChoices::default(),
            wait_policy: WaitPolicy::default(),
            pin: None,
            timed: None,
            seed: 0,
            thread_name: None,
            stack_size: None,
            handlers: Handlers::default(),
            use_current_thread: false,
            spawn: DefaultSpawn,
        }
    }
}

impl ThreadPoolBuilder {
    /// The defaults: this machine, a thread for each of its workers that the process may use, work
    /// stealing.
    pub fn new() -> Self {
        Self::default()
    }
}

impl<S> ThreadPoolBuilder<S> {
    /// The same, with its threads started by `spawn`.
    pub(super) fn with_spawn<T>(self, spawn: T) -> ThreadPoolBuilder<T> {
        let Self {
            num_threads, scheduler, policy, machine, options, wait_policy, pin, timed, ..
        } = self;
        let Self { seed, thread_name, stack_size, handlers, use_current_thread, .. } = self;
        ThreadPoolBuilder {
            num_threads,
            scheduler,
            policy,
            machine,
            options,
            wait_policy,
            pin,
            timed,
            seed,
            thread_name,
            stack_size,
            handlers,
            use_current_thread,
            spawn,
        }
    }

    /// The number of threads. By default, or with 0, one for each worker of the machine, but no
    /// more than the process has CPUs (affinity mask and cgroup quota). Never more than
    /// [`max_num_threads`].
    ///
    /// Thread i is worker i of the machine; where there are more threads than workers, worker i
    /// modulo their number.
    pub fn num_threads(mut self, threads: usize) -> Self {
        self.num_threads = threads;
        self
    }

    /// The scheduler; [`SchedulerKind::Ws`] by default.
    pub fn scheduler(mut self, scheduler: SchedulerKind) -> Self {
        self.scheduler = Some(scheduler);
        self
    }

    /// A policy of the program's own, in place of the built-in ones: `docs/your-own-scheduler.md`
    /// shows how to write one.
    pub fn policy(mut self, policy: impl Policy + 'static) -> Self {
        self.policy = Some(Box::new(policy));
        self
    }

    /// The machine that the scheduler schedules on, by default the one that this runs on.
    ///
    /// It may be any other, also a larger one: the threads are then its first workers. That is good
    /// for tests of a scheduler's decisions; its threads are not pinned unless [`Self::pin`] says
    /// so, as caches that are not there cannot be shared.
    pub fn machine(mut self, machine: Machine) -> Self {
        self.machine = Some(machine);
        self
    }

    /// All options of the scheduler, whatever the environment says. Each has a method of its own,
    /// too.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options.into();
        self
    }

    /// Dilation σ, 0 < σ ≤ 1; 0.5 by default: a task befits the smallest cache M with size ≤ σM.
    pub fn sigma(mut self, sigma: f64) -> Self {
        self.options.choose("sigma", |options| options.sigma = sigma);
        self
    }

    /// μ, 0 < μ ≤ 1; 0.2 by default: the share of a cache that one passing strand may claim (`sb`,
    /// `sb-d`).
    pub fn mu(mut self, mu: f64) -> Self {
        self.options.choose("mu", |options| options.mu = mu);
        self
    }

    /// How strands count that pass through a cache (`sb`, `sb-d`); [`Counting::Capped`] by default.
    pub fn counting(mut self, counting: Counting) -> Self {
        self.options.choose("counting", |options| options.counting = counting);
        self
    }

    /// How many times likelier a victim under the same last-level cache is (`pws`), at least 1; 10 by
    /// default.
    pub fn nearness(mut self, nearness: u32) -> Self {
        self.options.choose("nearness", |options| options.nearness = nearness);
        self
    }

    /// How many children a task has (`cab`), at least 2; 2 by default.
    pub fn branching(mut self, branching: u32) -> Self {
        self.options.choose("branching", |options| options.branching = branching);
        self
    }

    /// The depth at which subtrees begin (`hws`), in forks from the root; 4 by default.
    pub fn boundary(mut self, boundary: u32) -> Self {
        self.options.choose("boundary", |options| options.boundary = boundary);
        self
    }

    /// What a worker may run while it waits; [`WaitPolicy::Anything`] by default.
    pub fn wait_policy(mut self, policy: WaitPolicy) -> Self {
        self.wait_policy = policy;
        self
    }

    /// Whether each thread is pinned to a CPU: a [`Pin`], or `true` or `false`. By default
    /// [`Pin::Auto`] under schedulers that mind places ([`SchedulerKind::minds_places`]), and
    /// [`Pin::Never`] under others. No thread ever runs outside the affinity mask of the process.
    pub fn pin(mut self, pin: impl Into<Pin>) -> Self {
        self.pin = Some(pin.into());
        self
    }

    /// Whether the pool measures where its workers' time goes
    /// ([`WorkerStatistics::time`](crate::WorkerStatistics::time)); by default only if
    /// `BEFIT_STATS` is set. It costs a look at the clock, some 25 ns, at each call into the
    /// scheduler, and nothing at forks that never reach it.
    pub fn timed(mut self, timed: bool) -> Self {
        self.timed = Some(timed);
        self
    }

    /// The seed of the schedulers' random choices; 0 by default. On real threads it does not make a
    /// run reproducible.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Names thread i; `befit-i` by default.
    pub fn thread_name(mut self, name: impl FnMut(usize) -> String + 'static) -> Self {
        self.thread_name = Some(Box::new(name));
        self
    }

    /// The threads' stack size in bytes; by default what [`std::thread::Builder`] gives.
    ///
    /// A worker that waits at a join runs other tasks on top of the waiting one, so it needs more
    /// stack than one path through the program.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = Some(bytes);
        self
    }

    /// What happens to the panic of a [`spawn`](crate::spawn())ed task. Without a handler the
    /// process aborts.
    pub fn panic_handler(
        mut self,
        handler: impl Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    ) -> Self {
        self.handlers.panic = Some(Box::new(handler));
        self
    }

    /// What each thread does first, given its index. Its panic is treated as that of a
    /// [`spawn`](crate::spawn())ed task; then the thread starts all the same.
    ///
    /// ```
    /// use std::sync::mpsc;
    ///
    /// let (sender, receiver) = mpsc::channel();
    /// let ended = sender.clone();
    /// let builder = befit::ThreadPoolBuilder::new()
    ///     .num_threads(1)
    ///     .start_handler(move |i| sender.send(format!("{i} starts")).unwrap())
    ///     .exit_handler(move |i| ended.send(format!("{i} ends")).unwrap());
    /// drop(builder.build().unwrap());
    /// assert_eq!(receiver.iter().collect::<Vec<_>>(), ["0 starts", "0 ends"]);
    /// ```
    pub fn start_handler(mut self, handler: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.handlers.start = Some(Box::new(handler));
        self
    }

    /// What each thread does last, given its index, when the pool ends. Its panic is treated as
    /// that of a [`spawn`](crate::spawn())ed task. It must not wait for other threads of the pool:
    /// they may have ended.
    ///
    /// ```
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let builder = befit::ThreadPoolBuilder::new().num_threads(2);
    /// drop(builder.exit_handler(move |i| sender.send(i).unwrap()).build().unwrap());
    /// assert_eq!(receiver.iter().sum::<usize>(), 1);
    /// ```
    pub fn exit_handler(mut self, handler: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.handlers.exit = Some(Box::new(handler));
        self
    }

    /// What counts the work of each thread for schedulers that measure (`cats`, `cats-s`), instead
    /// of the processor's counters: for machines that count nothing, and for tests of what a
    /// scheduler makes of its measurements.
    ///
    /// `open` is called on each thread, with its index, when it starts; what it answers then
    /// answers, on the same thread, how much the thread has done so far, or `None` if that is not
    /// known. It is called some four times a task while the scheduler measures, and twice a task
    /// afterwards: it should take no more than some ten nanoseconds. Other schedulers call neither.
    ///
    /// ```
    /// use befit::{SchedulerKind, ThreadPoolBuilder, WorkerCounts};
    ///
    /// let builder = ThreadPoolBuilder::new().num_threads(1).scheduler(SchedulerKind::CatsS);
    /// // As if it brought in a cache line every ten nanoseconds.
    /// let pool = builder.count_with(|_thread| {
    ///     let start = std::time::Instant::now();
    ///     move || Some(WorkerCounts { private_misses: start.elapsed().as_nanos() as u64 / 10, ..WorkerCounts::default() })
    /// });
    /// assert_eq!(pool.build().unwrap().install(|| befit::join(|| 1, || 2)), (1, 2));
    /// ```
    pub fn count_with<C>(mut self, open: impl Fn(usize) -> C + Send + Sync + 'static) -> Self
    where
        C: FnMut() -> Option<WorkerCounts> + 'static,
    {
        self.handlers.count = Some(Box::new(move |thread| Box::new(open(thread))));
        self
    }

    /// Makes the thread that calls [`Self::build`] or [`Self::build_global`] thread 0 of the pool.
    ///
    /// It is counted in [`Self::num_threads`]. What it calls of this library from then on, outside
    /// other pools, happens in this pool; and while it waits in such a call, or
    /// [yields](crate::yield_now), it runs the pool's tasks. Otherwise it runs none, so a
    /// [broadcast](crate::broadcast()) waits for it. It is not pinned, and neither of the handlers
    /// for start and exit is called on it.
    ///
    /// It stays with the pool for ever: even when a pool that is not global is dropped, a few
    /// hundred bytes and what describes the pool stay allocated.
    ///
    /// ```
    /// let builder = befit::ThreadPoolBuilder::new().num_threads(2).use_current_thread();
    /// let pool = builder.build().unwrap();
    /// assert_eq!(befit::current_thread_index(), Some(0));
    /// assert_eq!(befit::join(|| 1, || 2), (1, 2));
    /// # drop(pool);
    /// ```
    pub fn use_current_thread(mut self) -> Self {
        self.use_current_thread = true;
        self
    }
}

impl<S: SpawnThread> ThreadPoolBuilder<S> {
    /// Builds the pool and starts its threads.
    ///
    /// # Errors
    /// [`ThreadPoolBuildError`]: an option out of range, a bad value in the environment, a wait
    /// policy that the scheduler cannot follow, a thread that the system refuses to start, or a
    /// current thread that belongs to a pool already.
    pub fn build(mut self) -> Result<ThreadPool, ThreadPoolBuildError> {
        let options = PROCESS.options(self.options)?;
        if self.use_current_thread && Worker::with_current(|worker| worker.is_some()) {
            return Err(ThreadPoolBuildError::CurrentThreadInPool);
        }
        let (kind, policy) = match self.policy.take() {
            Some(policy) => (None, policy),
            None => {
                let kind = decided(self.scheduler, || PROCESS.scheduler())?.unwrap_or_default();
                (Some(kind), Box::new(kind) as Box<dyn AnyPolicy>)
            }
        };
        // Only policies that mind places gain what pinning costs on a machine with other programs.
        let usual_pin = if policy.minds_places() { Pin::Auto } else { Pin::Never };
        let pin = decided(self.pin, || PROCESS.pin())?.unwrap_or(usual_pin);
        let wanted = stats::process::wanted()?;
        let given = decided(self.machine.take(), || PROCESS.machine())?;
        let asked_for = match self.num_threads {
            0 => PROCESS.threads()?.unwrap_or(0),
            threads => threads,
        };
        let detected = given.is_none();
        let here = PoolMachine::here();
        let usable = here.workers();
        let machine = given.map_or(here, PoolMachine::from);
        let threads = match asked_for {
            0 => usable.min(machine.workers()),
            threads => threads,
        };
        let threads = threads.min(max_num_threads());
        let claim = Claim::new(pin, &machine, detected, threads);
        let inherits_a_place =
            Worker::with_current(|w| w.is_some_and(|w| w.registry().claim().is_some()));
        let engine = Engine::new(kind, &*policy, machine, options, self.wait_policy, threads);
        if !engine.can_wait_as_asked() {
            return Err(ThreadPoolBuildError::WaitPolicy(engine.name()));
        }
        let timed = self.timed.unwrap_or(wanted);
        let registry = Arc::new(Registry::new(engine, self.seed, self.handlers, claim, timed));
        let first = usize::from(self.use_current_thread);
        let mut starting = Starting {
            pool: Some(ThreadPool::new(registry, self.use_current_thread)),
            left: threads,
        };
        for index in first..threads {
            let pool = starting.pool.as_mut().expect("it is taken at the end only");
            let name = self
                .thread_name
                .as_mut()
                .map_or_else(|| format!("befit-{index}"), |name| name(index));
            let thread = ThreadBuilder::new(
                Arc::clone(&pool.registry),
                index,
                name,
                self.stack_size,
                inherits_a_place,
            );
            // Should it not be run, it says so itself.
            starting.left -= 1;
            match self.spawn.spawn(thread) {
                Ok(thread) => pool.threads.extend(thread),
                Err(source) => return Err(ThreadPoolBuildError::Thread { index, source }),
            }
        }
        let pool = starting.done();
        if self.use_current_thread {
            Worker::adopt_this_thread(Arc::clone(&pool.registry));
        }
        stats::process::began(&pool.registry);
        Ok(pool)
    }

    /// Makes the pool the global one, in which `join`, `scope` and `spawn` run when called outside
    /// a pool.
    ///
    /// # Errors
    /// As [`Self::build`], and [`ThreadPoolBuildError::GlobalPoolExists`] if there is one already.
    pub fn build_global(self) -> Result<(), ThreadPoolBuildError> {
        if GLOBAL.get().is_some() {
            return Err(ThreadPoolBuildError::GlobalPoolExists);
        }
        GLOBAL.set(self.build()?).map_err(|_| ThreadPoolBuildError::GlobalPoolExists)
    }
}

/// A pool some of whose threads have not been started. Should that fail, or a function of the
/// program's panic on the way, those that have been started end.
struct Starting {
    pool: Option<ThreadPool>,
    /// The threads that have not been started, an adopted one included.
    left: usize,
}

impl Starting {
    fn done(mut self) -> ThreadPool {
        self.pool.take().expect("it is taken here only")
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        if let Some(pool) = &mut self.pool {
            pool.give_up(self.left);
        }
    }
}

/// What the program has decided, else what the environment says.
fn decided<T>(
    by_program: Option<T>,
    by_environment: impl FnOnce() -> Result<Option<T>, ThreadPoolBuildError>,
) -> Result<Option<T>, ThreadPoolBuildError> {
    match by_program {
        Some(value) => Ok(Some(value)),
        None => by_environment(),
    }
}

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPoolBuilder")
            .field("num_threads", &self.num_threads)
            .field("scheduler", &self.scheduler)
            .field("policy", &self.policy)
            .field("machine", &self.machine.as_ref().map(|m| &m.name))
            .field("options", &self.options)
            .field("wait_policy", &self.wait_policy)
            .field("pin", &self.pin)
            .field("seed", &self.seed)
            .field("stack_size", &self.stack_size)
            .field("use_current_thread", &self.use_current_thread)
            .finish_non_exhaustive()
    }
}
