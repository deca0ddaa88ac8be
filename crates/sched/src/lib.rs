//! Decides which worker runs what, and when: the [`Scheduler`] trait and the policies.
//!
//! A policy knows neither threads nor simulation. What runs it (the *engine*) tells it what became
//! ready ([`Scheduler::add`]), which worker is idle ([`Scheduler::get`]) and what ended
//! ([`Scheduler::done`]); whatever the policy needs of the world (random numbers, the price of a
//! lock) it asks of its [`Env`]. So one and the same object drives real threads in `befit` and
//! virtual ones in `befit-sim`.

mod counts;
mod env;
pub mod footprint;
mod lock;
mod options;
pub mod policy;
mod report;
mod scheduler;
mod task;
mod thresholds;

pub use counts::{CountSource, WorkerCounts};
pub use env::{Env, LockId, QuietEnv};
pub use lock::Guarded;
pub use options::{Counting, OptionChoices, OptionError, Options, PolicyOption, UnknownScheduler};
pub use report::{Subtree, Tiers};
pub use scheduler::{ForkOrder, Scheduler, SchedulerKind, Strand};
pub use task::{Ready, Stage, TaskInfo};
pub use thresholds::Thresholds;
