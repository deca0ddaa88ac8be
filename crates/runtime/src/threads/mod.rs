//! The backend on real threads: pools, their workers, and the two layers that a fork passes.
//!
//! *Below*: [`fork`] inlines forks that are not worth their price, and keeps each worker's pending
//! forks in a list that only it uses; a fork that nobody needs never leaves it. *Above*: [`engine`]
//! gives the forks that others need to the scheduling policy of `befit-sched`, the same object that
//! the simulator drives. [`worker`] is one thread, [`registry`] what a pool's threads share,
//! [`handle`] how they start and end, [`scope`] what lives on the heap, [`deque`] what spawned
//! tasks wait in, and [`marks`] where there are any; [`latch`] and [`sleep`] are how workers wait.

mod claim;
mod deque;
mod engine;
mod fork;
mod handle;
mod latch;
#[cfg(all(test, loom))]
mod loom;
mod marks;
mod memory;
mod primitive;
mod registry;
mod scope;
#[cfg(all(test, shuttle))]
mod shuttle;
mod sizer;
mod sleep;
#[cfg(all(test, not(loom)))]
#[cfg_attr(shuttle, allow(dead_code, reason = "most of it is for `tests`"))]
pub(crate) mod testing;
// Shuttle runs none of them, and they take long to build.
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
mod worker;

use std::sync::Arc;

use befit_sched::TaskInfo;

pub(crate) use self::{
    claim::usable_cpus,
    engine::AnyPolicy,
    fork::{is_inlined, join, join_at_length},
    handle::{Handle, Start},
    registry::Registry,
    scope::{Base, Fifos, open as scope, spawn_broadcast_into, spawn_fifo_into, spawn_into},
    worker::Worker,
};
use crate::api::global;
pub(crate) use crate::environment::PROCESS as ENVIRONMENT;

/// Calls `f` with the pool that the calling thread runs in; outside one: with the global pool.
pub(crate) fn with_current<R>(f: impl FnOnce(&Arc<Registry>) -> R) -> R {
    Worker::with_current(|worker| match worker {
        Some(worker) => f(worker.registry()),
        None => f(global()),
    })
}

/// Calls `f` with the worker that the calling thread is, if it is one, of `pool` if that is given.
pub(crate) fn this_worker<R>(
    pool: Option<&Arc<Registry>>,
    f: impl FnOnce(&Worker) -> R,
) -> Option<R> {
    let own = |worker: &&Worker| pool.is_none_or(|pool| Arc::ptr_eq(worker.registry(), pool));
    Worker::with_current(|worker| worker.filter(own).map(f))
}

/// Runs `op` on a worker: on the calling thread if it is one, else on one of the global pool.
fn current_or_global<R: Send>(op: impl FnOnce(&Worker) -> R + Send) -> R {
    Worker::with_current(|worker| match worker {
        Some(worker) => op(worker),
        None => global().install_outside(TaskInfo::root(None, None), op),
    })
}

/// A number for the worker that this thread is, which no other living worker has; 0 if it is none.
/// A thread is one worker as long as user code runs on it, so the number distinguishes threads.
#[inline(always)]
pub(crate) fn worker_address() -> usize {
    Worker::with_current(|worker| worker.map_or(0, |worker| std::ptr::from_ref(worker).addr()))
}

/// Runs `f`: nothing is recorded.
#[inline(always)]
pub(crate) fn unrecorded<R>(f: impl FnOnce() -> R) -> R {
    f()
}
