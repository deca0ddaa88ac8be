//! How a pool is set up.

use std::{any::Any, env, fmt, marker::PhantomData};

use befit_machine::Machine;
use befit_sched::{Counting, OptionChoices, Options, Policy, SchedulerKind, WorkerCounts};

use super::{
    SpawnThread, ThreadPool, max_num_threads,
    pool::{self, PanicHandler},
};
use crate::{
    DefaultSpawn, Pin, ThreadPoolBuildError, WaitPolicy, environment::rayon_threads,
    machine::PoolMachine,
};

/// Sets up a [`ThreadPool`]. The environment is not looked at, for equal programs must give equal
/// recordings; but for rayon's variables, by which the recording command says for how many threads
/// a program that uses rayon shall divide its work.
#[must_use = "a builder does nothing until `build` or `build_global` is called"]
pub struct ThreadPoolBuilder<S = DefaultSpawn> {
    num_threads: usize,
    scheduler: SchedulerKind,
    machine: Option<Machine>,
    options: OptionChoices,
    panic_handler: Option<PanicHandler>,
    use_current_thread: bool,
    #[expect(dead_code, reason = "nothing is started")]
    spawn: S,
    /// As the real one, which holds what the program gives it.
    not_send: PhantomData<*const ()>,
}

impl Default for ThreadPoolBuilder {
    fn default() -> Self {
        Self {
            num_threads: 0,
            scheduler: SchedulerKind::default(),
            machine: None,
            options: OptionChoices::default(),
            panic_handler: None,
            use_current_thread: false,
            spawn: DefaultSpawn,
            not_send: PhantomData,
        }
    }
}

impl ThreadPoolBuilder {
    /// The defaults: this machine, a thread for each of its workers, work stealing.
    pub fn new() -> Self {
        Self::default()
    }
}

impl<S> ThreadPoolBuilder<S> {
    /// The same, with its threads started by `spawn`.
    pub(super) fn with_spawn<T>(self, spawn: T) -> ThreadPoolBuilder<T> {
        let Self {
            num_threads,
            scheduler,
            machine,
            options,
            panic_handler,
            use_current_thread,
            ..
        } = self;
        ThreadPoolBuilder {
            num_threads,
            scheduler,
            machine,
            options,
            panic_handler,
            use_current_thread,
            spawn,
            not_send: PhantomData,
        }
    }

    /// What `current_num_threads` will answer: programs choose their grain by it.
    pub fn num_threads(mut self, threads: usize) -> Self {
        self.num_threads = threads;
        self
    }

    /// What the pool will answer when asked for its scheduler. The recording can be simulated under
    /// any.
    pub fn scheduler(mut self, scheduler: SchedulerKind) -> Self {
        self.scheduler = scheduler;
        self
    }

    /// Without effect: the recording can be simulated under any.
    pub fn policy(self, _: impl Policy + 'static) -> Self {
        self
    }

    /// What the pool will answer when asked for its machine. The recording can be simulated on any.
    pub fn machine(mut self, machine: Machine) -> Self {
        self.machine = Some(machine);
        self
    }

    /// Only checked, as each option below: a recording can be simulated with any.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options.into();
        self
    }

    /// Dilation σ.
    pub fn sigma(mut self, sigma: f64) -> Self {
        self.options.choose("sigma", |options| options.sigma = sigma);
        self
    }

    /// μ.
    pub fn mu(mut self, mu: f64) -> Self {
        self.options.choose("mu", |options| options.mu = mu);
        self
    }

    /// How strands count that pass through a cache.
    pub fn counting(mut self, counting: Counting) -> Self {
        self.options.choose("counting", |options| options.counting = counting);
        self
    }

    /// How many times likelier a near victim is.
    pub fn nearness(mut self, nearness: u32) -> Self {
        self.options.choose("nearness", |options| options.nearness = nearness);
        self
    }

    /// How many children a task has.
    pub fn branching(mut self, branching: u32) -> Self {
        self.options.choose("branching", |options| options.branching = branching);
        self
    }

    /// The depth at which subtrees begin.
    pub fn boundary(mut self, boundary: u32) -> Self {
        self.options.choose("boundary", |options| options.boundary = boundary);
        self
    }

    /// Without effect: nothing waits.
    pub fn wait_policy(self, policy: WaitPolicy) -> Self {
        let _ = policy;
        self
    }

    /// Without effect.
    pub fn pin(self, pin: impl Into<Pin>) -> Self {
        let _ = pin.into();
        self
    }

    /// Without effect: pools measure nothing.
    pub fn timed(self, timed: bool) -> Self {
        let _ = timed;
        self
    }

    /// Without effect.
    pub fn seed(self, seed: u64) -> Self {
        let _ = seed;
        self
    }

    /// Without effect.
    pub fn thread_name(self, name: impl FnMut(usize) -> String + 'static) -> Self {
        let _ = name;
        self
    }

    /// Without effect: the program runs on the stack of the thread that calls the pool.
    pub fn stack_size(self, bytes: usize) -> Self {
        let _ = bytes;
        self
    }

    /// What happens to the panic of a detached task. Without a handler the process aborts.
    pub fn panic_handler(
        mut self,
        handler: impl Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    ) -> Self {
        self.panic_handler = Some(Box::new(handler));
        self
    }

    /// Without effect: no thread starts.
    pub fn start_handler(self, handler: impl Fn(usize) + Send + Sync + 'static) -> Self {
        let _ = handler;
        self
    }

    /// Without effect: no thread ends.
    pub fn exit_handler(self, handler: impl Fn(usize) + Send + Sync + 'static) -> Self {
        let _ = handler;
        self
    }

    /// Without effect: nothing is scheduled.
    pub fn count_with<C>(self, open: impl Fn(usize) -> C + Send + Sync + 'static) -> Self
    where
        C: FnMut() -> Option<WorkerCounts> + 'static,
    {
        let _ = open;
        self
    }

    /// Without effect, but that the pool must not be built inside another: everything runs on the
    /// current thread.
    pub fn use_current_thread(mut self) -> Self {
        self.use_current_thread = true;
        self
    }
}

impl<S: SpawnThread> ThreadPoolBuilder<S> {
    /// Builds the pool.
    ///
    /// # Errors
    /// [`ThreadPoolBuildError`]: an option out of range, or a current thread that belongs to a pool
    /// already.
    pub fn build(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        self.options.options().check()?;
        if self.use_current_thread && pool::current_thread_index().is_some() {
            return Err(ThreadPoolBuildError::CurrentThreadInPool);
        }
        let here = PoolMachine::here();
        let usable = here.workers();
        let machine = self.machine.unwrap_or_else(|| here.get().clone());
        let threads = match self.num_threads {
            0 => rayon_threads(|name| env::var_os(name))
                .unwrap_or(usable.min(machine.workers().len())),
            threads => threads,
        };
        let threads = threads.min(max_num_threads());
        Ok(ThreadPool::new(threads, self.scheduler, machine, self.panic_handler))
    }

    /// Makes the pool the global one, in which `join`, `scope` and `spawn` run when called outside
    /// a pool.
    ///
    /// # Errors
    /// As [`Self::build`], and [`ThreadPoolBuildError::GlobalPoolExists`] if there is one already.
    pub fn build_global(self) -> Result<(), ThreadPoolBuildError> {
        ThreadPool::make_global(self.build()?).map_err(|_| ThreadPoolBuildError::GlobalPoolExists)
    }
}

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPoolBuilder")
            .field("num_threads", &self.num_threads)
            .field("scheduler", &self.scheduler)
            .field("machine", &self.machine.as_ref().map(|m| &m.name))
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
