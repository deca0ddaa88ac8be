//! The recorded form of the API: what `join`, `scope`, `spawn` and pools are in an instrumented
//! build (`--cfg befit_record`).
//!
//! Same names, same types, same results; but everything runs on the calling thread, in serial
//! order, and the task tree is written to the recording: `join(a, b)` as fork a … end, fork b …
//! end, sync, with no strand of our own in between. What runs in a pool, or in an outermost `join`,
//! `scope` or `spawn`, is recorded; what `main` does before and after is not. The recorder itself,
//! and how it keeps our own code out of what it sees, is `befit_record::inside`. Run without `befit
//! record`, such a build only runs serially.
//!
//! What cannot be the same: a detached task runs at once, so one that waits for what its spawner
//! does later waits for ever; options that are about threads (pinning, names, stack size, handlers,
//! who starts them) are taken and have no effect; pools count nothing; a broadcast runs once for
//! each thread that the pool was built for, but on one.

mod broadcast;
mod builder;
mod join;
mod pool;
mod scope;
mod spawn;
#[cfg(test)]
mod tests;
mod threads;
mod yields;

pub use broadcast::{BroadcastContext, broadcast};
pub use builder::ThreadPoolBuilder;
pub use join::{FnContext, join, join_context};
pub use pool::{
    ThreadPool, current_num_threads, current_thread_index, max_num_threads, with_current_machine,
};
pub use scope::{Scope, ScopeFifo, in_place_scope, in_place_scope_fifo, scope, scope_fifo};
pub use spawn::{spawn, spawn_broadcast, spawn_fifo};
pub use threads::{SpawnThread, ThreadBuilder};
pub use yields::{current_thread_has_pending_tasks, yield_local, yield_now};

use befit_record::inside::{self, Declared};

use crate::Work;

/// What `work` declares of itself.
#[inline(always)]
fn declared(work: &impl Work) -> Declared {
    (work.size(), work.strand())
}

/// Runs `f` where it is recorded: in the region that this thread is in, else in one of its own.
#[inline(always)]
fn in_region<R>(f: impl FnOnce() -> R) -> R {
    if inside::in_region() { f() } else { inside::region((None, None), f) }
}
