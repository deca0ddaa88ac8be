//! Fork-join parallelism that runs each task where its data *befits* the cache.
//!
//! [`join`] runs two closures, maybe in parallel; [`scope`](scope()) any number that may borrow
//! from the caller; [`spawn`] one that nobody waits for. They run in a [`ThreadPool`] under a
//! scheduler ([`SchedulerKind`]): `ws`, plain work stealing, unless
//! [`ThreadPoolBuilder::scheduler`] or the variable `BEFIT_SCHEDULER` says otherwise. Others steal
//! near first, bind each task to the smallest cache that its data fits in (`sb`), or give a task
//! the same part of the workers each time (`homes`). Those that place by size need sizes: wrap
//! closures with [`fit`](fit()), which takes the bytes that the closure touches, with all that it
//! forks.
//!
//! ```
//! use befit::{SchedulerKind, ThreadPoolBuilder, fit, join};
//!
//! fn scale(v: &mut [f64]) {
//!     if v.len() <= 4096 {
//!         return v.iter_mut().for_each(|x| *x *= 2.0);
//!     }
//!     let (left, right) = v.split_at_mut(v.len() / 2);
//!     join(
//!         fit(size_of_val(left), || scale(left)),
//!         fit(size_of_val(right), || scale(right)),
//!     );
//! }
//!
//! let mut v = vec![1.0; 100_000];
//! let pool = ThreadPoolBuilder::new().scheduler(SchedulerKind::Sb).build().unwrap();
//! pool.install(|| scale(&mut v));
//! assert!(v.iter().all(|x| *x == 2.0));
//! ```
//!
//! Loops over slices need no declaration, as they know their sizes: [`par_for_each_mut`],
//! [`par_chunks_mut`], [`par_map_reduce`]; [`par_for`] goes over numbers.
//!
//! The rest has the names that it has in rayon: [`join_context`], [`scope_fifo`],
//! [`in_place_scope`], [`broadcast`], [`yield_now`] and so on.
//!
//! Recursions down to leaves of a few instructions can be written as a [`Task`] instead of
//! closures: then they cost what they cost without forks.
//!
//! Batches of many small tasks that wait for memory, look-ups in a large index say, have a queue of
//! their own, in the crate `befit-queue`.
//!
//! # Layers
//! `api` is the interface, written once. It stands on the functions of a backend: `threads`, with
//! workers and a scheduling policy, or in an instrumented build (`--cfg befit_record`) `serial`,
//! which runs everything on the calling thread and records the tree of tasks.
//!
//! # What real threads cannot do
//! A closure goes on, after a join, on the thread that called `join`: Rust's thread safety asks for
//! it. So a scheduler cannot refuse or move a continuation; under `sb` and `sb-d` a cache may
//! therefore be claimed beyond its size for a while.

#![cfg_attr(
    befit_record,
    allow(dead_code, unused_imports, reason = "what is about threads has no effect")
)]

mod api;
mod captured;
mod environment;
mod learned;
mod machine;
#[cfg(befit_record)]
mod serial;
mod stats;
#[cfg(not(befit_record))]
mod system;
#[cfg(not(befit_record))]
mod threads;

#[cfg(befit_record)]
use self::serial as backend;
#[cfg(not(befit_record))]
use self::threads as backend;
pub use befit_machine::{Level, Machine};
pub use befit_sched::{
    CountSource, Counting, OptionError, Options, SchedulerKind, Subtree, Tiers, WorkerCounts,
    sizes::{SizeTable, SizeTableError},
};

#[doc(hidden)]
pub use self::environment::check_environment;
pub use self::{
    api::*,
    stats::{Statistics, WorkerStatistics, WorkerTime},
};
