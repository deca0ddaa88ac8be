//! How a pool's threads are started: by the pool, or by the program.

use std::{
    cell::Cell,
    fmt, io,
    marker::PhantomData,
    thread::{self, JoinHandle},
};

use super::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use crate::backend;

/// Threads are started by [`std::thread::Builder`].
#[derive(Clone, Copy, Debug, Default)]
pub struct DefaultSpawn;

/// Threads are started by a function of the program; see
/// [`ThreadPoolBuilder::spawn_handler`].
#[derive(Clone, Copy, Debug)]
pub struct CustomSpawn<F>(F);

mod sealed {
    /// Only this crate can implement it.
    pub trait Sealed {}
}

impl sealed::Sealed for DefaultSpawn {}
impl<F> sealed::Sealed for CustomSpawn<F> {}

/// How a [`ThreadPoolBuilder`] starts threads: [`DefaultSpawn`] or [`CustomSpawn`].
pub trait SpawnThread: sealed::Sealed {
    /// Starts a thread that runs `thread`; returns its handle, if the pool is to join it.
    #[doc(hidden)]
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<Option<JoinHandle<()>>>;

    /// Whether the program decides if a thread begins, and when.
    #[doc(hidden)]
    fn is_the_programs(&self) -> bool;
}

impl SpawnThread for DefaultSpawn {
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<Option<JoinHandle<()>>> {
        thread.settings().spawn(|| thread.run()).map(Some)
    }

    fn is_the_programs(&self) -> bool {
        false
    }
}

impl<F: FnMut(ThreadBuilder) -> io::Result<()>> SpawnThread for CustomSpawn<F> {
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<Option<JoinHandle<()>>> {
        (self.0)(thread).map(|()| None)
    }

    fn is_the_programs(&self) -> bool {
        true
    }
}

/// A thread of a pool that is to be started: what [`ThreadPoolBuilder::spawn_handler`] is given.
///
/// ```
/// use std::{io, thread};
///
/// fn start(thread: befit::ThreadBuilder) -> io::Result<()> {
///     let mut builder = thread::Builder::new();
///     if let Some(name) = thread.name() {
///         builder = builder.name(format!("{name} (number {})", thread.index()));
///     }
///     if let Some(bytes) = thread.stack_size() {
///         builder = builder.stack_size(bytes);
///     }
///     builder.spawn(|| thread.run()).map(drop)
/// }
///
/// let builder = befit::ThreadPoolBuilder::new().num_threads(1).thread_name(|_| "sum".into());
/// let pool = builder.stack_size(1 << 20).spawn_handler(start).build().unwrap();
/// let name = pool.install(|| thread::current().name().map(str::to_owned));
/// assert_eq!(name.as_deref(), Some("sum (number 0)"));
/// ```
pub struct ThreadBuilder {
    pub(crate) start: backend::Start,
    pub(crate) index: usize,
    pub(crate) name: String,
    pub(crate) stack_size: Option<usize>,
    /// It is one thread's: it may later hold things that are not to be shared.
    pub(crate) not_sync: PhantomData<Cell<()>>,
}

impl ThreadBuilder {
    /// Which thread of the pool it is, from 0.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The name that it should have. There is always one.
    pub fn name(&self) -> Option<&str> {
        Some(&self.name)
    }

    /// The size in bytes that its stack should have, if one was asked for.
    pub fn stack_size(&self) -> Option<usize> {
        self.stack_size
    }

    /// Makes the calling thread this thread of the pool. Returns when the pool ends.
    pub fn run(self) {
        self.start.run(self.index, self.stack_size);
    }

    /// What starts a thread with this name and stack size.
    ///
    /// ```
    /// use befit::{ThreadBuilder, ThreadPoolBuilder};
    ///
    /// let start = |thread: ThreadBuilder| thread.settings().spawn(|| thread.run()).map(drop);
    /// let builder = ThreadPoolBuilder::new().num_threads(1).thread_name(|_| "sum".into());
    /// let pool = builder.spawn_handler(start).build().unwrap();
    /// let name = pool.install(|| std::thread::current().name().map(str::to_owned));
    /// assert_eq!(name.as_deref(), Some("sum"));
    /// ```
    pub fn settings(&self) -> thread::Builder {
        let builder = thread::Builder::new().name(self.name.clone());
        match self.stack_size {
            Some(bytes) => builder.stack_size(bytes),
            None => builder,
        }
    }
}

