//! Tasks one after another on one core: what each leaves in the caches for the next, and what an
//! order of them costs.
//!
//! ```text
//! Program ──Tasks: its leaf tasks' touches──► Core: caches, latencies, issue slots ──► cycles of any order
//!                                                └─► befit_cache::footprint::Frames ──► Cells per ordered pair (Pairs)
//! ```
//!
//! The simulator ([`crate::run`]) asks a policy which *ready* strand a worker takes. Here the
//! question is the other way round: all tasks are ready, and the order is the subject: tens of
//! orders of hundreds of thousands of tasks, some chosen by what the cache holds at that moment. So
//! tasks are taken out of the recording of the program and run in any order on a [`Core`], which is
//! one worker's caches ([`befit_cache::Hierarchy`]) and a clock. What a task touches always comes
//! from the recorded program.

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
