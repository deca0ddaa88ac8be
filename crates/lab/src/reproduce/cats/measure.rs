//! Simulating one program under the schedulers that are compared.

use std::num::NonZeroU32;

use befit_machine::Machine;
use befit_program::Program;
use befit_sched::{Options, SchedulerKind, Tiers};

use crate::{
    LabError, Progress, Run, Sampling, Seeds, SimulationPlan, reproduce::identity::Leaves,
};

/// The baseline first.
pub(super) const SCHEDULERS: [SchedulerKind; 3] =
    [SchedulerKind::CilkA, SchedulerKind::Cats, SchedulerKind::CatsS];

/// A program under one scheduler: medians over the seeds.
pub(super) struct Measured {
    pub(super) scheduler: SchedulerKind,
    /// Cycles.
    pub(super) time: f64,
    /// Misses, in lines, by level from the innermost; those of the last level as
    /// [`Summary::last_level_misses`](crate::Summary::last_level_misses).
    pub(super) misses: Vec<f64>,
    /// Lines served by the private cache of a worker under the same last-level cache.
    pub(super) siblings: f64,
    /// The share of leaves on the same socket as the last time.
    pub(super) stayed: f64,
    /// The share of workers' time without work.
    pub(super) idle: f64,
    /// Of the first seed.
    pub(super) tiers: Option<Tiers>,
}

/// Simulates `program` on `machine` under all of [`SCHEDULERS`].
pub(super) fn measure(
    program: &Program,
    machine: &Machine,
    seeds: NonZeroU32,
    progress: &dyn Progress,
) -> Result<Vec<Measured>, LabError> {
    let leaves = Leaves::of(program);
    let plan = SimulationPlan {
        machines: vec![machine.clone()],
        schedulers: SCHEDULERS.to_vec(),
        seeds: Seeds::Fixed(seeds),
        options: Options::default(),
        shrink: 1,
        sampling: Sampling::Off,
    };
    let measured = plan.outcomes(program, progress, |settings, outcome| {
        let mut misses: Vec<_> = outcome.levels.iter().map(|level| level.misses.0 as f64).collect();
        if let Some(last) = misses.last_mut() {
            *last = Run::of(&outcome).misses.0 as f64;
        }
        let idle: u64 = outcome.workers.iter().map(|worker| worker.idle.0).sum();
        let whole = (outcome.time.0 * outcome.workers.len() as u64).max(1);
        Measured {
            scheduler: settings.scheduler,
            time: outcome.time.0 as f64,
            misses,
            siblings: outcome.sibling_hits.0 as f64,
            stayed: leaves.stayed(machine, &outcome.started_on),
            idle: idle as f64 / whole as f64,
            tiers: outcome.tiers,
        }
    })?;
    Ok(measured.chunks(seeds.get() as usize).map(middle).collect())
}

/// The median of each number.
fn middle(runs: &[Measured]) -> Measured {
    let median = |of: &dyn Fn(&Measured) -> f64| {
        let mut values: Vec<_> = runs.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[(values.len() - 1) / 2]
    };
    Measured {
        scheduler: runs[0].scheduler,
        time: median(&|run| run.time),
        misses: (0..runs[0].misses.len()).map(|level| median(&|run| run.misses[level])).collect(),
        siblings: median(&|run| run.siblings),
        stayed: median(&|run| run.stayed),
        idle: median(&|run| run.idle),
        tiers: runs[0].tiers.clone(),
    }
}

impl Measured {
    /// Misses of the last level.
    pub(super) fn last(&self) -> f64 {
        self.misses.last().copied().unwrap_or(0.0)
    }
}
