//! The settings of a pool.

use std::{any::Any, error::Error, fmt, io, thread};

use befit::{CustomSpawn, DefaultSpawn, SpawnThread, ThreadBuilder};

use crate::{Configuration, ThreadPool};

/// Sets up a [`ThreadPool`], or the global one; see [`befit::ThreadPoolBuilder`].
///
/// The number of threads comes from the first of these that is set: [`Self::num_threads`], the
/// variables `BEFIT_THREADS`, `RAYON_NUM_THREADS`, `RAYON_RS_NUM_CPUS`. The default is one for each
/// CPU that the process may use.
pub struct ThreadPoolBuilder<S = DefaultSpawn> {
    builder: befit::ThreadPoolBuilder<S>,
}

impl Default for ThreadPoolBuilder {
    fn default() -> Self {
        Self { builder: befit::ThreadPoolBuilder::new() }
    }
}

impl ThreadPoolBuilder {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets `with_pool` use a pool whose threads run within `wrapper`, and may so borrow from the
    /// caller.
    ///
    /// # Errors
    /// As [`Self::build`].
    pub fn build_scoped<W, F, R>(self, wrapper: W, with_pool: F) -> Result<R, ThreadPoolBuildError>
    where
        W: Fn(ThreadBuilder) + Sync,
        F: FnOnce(&ThreadPool) -> R,
    {
        let wrapper = &wrapper;
        thread::scope(|scope| {
            let spawn = |thread: ThreadBuilder| {
                thread.settings().spawn_scoped(scope, move || wrapper(thread)).map(drop)
            };
            let pool = self.spawn_handler(spawn).build()?;
            Ok(with_pool(&pool))
        })
    }
}

impl<S: SpawnThread> ThreadPoolBuilder<S> {
    /// Builds the pool.
    ///
    /// # Errors
    /// If a thread cannot be started, or a variable of the environment makes no sense.
    pub fn build(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        Ok(ThreadPool::from(self.builder.build()?))
    }

    /// Builds the global pool.
    ///
    /// # Errors
    /// As [`Self::build`], and if there is one.
    pub fn build_global(self) -> Result<(), ThreadPoolBuildError> {
        Ok(self.builder.build_global()?)
    }
}

impl<S> ThreadPoolBuilder<S> {
    fn map<T>(
        self,
        change: impl FnOnce(befit::ThreadPoolBuilder<S>) -> befit::ThreadPoolBuilder<T>,
    ) -> ThreadPoolBuilder<T> {
        ThreadPoolBuilder { builder: change(self.builder) }
    }

    /// Lets `spawn` start the threads.
    pub fn spawn_handler<F>(self, spawn: F) -> ThreadPoolBuilder<CustomSpawn<F>>
    where
        F: FnMut(ThreadBuilder) -> io::Result<()>,
    {
        ThreadPoolBuilder { builder: self.builder.spawn_handler(spawn) }
    }

    /// The number of threads; 0 for the default.
    pub fn num_threads(self, num_threads: usize) -> Self {
        self.map(|builder| builder.num_threads(num_threads))
    }

    /// The name of each thread.
    pub fn thread_name<F: FnMut(usize) -> String + 'static>(self, closure: F) -> Self {
        self.map(|builder| builder.thread_name(closure))
    }

    /// The calling thread becomes the pool's thread 0.
    pub fn use_current_thread(self) -> Self {
        self.map(befit::ThreadPoolBuilder::use_current_thread)
    }

    /// Receives the panics of spawned tasks; without it they abort the process.
    pub fn panic_handler<H>(self, panic_handler: H) -> Self
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        self.map(|builder| builder.panic_handler(panic_handler))
    }

    /// The size of the threads' stacks in bytes.
    pub fn stack_size(self, stack_size: usize) -> Self {
        self.map(|builder| if stack_size == 0 { builder } else { builder.stack_size(stack_size) })
    }

    /// Without effect. (In rayon-core, too, but for the order of spawned tasks; use
    /// [`scope_fifo`](crate::scope_fifo) and [`spawn_fifo`](crate::spawn_fifo).)
    #[deprecated(note = "use `scope_fifo` and `spawn_fifo` for similar effect")]
    pub fn breadth_first(self) -> Self {
        self
    }

    /// Each thread calls it first.
    pub fn start_handler<H: Fn(usize) + Send + Sync + 'static>(self, start_handler: H) -> Self {
        self.map(|builder| builder.start_handler(start_handler))
    }

    /// Each thread calls it last.
    pub fn exit_handler<H: Fn(usize) + Send + Sync + 'static>(self, exit_handler: H) -> Self {
        self.map(|builder| builder.exit_handler(exit_handler))
    }
}

impl From<Configuration> for ThreadPoolBuilder {
    fn from(configuration: Configuration) -> Self {
        configuration.into_builder()
    }
}

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPoolBuilder").field("builder", &self.builder).finish()
    }
}

/// The reason why [`ThreadPoolBuilder::build`] or one of its relatives failed.
#[derive(Debug)]
pub struct ThreadPoolBuildError(befit::ThreadPoolBuildError);

impl From<befit::ThreadPoolBuildError> for ThreadPoolBuildError {
    fn from(error: befit::ThreadPoolBuildError) -> Self {
        Self(error)
    }
}

impl fmt::Display for ThreadPoolBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            // Programs compare this one.
            befit::ThreadPoolBuildError::GlobalPoolExists => {
                f.write_str("The global thread pool has already been initialized.")
            }
            other => other.fmt(f),
        }
    }
}

impl Error for ThreadPoolBuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}
