//! How a pool is set up.

use std::{any::Any, ffi::OsString, fmt, sync::Arc};

use befit_machine::Machine;
use befit_sched::{
    Counting, OptionChoices, Options, Policy, SchedulerKind, WorkerCounts, sizes::SizeTable,
};

use super::{
    DefaultSpawn, SpawnThread, ThreadPool, ThreadPoolBuildError, max_num_threads, pool::make_global,
};
use crate::{
    backend::{self, AnyPolicy},
    environment::{Environment, USUAL},
    machine::PoolMachine,
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
/// The type's parameter says how the threads are started; it changes with [`Self::spawn_handler`].
///
/// # The environment
/// Where the program does not decide, by calling the method, these variables do, if they are set
/// and not empty. A value that cannot be is an error of [`Self::build`], which names the variable.
///
/// | variable | method | values |
/// |---|---|---|
/// | `BEFIT_SCHEDULER` | [`Self::scheduler`] | the name of a [`SchedulerKind`]: `ws`, `pws`, `sb`, `cats-s`, … |
/// | `BEFIT_AUTO` | none | `on`, `off`: whether [`SchedulerKind::Auto`] may choose; `off` makes it `ws` |
/// | `BEFIT_MACHINE` | [`Self::machine`] | a preset's name, `host`, a file that `befit calibrate -o` wrote, an hwloc synthetic string; with this crate's feature `xml` also a file that `lstopo machine.xml` wrote |
/// | `BEFIT_PIN` | [`Self::pin`] | `auto`, `always`, `never` |
/// | `BEFIT_THREADS` | [`Self::num_threads`] | a whole number from 1 up |
/// | `BEFIT_SIGMA`, `BEFIT_MU` | [`Self::sigma`], [`Self::mu`] | a number above 0 and at most 1 |
/// | `BEFIT_COUNTING` | [`Self::counting`] | `capped`, `full` |
/// | `BEFIT_NEARNESS` | [`Self::nearness`] | a whole number from 1 up |
/// | `BEFIT_BRANCHING` | [`Self::branching`] | a whole number from 2 up |
/// | `BEFIT_BOUNDARY` | [`Self::boundary`] | a whole number |
/// | `BEFIT_SIZES` | [`Self::sizes`] | a file of learned sizes, read once per process; one that cannot be read is a line on stderr, not an error |
/// | `BEFIT_STATS` | none | a file: what the pools of the process counted is written there as JSON when pools end and when the process does; `%p` stands for the process's number |
/// | `BEFIT_TIMES` | none | what pools that measure time do: `phases`, as [`Self::timed`] says; `span`, only how long the pool worked, which costs nothing; `trace`, each change of phase as well |
#[must_use = "a builder does nothing until `build` or `build_global` is called"]
pub struct ThreadPoolBuilder<S = DefaultSpawn> {
    pub(super) settings: Settings,
    pub(super) spawn: S,
}

/// What the program has said of a pool; what it has left open is none or zero.
#[derive(Default)]
pub(crate) struct Settings {
    num_threads: usize,
    scheduler: Option<SchedulerKind>,
    policy: Option<Box<dyn AnyPolicy>>,
    machine: Option<Machine>,
    options: OptionChoices,
    sizes: Option<Arc<SizeTable>>,
    pub(crate) wait_policy: WaitPolicy,
    pin: Option<Pin>,
    pub(crate) timed: Option<bool>,
    pub(crate) seed: u64,
    pub(crate) thread_name: Option<Box<dyn FnMut(usize) -> String>>,
    pub(crate) stack_size: Option<usize>,
    pub(crate) handlers: Handlers,
    pub(crate) use_current_thread: bool,
}

/// The functions that the program has given a pool to call.
#[derive(Default)]
pub(crate) struct Handlers {
    /// Called with the panic of a detached task.
    pub(crate) panic: Option<PanicHandler>,
    /// Called on each thread with its index, first.
    pub(crate) start: Option<ThreadHandler>,
    /// Called on each thread with its index, last.
    pub(crate) exit: Option<ThreadHandler>,
    /// Called on each thread with its index, under policies that measure: returns its counter.
    pub(crate) count: Option<CountHandler>,
}

pub(crate) type PanicHandler = Box<dyn Fn(Box<dyn Any + Send>) + Send + Sync>;
pub(crate) type ThreadHandler = Box<dyn Fn(usize) + Send + Sync>;
type CountHandler = Box<dyn Fn(usize) -> Count + Send + Sync>;

/// Returns what the thread that made it has done since the pool's start.
type Count = Box<dyn FnMut() -> Option<WorkerCounts>>;

/// What the settings, the environment and this machine say together.
#[derive(Debug)]
pub(crate) struct Decided {
    pub(crate) scheduler: SchedulerKind,
    /// What that is on this machine, with so many threads.
    pub(crate) built_in: SchedulerKind,
    /// A policy of the program's own, in place of the scheduler.
    pub(crate) policy: Option<Box<dyn AnyPolicy>>,
    pub(crate) options: Options,
    pub(crate) sizes: Option<Arc<SizeTable>>,
    pub(crate) machine: PoolMachine,
    /// The machine is the one that this runs on.
    pub(crate) detected: bool,
    pub(crate) threads: usize,
    pub(crate) pin: Pin,
}

impl Default for ThreadPoolBuilder {
    fn default() -> Self {
        Self { settings: Settings::default(), spawn: DefaultSpawn }
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
    /// The number of threads. By default, or with 0, one for each worker of the machine, but no
    /// more than the process has CPUs (affinity mask and cgroup quota). Never more than
    /// [`max_num_threads`].
    ///
    /// Thread i is worker i of the machine; where there are more threads than workers, worker i
    /// modulo their number.
    pub fn num_threads(mut self, threads: usize) -> Self {
        self.settings.num_threads = threads;
        self
    }

    /// The scheduler; [`SchedulerKind::Ws`] by default, and [`SchedulerKind::Auto`] with the
    /// feature `rayon-variables`.
    pub fn scheduler(mut self, scheduler: SchedulerKind) -> Self {
        self.settings.scheduler = Some(scheduler);
        self
    }

    /// A policy of the program's own, in place of the built-in ones: `docs/your-own-scheduler.md`
    /// shows how to write one. It calls nothing of this library: often no task runs then.
    ///
    /// It must hand out each job once, as often as it was added, and in the pool that it was added
    /// in. A pool frees a job once it has run, and what a job needs lives as long as its pool. So a
    /// policy that hands one out again, or elsewhere, makes the behaviour undefined, though it is
    /// all safe code. `befit_testkit::on_threads` looks for that before any harm is done.
    pub fn policy(mut self, policy: impl Policy + 'static) -> Self {
        self.settings.policy = Some(Box::new(policy));
        self
    }

    /// The machine that the scheduler schedules on, by default the one that this runs on.
    ///
    /// It may be any other, also a larger one: the threads are then its first workers. That is good
    /// for tests of a scheduler's decisions; its threads are not pinned unless [`Self::pin`] says
    /// so, as caches that are not there cannot be shared.
    pub fn machine(mut self, machine: Machine) -> Self {
        self.settings.machine = Some(machine);
        self
    }

    /// All options of the scheduler, whatever the environment says. Each has a method of its own,
    /// too.
    pub fn options(mut self, options: Options) -> Self {
        self.settings.options = options.into();
        self
    }

    /// Dilation σ, 0 < σ ≤ 1; 0.5 by default: a task befits the smallest cache M with size ≤ σM.
    pub fn sigma(mut self, sigma: f64) -> Self {
        self.settings.options.choose("sigma", |options| options.sigma = sigma);
        self
    }

    /// μ, 0 < μ ≤ 1; 0.2 by default: the share of a cache that one passing strand may claim (`sb`,
    /// `sb-d`).
    pub fn mu(mut self, mu: f64) -> Self {
        self.settings.options.choose("mu", |options| options.mu = mu);
        self
    }

    /// How strands count that pass through a cache (`sb`, `sb-d`); [`Counting::Capped`] by default.
    pub fn counting(mut self, counting: Counting) -> Self {
        self.settings.options.choose("counting", |options| options.counting = counting);
        self
    }

    /// How many times likelier a victim under the same last-level cache is (`pws`), at least 1; 10
    /// by default.
    pub fn nearness(mut self, nearness: u32) -> Self {
        self.settings.options.choose("nearness", |options| options.nearness = nearness);
        self
    }

    /// How many children a task has (`cab`), at least 2; 2 by default.
    pub fn branching(mut self, branching: u32) -> Self {
        self.settings.options.choose("branching", |options| options.branching = branching);
        self
    }

    /// The depth at which subtrees begin (`hws`), in forks from the root; 4 by default.
    pub fn boundary(mut self, boundary: u32) -> Self {
        self.settings.options.choose("boundary", |options| options.boundary = boundary);
        self
    }

    /// The sizes of tasks that declare none ([`fit`](crate::fit())), as `befit learn` has found
    /// them in a recording of the program.
    ///
    /// A task whose place in the program the table does not know is taken to be as large as the
    /// task that forks it, as without a table. Results never depend on sizes. Under `ws`, `pws`,
    /// `cilk-a`, `hws`, `mts`, `pdf`, `central`, `batch` and `static`, which do not ask for sizes,
    /// a table costs nothing. Under the others it costs some 100 ns where a fork is published or a
    /// task is spawned; and, but for `cab`, for each half of a `join` that is not inlined.
    ///
    /// ```
    /// use befit::{SchedulerKind, SizeTable, ThreadPoolBuilder};
    ///
    /// let table = SizeTable::default(); // One that knows nothing.
    /// let builder = ThreadPoolBuilder::new().scheduler(SchedulerKind::Sb).sizes(table);
    /// assert_eq!(builder.build().unwrap().install(|| befit::join(|| 1, || 2)), (1, 2));
    /// ```
    pub fn sizes(mut self, table: SizeTable) -> Self {
        self.settings.sizes = Some(Arc::new(table));
        self
    }

    /// What a worker may run while it waits; [`WaitPolicy::Anything`] by default.
    pub fn wait_policy(mut self, policy: WaitPolicy) -> Self {
        self.settings.wait_policy = policy;
        self
    }

    /// Whether each thread is pinned to a CPU: a [`Pin`], or `true` or `false`. By default
    /// [`Pin::Auto`] under schedulers that mind places ([`SchedulerKind::minds_places`]), and
    /// [`Pin::Never`] under others. No thread ever runs outside the affinity mask of the process.
    pub fn pin(mut self, pin: impl Into<Pin>) -> Self {
        self.settings.pin = Some(pin.into());
        self
    }

    /// Whether the pool measures where its workers' time goes
    /// ([`WorkerStatistics::time`](crate::WorkerStatistics::time)); by default only if
    /// `BEFIT_STATS` is set. It costs a look at the clock, some 25 ns, at each call into the
    /// scheduler, and nothing at forks that never reach it.
    pub fn timed(mut self, timed: bool) -> Self {
        self.settings.timed = Some(timed);
        self
    }

    /// The seed of the schedulers' random choices; 0 by default. On real threads it does not make a
    /// run reproducible.
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = seed;
        self
    }

    /// Names thread i; `befit-i` by default.
    pub fn thread_name(mut self, name: impl FnMut(usize) -> String + 'static) -> Self {
        self.settings.thread_name = Some(Box::new(name));
        self
    }

    /// The threads' stack size in bytes; by default what [`std::thread::Builder`] gives.
    ///
    /// A worker that waits at a join runs other tasks on top of the waiting one, so it needs more
    /// stack than one path through the program.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.settings.stack_size = Some(bytes);
        self
    }

    /// What happens to the panic of a [`spawn`](crate::spawn())ed task. Without a handler the
    /// process aborts.
    pub fn panic_handler(
        mut self,
        handler: impl Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    ) -> Self {
        self.settings.handlers.panic = Some(Box::new(handler));
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
        self.settings.handlers.start = Some(Box::new(handler));
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
        self.settings.handlers.exit = Some(Box::new(handler));
        self
    }

    /// What counts the work of each thread for schedulers that measure (`cats`, `cats-s`, `homes`,
    /// and `auto` where it is `homes`), instead of the processor's counters: for machines that
    /// count nothing, and for tests of what a scheduler makes of its measurements.
    ///
    /// `open` is called on each thread, with its index, when it starts. It returns a function that
    /// the same thread calls, and that returns how much the thread has done so far, or `None` if
    /// that is not known. `cats` and `cats-s` call it some four times a task while they measure,
    /// and twice a task afterwards, `homes` at the end of each strand: so it should take no more
    /// than some ten nanoseconds. It calls nothing of this library: no task runs then. A panic
    /// of `open`, or of the first call, goes to the panic handler. Other schedulers do not call it.
    ///
    /// ```
    /// use befit::{SchedulerKind, ThreadPoolBuilder, WorkerCounts};
    ///
    /// let builder = ThreadPoolBuilder::new().num_threads(1).scheduler(SchedulerKind::CatsS);
    /// // As if it brought in a cache line every ten nanoseconds.
    /// let pool = builder.count_with(|_thread| {
    ///     let start = std::time::Instant::now();
    ///     move || {
    ///         let private_misses = start.elapsed().as_nanos() as u64 / 10;
    ///         Some(WorkerCounts { private_misses, ..WorkerCounts::default() })
    ///     }
    /// });
    /// assert_eq!(pool.build().unwrap().install(|| befit::join(|| 1, || 2)), (1, 2));
    /// ```
    pub fn count_with<C>(mut self, open: impl Fn(usize) -> C + Send + Sync + 'static) -> Self
    where
        C: FnMut() -> Option<WorkerCounts> + 'static,
    {
        self.settings.handlers.count = Some(Box::new(move |thread| Box::new(open(thread))));
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
        self.settings.use_current_thread = true;
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
    pub fn build(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        let pool = self.start()?;
        pool.handle.adopt_this_thread();
        Ok(pool)
    }

    /// As [`Self::build`], but for the current thread, which is still to become one of the pool's.
    fn start(mut self) -> Result<ThreadPool, ThreadPoolBuildError> {
        let decided = self.settings.decide(&backend::ENVIRONMENT)?;
        let handle = backend::Handle::build(decided, self.settings, self.spawn)?;
        Ok(ThreadPool { handle })
    }

    /// Makes the pool the global one, in which `join`, `scope` and `spawn` run when called outside
    /// a pool.
    ///
    /// # Errors
    /// As [`Self::build`], and [`ThreadPoolBuildError::GlobalPoolExists`] if there is one already,
    /// or if another thread has brought one about while this one was built. Then nothing is left of
    /// this one, and the calling thread belongs to none.
    pub fn build_global(self) -> Result<(), ThreadPoolBuildError> {
        make_global(|| self.start())
    }
}

impl Settings {
    /// Decides what the program has left open.
    fn decide<L>(&mut self, environment: &Environment<L>) -> Result<Decided, ThreadPoolBuildError>
    where
        L: Fn(&str) -> Option<OsString>,
    {
        let options = environment.options(self.options)?;
        if self.use_current_thread && backend::this_worker(None, |_| ()).is_some() {
            return Err(ThreadPoolBuildError::CurrentThreadInPool);
        }
        let policy = self.policy.take();
        let scheduler = match policy {
            Some(_) => SchedulerKind::default(),
            None => decided(self.scheduler, || environment.scheduler())?.unwrap_or(USUAL),
        };
        let pin = decided(self.pin, || environment.pin())?;
        let sizes = self.sizes.take().or_else(|| environment.sizes());
        let given = decided(self.machine.take(), || environment.machine())?;
        let asked_for = Some(self.num_threads).filter(|threads| *threads > 0);
        let asked_for = decided(asked_for, || environment.threads())?;
        let detected = given.is_none();
        let here = PoolMachine::here();
        let usable = here.workers();
        let machine = given.map_or(here, PoolMachine::from);
        let threads = asked_for.unwrap_or_else(|| usable.min(machine.workers()));
        let threads = threads.min(max_num_threads());
        let built_in = match (scheduler, environment.auto()?) {
            (SchedulerKind::Auto, false) => SchedulerKind::Ws,
            (kind, _) => machine.built_in(kind, threads),
        };
        let minds_places =
            policy.as_ref().map_or(built_in.minds_places(), |policy| policy.minds_places());
        // Only policies that mind places gain what pinning costs on a machine with other programs.
        let pin = pin.unwrap_or(if minds_places { Pin::Auto } else { Pin::Never });
        Ok(Decided { scheduler, built_in, policy, options, sizes, machine, detected, threads, pin })
    }
}

/// What the program has decided, else what the environment says.
fn decided<T>(
    by_program: Option<T>,
    by_environment: impl FnOnce() -> Result<Option<T>, ThreadPoolBuildError>,
) -> Result<Option<T>, ThreadPoolBuildError> {
    by_program.map_or_else(by_environment, |value| Ok(Some(value)))
}

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let settings = &self.settings;
        f.debug_struct("ThreadPoolBuilder")
            .field("num_threads", &settings.num_threads)
            .field("scheduler", &settings.scheduler)
            .field("policy", &settings.policy)
            .field("machine", &settings.machine.as_ref().map(|m| &m.name))
            .field("options", &settings.options)
            .field("sizes", &settings.sizes.as_ref().map(|table| table.sites().len()))
            .field("wait_policy", &settings.wait_policy)
            .field("pin", &settings.pin)
            .field("seed", &settings.seed)
            .field("stack_size", &settings.stack_size)
            .field("use_current_thread", &settings.use_current_thread)
            .finish_non_exhaustive()
    }
}

