//! How a pool is set up.

use std::{any::Any, fmt, sync::Arc, thread};

use befit_machine::{Host, Machine};
use befit_sched::{Options, SchedulerKind};

use super::{
    GLOBAL, ThreadPool,
    pin::{self, Claim},
    registry::{PanicHandler, Registry},
    worker::Worker,
};
use crate::{Pin, WaitPolicy, engine::Engine, environment::PROCESS, error::ThreadPoolBuildError, stats};

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
/// # The environment
/// Where the program does not decide, by calling the method, these variables do, if they are set and not empty. A value that cannot
/// be is an error of [`Self::build`], which names the variable.
///
/// | variable | method | values |
/// |---|---|---|
/// | `BEFIT_SCHEDULER` | [`Self::scheduler`] | `ws`, `pws`, `sb`, `sb-d` |
/// | `BEFIT_MACHINE` | [`Self::machine`] | a preset's name, `host`, an hwloc synthetic string; with this crate's feature `xml` also a file that `lstopo machine.xml` wrote |
/// | `BEFIT_PIN` | [`Self::pin`] | `auto`, `always`, `never` |
/// | `BEFIT_THREADS` | [`Self::num_threads`] | a whole number from 1 up |
/// | `BEFIT_SIGMA`, `BEFIT_MU` | [`Self::sigma`], [`Self::mu`] | a number above 0 and at most 1 |
/// | `BEFIT_STATS` | none | a file: what the pools of the process counted is written there as JSON when pools end and when the process does; `%p` stands for the process's number |
#[derive(Default)]
#[must_use = "a builder does nothing until `build` or `build_global` is called"]
pub struct ThreadPoolBuilder {
    num_threads: usize,
    scheduler: Option<SchedulerKind>,
    machine: Option<Machine>,
    sigma: Option<f64>,
    mu: Option<f64>,
    wait_policy: WaitPolicy,
    pin: Option<Pin>,
    timed: Option<bool>,
    seed: u64,
    thread_name: Option<Box<dyn FnMut(usize) -> String>>,
    stack_size: Option<usize>,
    panic_handler: Option<PanicHandler>,
}

impl ThreadPoolBuilder {
    /// The defaults: this machine, a thread for each of its workers that the process may use, work stealing.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of threads. By default, or with 0, one for each worker of the machine, but no more than the process
    /// has CPUs (affinity mask and cgroup quota).
    ///
    /// Thread i is worker i of the machine; where there are more threads than workers, worker i modulo their number.
    pub fn num_threads(mut self, threads: usize) -> Self {
        self.num_threads = threads;
        self
    }

    /// The scheduler; [`SchedulerKind::Ws`] by default.
    pub fn scheduler(mut self, scheduler: SchedulerKind) -> Self {
        self.scheduler = Some(scheduler);
        self
    }

    /// The machine that the scheduler schedules on, by default the one that this runs on.
    ///
    /// It may be any other, also a larger one: the threads are then its first workers. That is good for tests of a
    /// scheduler's decisions; its threads are not pinned unless [`Self::pin`] says so, as caches that are not there
    /// cannot be shared.
    pub fn machine(mut self, machine: Machine) -> Self {
        self.machine = Some(machine);
        self
    }

    /// Dilation σ, 0 < σ ≤ 1; 0.5 by default: a task befits the smallest cache M with size ≤ σM.
    pub fn sigma(mut self, sigma: f64) -> Self {
        self.sigma = Some(sigma);
        self
    }

    /// μ, 0 < μ ≤ 1; 0.2 by default: the share of a cache that one passing strand may claim (`sb`, `sb-d`).
    pub fn mu(mut self, mu: f64) -> Self {
        self.mu = Some(mu);
        self
    }

    /// What a worker may run while it waits; [`WaitPolicy::Anything`] by default.
    pub fn wait_policy(mut self, policy: WaitPolicy) -> Self {
        self.wait_policy = policy;
        self
    }

    /// Whether each thread is pinned to a CPU: a [`Pin`], or `true` or `false`. By default [`Pin::Auto`]. No thread
    /// ever runs outside the affinity mask of the process.
    pub fn pin(mut self, pin: impl Into<Pin>) -> Self {
        self.pin = Some(pin.into());
        self
    }

    /// Whether the pool measures where its workers' time goes ([`WorkerStatistics::time`](crate::WorkerStatistics::time)); by default
    /// only if `BEFIT_STATS` is set. It costs a look at the clock, some 25 ns, at each call into the scheduler, and nothing at forks
    /// that never reach it.
    pub fn timed(mut self, timed: bool) -> Self {
        self.timed = Some(timed);
        self
    }

