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

mod account;
mod atomics;
mod bounds;
mod clock;
mod engine;
mod entry;
mod env;
mod execution;
pub mod footprint;
mod forks;
mod frames;
mod hardware;
mod herd;
mod hot;
mod idle;
mod jobs;
mod ledger;
mod memory;
mod occupancy;
mod outbox;
mod outcome;
mod runs;
pub mod sampled;
mod settings;
mod tasks;
#[cfg(test)]
mod tests;
mod tlb;
mod trace;
mod waits;
mod wire;
pub mod work;

pub use account::{Account, Contended, Part};
pub use bounds::Bounds;
pub use ledger::{Ledger, MissCounts};
pub use outcome::{LevelCounts, Occupancy, Outcome};
pub use settings::{Costs, Settings, SimError};
pub use trace::{Claimed, Stay, Steal, Trace};

use befit_machine::{Bytes, ClusterId, Machine};
use befit_program::{Program, Sample};
use befit_sched::Policy;

/// Runs `program` on `machine` as `settings` say. From time to time `progress` is called with the
/// number of line touches simulated since its last call.
///
/// Takes time linear in the program's line touches, and memory linear in its tasks and distinct
/// lines.
///
/// # Errors
/// Where the machine cannot be modelled, or (a defect of the policy) where ready strands are left
/// that no worker takes, or where it would be faster than the program's work and span allow, or
/// where the program's operations would take longer than virtual time can hold.
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
    run_within(program, None, machine, settings, Bounds::of(program, machine), progress)
}

/// As [`run`], with the bounds of `program` on `machine` found before: they are the same for all
/// settings. Given a `sample` of the program, only its lines go through the caches, as
/// [`sampled`] says, and counts and times are estimates of the whole program's.
///
/// # Errors
/// As [`run`]; and where the machine cannot be sampled so ([`sampled::groups`]).
///
/// # Panics
/// As [`run`].
pub fn run_within(
    program: &Program,
    sample: Option<&Sample>,
    machine: &Machine,
    settings: &Settings<impl Policy>,
    bounds: Bounds,
    progress: &dyn Fn(u64),
) -> Result<Outcome, SimError> {
    bounds.check_length()?;
    let engine = engine::Engine::new(program, sample, machine, settings, progress)?;
    checked(engine.run()?.0, bounds, machine)
}

/// As [`run_within`] of a whole program, and writes down what the run looks like.
///
/// # Errors
/// As [`run`].
///
/// # Panics
/// As [`run`].
pub fn run_traced(
    program: &Program,
    machine: &Machine,
    settings: &Settings<impl Policy>,
    bounds: Bounds,
    progress: &dyn Fn(u64),
) -> Result<(Outcome, Trace), SimError> {
    bounds.check_length()?;
    let engine = engine::Engine::new(program, None, machine, settings, progress)?;
    let (outcome, trace) = engine.traced().run()?;
    Ok((checked(outcome, bounds, machine)?, trace.unwrap_or_default()))
}

/// As [`run`], and books which lines of the source, and which data, the misses come from.
///
/// # Errors
/// As [`run`].
///
/// # Panics
/// As [`run`].
pub fn run_booked(
    program: &Program,
    machine: &Machine,
    settings: &Settings<impl Policy>,
    progress: &dyn Fn(u64),
) -> Result<(Outcome, Ledger), SimError> {
    let bounds = Bounds::of(program, machine);
    bounds.check_length()?;
    let mut engine = engine::Engine::new(program, None, machine, settings, progress)?;
    let booking = ledger::Booking::new(
        program,
        line_size(machine, program.meta().line_size).map_err(SimError::Machine)?.1,
    );
    engine.hardware.booking = Some(Box::new(booking));
    let (outcome, ledger) = engine.run_booked()?;
    Ok((checked(outcome, bounds, machine)?, ledger))
}

/// `outcome` with the bounds, which it must keep.
fn checked(mut outcome: Outcome, bounds: Bounds, machine: &Machine) -> Result<Outcome, SimError> {
    (outcome.work, outcome.span) = (bounds.work, bounds.span);
    bounds.check(&outcome, machine.workers().len())?;
    Ok(outcome)
}

/// The bytes of the machine's lines, and, as a power of two, how many recorded lines of `recorded`
/// bytes each of them holds. An error says why they cannot be simulated: they must be a power of
/// two, and no finer than the recorded ones.
fn line_size(machine: &Machine, Bytes(recorded): Bytes) -> Result<(u64, u32), String> {
    let caches = machine.clusters().iter().filter_map(|cluster| cluster.cache);
    let line = caches.map(|cache| cache.line.0).max().unwrap_or(64);
    if line < recorded || !line.is_power_of_two() {
        let than = format!("finer than the recorded ones of {recorded}");
        return Err(format!("its lines of {line} bytes are {than}"));
    }
    Ok((line, (line / recorded).trailing_zeros()))
}

/// Cycles that a line takes from the cache of `cluster`, or from memory, which is the root.
fn latency(machine: &Machine, cluster: ClusterId) -> u64 {
    machine.cluster(cluster).cache.map_or(machine.memory.latency.0, |cache| cache.latency.0)
}
