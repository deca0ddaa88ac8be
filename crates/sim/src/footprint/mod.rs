//! Tasks one after another on one core: what each leaves in the caches for the next, and what an
//! order of them costs.
//!
//! ```text
//! Program ──Tasks: its leaf tasks' touches──► Core: caches, latencies, issue slots
//!                                               ├──► cycles of any order
//!                                               └─befit_cache::footprint::Frames─► Pairs:
//!                                                        the Cells of each ordered pair
//! ```
//!
//! The simulator ([`crate::run`]) asks a policy which *ready* strand a worker takes. Here all tasks
//! are ready, and the order is the subject: tens of orders of hundreds of thousands of tasks, some
//! chosen by the cache's contents at that moment. So tasks are taken out of the recording of the
//! program and run in any order on a [`Core`], which is one worker's caches
//! ([`befit_cache::Hierarchy`]) and a clock. A task's touches always come from the recording.

mod core;
mod oracle;
mod pairs;
mod run;
mod tasks;
#[cfg(test)]
mod tests;

pub use befit_cache::footprint::Cells;

pub use self::{
    core::{Core, Latencies, Reading},
    oracle::Oracle,
    pairs::{FootprintError, Pairs},
    run::{Charge, Fbs, How, Ran, in_order},
    tasks::Tasks,
};
