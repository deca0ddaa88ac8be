//! How threads would be started, if there were any.

use std::{cell::Cell, convert::Infallible, io, marker::PhantomData, thread};

use super::{ThreadPool, ThreadPoolBuilder};
use crate::{CustomSpawn, DefaultSpawn, ThreadPoolBuildError, spawn_kind::sealed};

/// How a [`ThreadPoolBuilder`] would start threads: [`DefaultSpawn`] or [`CustomSpawn`].
pub trait SpawnThread: sealed::Sealed {}

impl SpawnThread for DefaultSpawn {}
impl<F: FnMut(ThreadBuilder) -> io::Result<()>> SpawnThread for CustomSpawn<F> {}

/// A thread of a pool that is to be started: there is none.
#[derive(Debug)]
pub struct ThreadBuilder {
    never: Infallible,
    /// As the real one: it may be sent, but not shared.
    not_sync: PhantomData<Cell<()>>,
}

impl ThreadBuilder {
    /// Which thread of the pool it is.
    pub fn index(&self) -> usize {
        match self.never {}
    }

    /// The name that it should have.
    pub fn name(&self) -> Option<&str> {
        match self.never {}
    }

    /// The size in bytes that its stack should have.
    pub fn stack_size(&self) -> Option<usize> {
        match self.never {}
    }

    /// What would start a thread with this name and stack size.
    pub fn settings(&self) -> thread::Builder {
        match self.never {}
    }

    /// Makes the calling thread this thread of the pool.
    pub fn run(self) {
        match self.never {}
    }
}

impl<S> ThreadPoolBuilder<S> {
    /// Without effect: no thread is started.
    pub fn spawn_handler<F>(self, spawn: F) -> ThreadPoolBuilder<CustomSpawn<F>>
    where
        F: FnMut(ThreadBuilder) -> io::Result<()>,
    {
        self.with_spawn(CustomSpawn(spawn))
    }
}

impl ThreadPoolBuilder {
    /// Builds a pool for the length of a call of `with_pool`, and answers what that does. `wrapper`
    /// is not called, as no thread is started: what it would give to a thread the caller must have
    /// itself.
    ///
    /// # Errors
    /// As [`Self::build`].
    pub fn build_scoped<W, F, R>(self, wrapper: W, with_pool: F) -> Result<R, ThreadPoolBuildError>
    where
        W: Fn(ThreadBuilder) + Sync,
        F: FnOnce(&ThreadPool) -> R,
    {
        let _ = wrapper;
        Ok(with_pool(&self.build()?))
    }
}
