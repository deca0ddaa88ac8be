//! Pools.

use std::{error::Error, fmt};

use befit::{BroadcastContext, Scope, ScopeFifo, Yield};

use crate::{Configuration, ThreadPoolBuilder};

/// Threads that run what is given to them; see [`befit::ThreadPool`].
///
/// Dropping it returns at once: its threads end when all that was spawned has run.
pub struct ThreadPool {
    /// Some until it is dropped.
    pool: Option<befit::ThreadPool>,
}

impl From<befit::ThreadPool> for ThreadPool {
    fn from(pool: befit::ThreadPool) -> Self {
        Self { pool: Some(pool) }
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.take() {
            pool.detach();
        }
    }
}

impl ThreadPool {
    /// As [`ThreadPoolBuilder::build`].
    ///
    /// # Errors
    /// As there.
    #[deprecated(note = "use `ThreadPoolBuilder::build`")]
    pub fn new(configuration: Configuration) -> Result<Self, Box<dyn Error>> {
        ThreadPoolBuilder::from(configuration).build().map_err(Box::from)
    }

    fn befit(&self) -> &befit::ThreadPool {
        self.pool.as_ref().expect("it is there until it is dropped")
    }

    /// Runs `op` in the pool and returns its result.
    pub fn install<OP: FnOnce() -> R + Send, R: Send>(&self, op: OP) -> R {
        self.befit().install(op)
    }

    /// [`broadcast`](crate::broadcast) in this pool.
    pub fn broadcast<OP: Fn(BroadcastContext<'_>) -> R + Sync, R: Send>(&self, op: OP) -> Vec<R> {
        self.befit().broadcast(op)
    }

    /// The number of its threads.
    pub fn current_num_threads(&self) -> usize {
        self.befit().current_num_threads()
    }

    /// Which of its threads the caller is, if any.
    pub fn current_thread_index(&self) -> Option<usize> {
        self.befit().current_thread_index()
    }

    /// Whether the calling thread, if it is of this pool, has something of its own to run.
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        self.befit().current_thread_has_pending_tasks()
    }

    /// [`join`](crate::join) in this pool.
    pub fn join<A, B, RA, RB>(&self, oper_a: A, oper_b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.befit().join(oper_a, oper_b)
    }

    /// [`scope`](crate::scope()) in this pool.
    pub fn scope<'scope, OP: FnOnce(&Scope<'scope>) -> R + Send, R: Send>(&self, op: OP) -> R {
        self.befit().scope(op)
    }

    /// [`scope_fifo`](crate::scope_fifo) in this pool.
    pub fn scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        self.befit().scope_fifo(op)
    }

    /// [`in_place_scope`](crate::in_place_scope), whose tasks run in this pool.
    pub fn in_place_scope<'scope, OP: FnOnce(&Scope<'scope>) -> R, R>(&self, op: OP) -> R {
        self.befit().in_place_scope(op)
    }

    /// [`in_place_scope_fifo`](crate::in_place_scope_fifo), whose tasks run in this pool.
    pub fn in_place_scope_fifo<'scope, OP: FnOnce(&ScopeFifo<'scope>) -> R, R>(&self, op: OP) -> R {
        self.befit().in_place_scope_fifo(op)
    }

    /// [`spawn`](crate::spawn()) in this pool.
    pub fn spawn<OP: FnOnce() + Send + 'static>(&self, op: OP) {
        self.befit().spawn(op);
    }

    /// [`spawn_fifo`](crate::spawn_fifo) in this pool.
    pub fn spawn_fifo<OP: FnOnce() + Send + 'static>(&self, op: OP) {
        self.befit().spawn_fifo(op);
    }

    /// [`spawn_broadcast`](crate::spawn_broadcast) in this pool.
    pub fn spawn_broadcast<OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static>(&self, op: OP) {
        self.befit().spawn_broadcast(op);
    }

    /// Runs something else, if the calling thread is of this pool.
    pub fn yield_now(&self) -> Option<Yield> {
        self.befit().yield_now()
    }

    /// Runs something that waits at the calling thread, if that is of this pool.
    pub fn yield_local(&self) -> Option<Yield> {
        self.befit().yield_local()
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool")
            .field("num_threads", &self.current_num_threads())
            .finish_non_exhaustive()
    }
}
