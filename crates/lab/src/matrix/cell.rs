//! One program on one machine under one scheduler.

use std::num::NonZeroU32;

use befit_machine::Cycles;
use befit_program::Program;
use serde::{Deserialize, Serialize};

use super::{BASELINE, DataSize};
use crate::{Interval, LabError, Progress, Seeds, SimulationPlan, Summary};

/// A cell is memory-bound if at least this share of work stealing's time is gone where memory, and
/// other last-level caches, are as quick as the worker's own.
pub const MEMORY_BOUND: f64 = 0.2;

/// One program on one machine under one scheduler; serialised, a cell of `befit.matrix/1`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Cell {
    /// The command that was recorded, for people: `rrm --n 786432 --shrink 8`.
    pub program: String,
    /// The program's name alone.
    pub name: String,
    /// Its data, against all last-level caches together.
    pub size: DataSize,
    /// True if nobody looked at the program while our own policy was designed.
    pub kept_apart: bool,
    /// The machine's name.
    pub machine: String,
    /// How many times smaller the machine's caches are in the model that was simulated.
    pub shrink: u32,
    /// Whether `memory_share` is at least [`MEMORY_BOUND`].
    pub memory_bound: bool,
    /// The share of work stealing's time that is gone where memory, and other last-level caches,
    /// are as quick as the worker's own.
    pub memory_share: f64,
    /// The scheduler, and what it does.
    #[serde(flatten)]
    pub measured: MeasuredCell,
}

/// What a scheduler does with a program on a machine.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MeasuredCell {
    /// The policy's name.
    pub scheduler: String,
    /// The number of seeds.
    pub seeds: u32,
    /// The median of its running time, in cycles.
    pub time_cycles: u64,
    /// Its running time over work stealing's: the mean over the seeds.
    pub time_vs_ws: f64,
    /// The 95 % interval of that.
    pub time_interval: [f64; 2],
    /// Its last-level misses over work stealing's; none where only work stealing has none.
    pub l3_vs_ws: Option<f64>,
    /// The share of the workers' time in which they have no work.
    pub idle: f64,
}

/// The cells of one program on one machine.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Group {
    pub(super) memory_share: f64,
    /// By scheduler, the baseline first.
    pub(super) measured: Vec<MeasuredCell>,
}

/// Simulates `program` as `plan` says: under all of its schedulers, on its one machine.
pub(super) fn group(
    program: &Program,
    plan: &SimulationPlan,
    progress: &dyn Progress,
) -> Result<Group, LabError> {
    let fast = SimulationPlan {
        machines: plan.machines.iter().map(|m| m.clone().with_memory_like_cache()).collect(),
        schedulers: vec![BASELINE],
        seeds: Seeds::Fixed(NonZeroU32::MIN),
        ..plan.clone()
    };
    let without = fast.outcomes(program, progress, |_, outcome| outcome.time)?;
    let summaries = plan.simulate_unaccounted(program, progress)?;
    let with = summaries.first().and_then(|ws| ws.runs.first()).map(|run| run.time);
    let (Some(with), Some(without)) = (with, without.first()) else {
        return Err(LabError::Failed(format!("nothing of {} was simulated", program.meta().name)));
    };
    Ok(Group {
        memory_share: share_gone(with, *without),
        measured: summaries.iter().map(MeasuredCell::of).collect(),
    })
}

/// The share of `with` that is gone in `without`; none where that is longer.
fn share_gone(with: Cycles, without: Cycles) -> f64 {
    (1.0 - without.0 as f64 / with.0.max(1) as f64).max(0.0)
}

impl MeasuredCell {
    fn of(summary: &Summary) -> Self {
        let same = Interval { estimate: 1.0, low: 1.0, high: 1.0 };
        let time = summary.ratio.unwrap_or(same);
        Self {
            scheduler: summary.scheduler.name().to_owned(),
            seeds: summary.seeds,
            time_cycles: summary.time.median.0,
            time_vs_ws: time.estimate,
            time_interval: [time.low, time.high],
            l3_vs_ws: summary.misses_ratio.map(|ratio| ratio.estimate),
            idle: summary.shares().idle,
        }
    }
}

#[cfg(test)]
mod tests {
    use befit_sched::{Options, SchedulerKind};

    use super::*;
    use crate::{Sampling, Silent, testing};

    #[test]
    fn a_group_has_a_cell_for_each_scheduler_and_its_share_of_memory() {
        let plan = SimulationPlan {
            machines: vec![testing::machine(2)],
            schedulers: vec![BASELINE, SchedulerKind::Sb],
            seeds: Seeds::Fixed(NonZeroU32::new(2).unwrap()),
            options: Options::default(),
            shrink: 1,
            sampling: Sampling::Off,
        };
        let group = group(&testing::program(), &plan, &Silent).unwrap();
        let [ws, sb] = &group.measured[..] else { panic!("{group:?}") };
        assert_eq!((&ws.scheduler[..], &sb.scheduler[..]), ("ws", "sb"));
        assert_eq!((ws.time_vs_ws, ws.time_interval, ws.l3_vs_ws), (1.0, [1.0; 2], Some(1.0)));
        let [low, high] = sb.time_interval;
        assert!(low <= sb.time_vs_ws && sb.time_vs_ws <= high, "{sb:?}");
        // 128 KiB of data are read twice, through last-level caches of 64 KiB.
        assert!((0.1..1.0).contains(&group.memory_share), "{group:?}");
    }

    #[test]
    fn nothing_is_gone_where_quick_memory_takes_longer() {
        assert_eq!(share_gone(Cycles(100), Cycles(75)), 0.25);
        assert_eq!(share_gone(Cycles(100), Cycles(101)), 0.0);
    }
}
