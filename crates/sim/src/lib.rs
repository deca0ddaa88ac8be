//! Runs a recorded program on a described machine under a scheduler, in virtual time.
//!
//! ```text
//!   Program ──► tasks ──┐                       ┌── policy (befit-sched, the one that threads use)
//!                       ├──► engine ◄── events ─┤
//!   Machine ──► clock ──┘      │                └── costs of locks and steals
//!                              └──► caches (befit-cache) ──► memory controllers
//! ```
//!
//! The engine steps virtual workers in time order, a *slice* at a time: a worker feeds its strand's
//! line touches through the caches and pays for each until its clock has passed the next worker's
//! by a slice; where a strand ends, the engine tells the policy what became ready and asks it for
//! more. Nothing depends on the machine that simulates: equal seeds give equal outcomes.

mod clock;
mod engine;
mod env;
mod execution;
pub mod footprint;
mod memory;
mod occupancy;
mod outcome;
mod settings;
mod stall;
mod tasks;
#[cfg(test)]
mod tests;

pub use outcome::{LevelCounts, Occupancy, Outcome};
pub use settings::{Costs, Settings, SimError};

use befit_machine::Machine;
use befit_program::Program;
use befit_sched::Policy;

/// Runs `program` on `machine` as `settings` say. `progress` is told, from time to time, how many
/// line touches were simulated since it was last told.
///
/// Takes time linear in the program's line touches, and memory linear in its tasks and distinct
/// lines.
///
/// # Errors
/// Where the machine cannot be modelled, or (a defect of the policy) where ready strands are left
/// that no worker takes.
///
/// # Panics
/// Where the policy breaks the anchored or the bounded property: that is a defect of the policy,
/// never of the input.
pub fn run(
    program: &Program,
    machine: &Machine,
    settings: &Settings<impl Policy>,
    progress: &dyn Fn(u64),
) -> Result<Outcome, SimError> {
    engine::Engine::new(program, machine, settings, progress)?.run()
}