impl fmt::Debug for ThreadBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadBuilder")
            .field("index", &self.index)
            .field("name", &self.name)
            .field("stack_size", &self.stack_size)
            .finish_non_exhaustive()
    }
}

impl<S> ThreadPoolBuilder<S> {
    /// Lets `spawn` start the threads. It is called once for each, with what it must
    /// [run](ThreadBuilder::run) on it.
    ///
    /// Name and stack size are for `spawn` to heed: [`ThreadBuilder`] shows how. Dropping the pool
    /// waits for all of these threads that have begun to run. One that is kept back until then is
    /// not waited for, and returns from [`run`](ThreadBuilder::run) at once. (rayon's pools wait
    /// for none when they are dropped.) A [`broadcast`](crate::broadcast) waits for every thread,
    /// though.
    ///
    /// ```
    /// use std::{io, thread};
    ///
    /// fn start(thread: befit::ThreadBuilder) -> io::Result<()> {
    ///     let name = format!("mine-{}", thread.index());
    ///     thread::Builder::new().name(name).spawn(|| thread.run()).map(drop)
    /// }
    ///
    /// let builder = befit::ThreadPoolBuilder::new().num_threads(1);
    /// let pool = builder.spawn_handler(start).build().unwrap();
    /// let name = pool.install(|| thread::current().name().map(str::to_owned));
    /// assert_eq!(name.as_deref(), Some("mine-0"));
    /// ```
    pub fn spawn_handler<F>(self, spawn: F) -> ThreadPoolBuilder<CustomSpawn<F>>
    where
        F: FnMut(ThreadBuilder) -> io::Result<()>,
    {
        ThreadPoolBuilder { settings: self.settings, spawn: CustomSpawn(spawn) }
    }
}

impl ThreadPoolBuilder {
    /// Builds a pool for the length of a call of `with_pool`, and returns what that does. On each
    /// thread `wrapper` is called, which must [run](ThreadBuilder::run) it. All threads have ended
    /// when this returns, so both may borrow from the caller.
    ///
    /// ```
    /// // A value that the threads know as a thread-local, without its being `'static`.
    /// let greeting = String::from("hello");
    /// # mod greeting {
    /// #     use std::cell::Cell;
    /// #     thread_local! { static LEN: Cell<usize> = const { Cell::new(0) } }
    /// #     pub fn set(text: &str) { LEN.set(text.len()) }
    /// #     pub fn len() -> usize { LEN.get() }
    /// # }
    /// let wrapper = |thread: befit::ThreadBuilder| {
    ///     greeting::set(&greeting);
    ///     thread.run();
    /// };
    /// let builder = befit::ThreadPoolBuilder::new().num_threads(2);
    /// let lengths = builder.build_scoped(wrapper, |pool| pool.broadcast(|_| greeting::len()));
    /// assert_eq!(lengths.unwrap(), [5, 5]);
    /// ```
    ///
    /// # Errors
    /// As [`Self::build`].
    ///
    /// # Panics
    /// If `with_pool` or a call of `wrapper` panics.
    pub fn build_scoped<W, F, R>(self, wrapper: W, with_pool: F) -> Result<R, ThreadPoolBuildError>
    where
        W: Fn(ThreadBuilder) + Sync,
        F: FnOnce(&ThreadPool) -> R,
    {
        thread::scope(|scope| {
            let wrapper = &wrapper;
            let spawn = |thread: ThreadBuilder| {
                thread.settings().spawn_scoped(scope, move || wrapper(thread)).map(drop)
            };
            let pool = self.spawn_handler(spawn).build()?;
            Ok(with_pool(&pool))
        })
    }
}
