//! The recorded form of the API: what `join`, `scope`, `spawn` and pools are in an instrumented build (`--cfg befit_record`).
//!
//! Same names, same types, same results; but everything runs on the calling thread, in serial order, and the task tree is written to
//! the recording: `join(a, b)` as fork a … end, fork b … end, sync, with no strand of our own in between. What runs in a pool, or in
//! an outermost `join`, `scope` or `spawn`, is recorded; what `main` does before and after is not. The recorder itself, and how it
//! keeps our own code out of what it sees, is `befit_record::inside`. Run without `befit record`, such a build only runs serially.
//!
//! What cannot be the same: a detached task runs at once, so one that waits for what its spawner does later waits for ever; options
//! that are about threads (pinning, names, stack size) are taken and have no effect; pools count nothing.

mod builder;
mod join;
mod pool;
mod scope;
mod spawn;

pub use builder::ThreadPoolBuilder;
pub use join::join;
pub use pool::{ThreadPool, current_num_threads, current_thread_index};
pub use scope::{Scope, scope};
pub use spawn::spawn;

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
