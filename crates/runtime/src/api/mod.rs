//! The public interface, written once over the functions of a backend.
//!
//! `crate::backend` is `threads`, or in an instrumented build `serial`. Either provides:
//! - `join`, `join_at_length` and `is_inlined`, for forks;
//! - `scope`, `spawn_into`, `spawn_fifo_into` and `spawn_broadcast_into`, over a `Base`, for
//!   scopes;
//! - `with_current` and `this_worker`, which find the caller's pool and thread;
//! - a `Pool` with `run`, `in_place_scope`, `spawn`, `spawn_fifo` and `spawn_broadcast`;
//! - a `Handle`, which builds a pool and ends it, and the `Start` of a thread;
//! - `worker_address`, by which `join_context` tells threads apart, and `unrecorded`.

pub(crate) mod builder;
mod error;
mod fit;
mod join;
mod loops;
mod pool;
mod scope;
mod spawn;
mod task;
mod thread;
mod yields;

pub(crate) use self::{
    builder::{Decided, Handlers, Settings, ThreadHandler},
    join::calls,
    pool::global,
    scope::Kind,
};
pub use self::{
    builder::{Pin, ThreadPoolBuilder, WaitPolicy},
    error::{JoinThreadsError, ThreadPoolBuildError},
    fit::{Fit, Work, fit},
    join::{FnContext, join, join_context},
    loops::{par_chunks_mut, par_for, par_for_each_mut, par_map_reduce},
    pool::{
        ThreadPool, current_num_threads, current_thread_index, max_num_threads,
        with_current_machine,
    },
    scope::{Scope, ScopeFifo, in_place_scope, in_place_scope_fifo, scope, scope_fifo},
    spawn::{BroadcastContext, broadcast, spawn, spawn_broadcast, spawn_fifo},
    task::{Forkable, Forks, Task, run},
    thread::{CustomSpawn, DefaultSpawn, SpawnThread, ThreadBuilder},
    yields::{Yield, current_thread_has_pending_tasks, yield_local, yield_now},
};
#[cfg(all(test, not(any(loom, shuttle))))]
pub(crate) use self::{
    loops::{LEAF_BYTES, grain},
    task::{FOUR, Forking},
};