/// Whether a pool's threads are pinned, each to one CPU.
///
/// A pinned thread waits while another program has its CPU, where one that is not moves to a free
/// one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pin {
    /// If the pool has the machine to itself as far as it can tell: it runs on the detected
    /// machine, has a thread for each allowed CPU, and no other pool of the process is pinned.
    Auto,
    /// Always, as far as the system lets it; several threads to one CPU where there are more
    /// threads than allowed CPUs.
    Always,
    /// Never: the system moves threads as it likes.
    Never,
}

impl From<bool> for Pin {
    /// `true` is [`Pin::Always`], `false` is [`Pin::Never`].
    fn from(pin: bool) -> Self {
        if pin { Self::Always } else { Self::Never }
    }
}

/// What a worker may run while it waits for forks, spawned tasks or another pool.
///
/// A waiting worker runs other tasks on top of the waiting one on its stack, *with all that the
/// waiting task holds*. If that task holds a lock across a [`join`](crate::join), and one of the
/// others takes the same lock, the thread waits for itself for ever.
///
/// ```
/// use std::sync::Mutex;
/// use befit::{ThreadPoolBuilder, WaitPolicy, join};
///
/// let builder = ThreadPoolBuilder::new().num_threads(4);
/// let pool = builder.wait_policy(WaitPolicy::Descendants).build().unwrap();
/// let sum = Mutex::new(0);
/// let add = || {
///     let mut sum = sum.lock().unwrap();
///     let (a, b) = join(|| 1, || 2);
///     *sum += a + b;
/// };
/// pool.install(|| join(|| join(add, add), || join(add, add)));
/// assert_eq!(sum.into_inner().unwrap(), 12);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum WaitPolicy {
    /// Anything, so that no worker is without work while there is some. Locks must not be held
    /// across forks.
    #[default]
    Anything,
    /// Only descendants of what it waits for (*leapfrogging*: Wagner & Calder, PPoPP 1993). A lock
    /// held across a fork is safe as long as what is forked does not take it. Some workers may be
    /// without work although there is some.
    ///
    /// Two things run all the same: a [`broadcast`](crate::broadcast())'s part, for which there is
    /// no other thread, and what the task itself asks for by [`yield_now`](crate::yield_now). And
    /// while a task waits for the end of another pool that it drops or joins, anything runs.
    ///
    /// The schedulers `ws`, `pws`, `cilk-a`, `cats`, `cats-s`, `pdf`, `cpdf`, `central`, `adws`,
    /// `homes` and `auto` can do this; with another one, building the pool is an error.
    Descendants,
}
