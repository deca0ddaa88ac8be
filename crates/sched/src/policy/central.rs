//! `central`: one queue that all workers share, oldest first.
//!
//! The simplest scheduler there is, and the first that runtimes have: libgomp's task queue of a
//! team is one. It keeps every worker busy, and knows nothing of caches: a task runs wherever a
//! worker is free. Its lock is the price. A worker takes the oldest entry, so that a tree of tasks
//! unfolds by levels, and many tasks wait at once; Narlikar & Blelloch, *Space-efficient scheduling
//! of nested parallelism* (TOPLAS 21(1), 1999), section 1, compare what that costs in memory.

use std::fmt::Debug;

use befit_machine::{ClusterId, WorkerId};

use super::queue::Queue;
use crate::{Ask, Capabilities, Env, Finds, Handle, LockId, Ready, Scheduler};

/// One queue for all.
#[derive(Debug)]
pub(crate) struct Central<T> {
    queue: Queue<T>,
}

impl<T: Handle> Central<T> {
    pub(crate) fn new() -> Self {
        Self { queue: Queue::new(LockId(0)) }
    }
}

impl<T: Handle> Scheduler<T> for Central<T> {
    fn name(&self) -> &'static str {
        "central"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            finds: Finds::Everything,
            follows_tasks: false,
            uses_sizes: false,
            ..Capabilities::default()
        }
    }

    fn add(&self, _: WorkerId, ready: Ready<T>, env: &mut dyn Env) -> ClusterId {
        self.queue.push_new(ready, env);
        ClusterId::ROOT
    }

    fn get(&self, _: WorkerId, ask: Ask<'_, T>, env: &mut dyn Env) -> Option<Ready<T>> {
        self.queue.pop_old(ask.accepts, env)
    }

    fn has_own(&self, _: WorkerId) -> bool {
        !self.queue.seems_empty()
    }
}
