//! Decides which worker runs what, and when: the [`Scheduler`] trait and the policies.
//!
//! A policy knows neither threads nor simulation. The *engine* that runs it says what became ready
//! ([`Scheduler::add`]), which worker is idle ([`Scheduler::get`]) and what ended
//! ([`Scheduler::done`]). Whatever else the policy needs (random numbers, the price of a lock) it
//! gets from its [`Env`]. So the same object drives real threads in `befit` and virtual ones in
//! `befit-sim`.

mod breakdown;
mod env;
pub mod footprint;
pub mod forks;
mod kind;
mod options;
mod policy;
mod scheduler;
pub mod sizes;
mod task;
mod thresholds;
mod tiers;

pub use breakdown::Breakdown;
pub use env::{CountSource, Env, Guarded, LockId, QuietEnv, WorkerCounts};
pub use kind::{SchedulerKind, UnknownScheduler, last_level_caches};
pub use options::{Counting, OptionChoices, OptionError, Options, PolicyOption};
pub use scheduler::{Ask, Capabilities, Finds, ForkOrder, Handle, Policy, Scheduler};
pub use task::{Ready, Stage, Strand, TaskInfo};
pub use thresholds::Thresholds;
pub use tiers::{Subtree, Tiers};