    /// The seed of the schedulers' random choices; 0 by default. On real threads it does not make a run reproducible.
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
    /// A worker that waits at a join runs other tasks on top of the waiting one, so it needs more stack than one path
    /// through the program.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = Some(bytes);
        self
    }

    /// What happens to the panic of a [`spawn`](crate::spawn())ed task. Without a handler the process aborts.
    pub fn panic_handler(mut self, handler: impl Fn(Box<dyn Any + Send>) + Send + Sync + 'static) -> Self {
        self.panic_handler = Some(Box::new(handler));
        self
    }

    /// Builds the pool and starts its threads.
    ///
    /// # Errors
    /// [`ThreadPoolBuildError`]: σ or μ out of range, a bad value in the environment, a wait policy that the scheduler cannot
    /// follow, or a thread that the system refuses to start.
    pub fn build(mut self) -> Result<ThreadPool, ThreadPoolBuildError> {
        let options = self.options()?;
        let scheduler = match self.scheduler {
            Some(scheduler) => scheduler,
            None => PROCESS.scheduler()?.unwrap_or_default(),
        };
        let pin = match self.pin {
            Some(pin) => pin,
            None => PROCESS.pin()?.unwrap_or_default(),
        };
        let wanted = stats::process::wanted()?;
        let given = match self.machine.take() {
            Some(machine) => Some(machine),
            None => PROCESS.machine()?,
        };
        let asked_for = match self.num_threads {
            0 => PROCESS.threads()?.unwrap_or(0),
            threads => threads,
        };
        let detected = given.is_none();
        let here = host();
        let usable = here.workers().len();
        let machine = given.unwrap_or(here);
        let threads = match asked_for {
            0 => usable.min(machine.workers().len()),
            threads => threads,
        };
        let claim = Claim::new(pin, &machine, detected, threads);
        let inherits_a_place = Worker::with_current(|w| w.is_some_and(|w| w.registry().claim().is_some()));
        let engine = Engine::new(scheduler, machine, options, self.wait_policy, threads);
        if !engine.can_wait_as_asked() {
            return Err(ThreadPoolBuildError::WaitPolicy(scheduler));
        }
        let timed = self.timed.unwrap_or(wanted);
        let registry = Arc::new(Registry::new(engine, self.seed, self.panic_handler.take(), claim, timed));
        let mut pool = ThreadPool { registry, threads: Vec::with_capacity(threads) };
        for index in 0..threads {
            let name = self.thread_name.as_mut().map_or_else(|| format!("befit-{index}"), |name| name(index));
            let mut builder = thread::Builder::new().name(name);
            if let Some(bytes) = self.stack_size {
                builder = builder.stack_size(bytes);
            }
            let registry = Arc::clone(&pool.registry);
            let main = move || {
                match registry.claim() {
                    Some(claim) => claim.pin(index),
                    None if inherits_a_place => pin::unpin(),
                    None => {}
                }
                Worker::new(Arc::clone(&registry), index).run_until(registry.stop_of(index));
                registry.threads_ended(1);
            };
            match builder.spawn(main) {
                Ok(thread) => pool.threads.push(thread),
                Err(source) => {
                    pool.registry.threads_ended(threads - index);
                    // Dropping the pool ends the threads that did start.
                    return Err(ThreadPoolBuildError::Thread { index, source });
                }
            }
        }
        stats::process::began(&pool.registry);
        Ok(pool)
    }

    /// The policies' options, from here or from the environment.
    fn options(&self) -> Result<Options, ThreadPoolBuildError> {
        let defaults = Options::default();
        let sigma = match self.sigma {
            Some(sigma) => sigma,
            None => PROCESS.sigma()?.unwrap_or(defaults.sigma),
        };
        let mu = match self.mu {
            Some(mu) => mu,
            None => PROCESS.mu()?.unwrap_or(defaults.mu),
        };
        if !(sigma > 0.0 && sigma <= 1.0) {
            return Err(ThreadPoolBuildError::Sigma(sigma));
        }
        if !(mu > 0.0 && mu <= 1.0) {
            return Err(ThreadPoolBuildError::Mu(mu));
        }
        Ok(Options { sigma, mu, ..defaults })
    }

    /// Makes the pool the global one, in which `join`, `scope` and `spawn` run when called outside a pool.
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

/// The machine that this runs on; where the system does not describe its caches, as many workers as it says, under
/// none.
fn host() -> Machine {
    Host::here().detect().unwrap_or_else(|_| {
        let workers = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        format!("pu:{workers}").parse().expect("a machine of so many workers can be described")
    })
}

impl fmt::Debug for ThreadPoolBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPoolBuilder")
            .field("num_threads", &self.num_threads)
            .field("scheduler", &self.scheduler)
            .field("machine", &self.machine.as_ref().map(|m| &m.name))
            .field("sigma", &self.sigma)
            .field("mu", &self.mu)
            .field("wait_policy", &self.wait_policy)
            .field("pin", &self.pin)
            .field("seed", &self.seed)
            .field("stack_size", &self.stack_size)
            .finish_non_exhaustive()
    }
}
