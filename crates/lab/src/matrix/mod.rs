//! Programs × machines × schedulers: the whole picture of what schedulers do.
//!
//! ```text
//! programs × sizes ──record──► Program ─┐
//! machines ──models, small enough───────┴─► a group of cells: all schedulers on one row
//!                                              │  kept by content, so that a matrix that was
//!                                              ▼  stopped goes on where it was
//!                                           Matrix: cells, and how each scheduler stands
//! ```
//!
//! Whether a cell is *memory-bound* is known before any other scheduler than work stealing is
//! looked at: work stealing runs once more, on the same machine with memory as quick as its
//! last-level cache and with wires that never bind. The cell is memory-bound if at least
//! [`MEMORY_BOUND`] of the time is gone.

mod cell;
mod kept;
mod machines;
mod programs;
mod remaining;
mod standing;

use std::num::NonZeroU32;

use befit_machine::Machine;
use befit_program::Program;
use befit_sched::{Options, SchedulerKind};
use serde::Serialize;

pub use cell::{Cell, MEMORY_BOUND, MeasuredCell};
pub(crate) use kept::content;
pub use machines::{MACHINES, QUICK_MACHINES};
pub(crate) use programs::last_level;
pub use programs::{DataSize, MatrixProgram};
pub use standing::{NEAR_BEST, NO_SLOWER, Selection, Standing};

use self::{cell::Group, kept::Kept, programs::Row, remaining::Remaining};
use crate::{
    LabError, Progress, Sampling, Seeds, SimulationPlan, Source, record, recording::program_name,
};

/// The baseline, which every matrix has.
pub const BASELINE: SchedulerKind = SchedulerKind::Ws;
/// The seeds of each scheduler in the short matrix: as few as make an interval, as it must end
/// within ten minutes on two cores.
const QUICK_SEEDS: NonZeroU32 = NonZeroU32::new(2).unwrap();
/// The usual budget of a group of cells, in line touches, where the number of seeds is not given.
const GROUP_BUDGET: u64 = 500_000_000;

/// The programs, machines and schedulers of a matrix.
#[derive(Clone, Debug)]
pub struct MatrixPlan {
    /// The short form: one size of each program, smaller models, fewer seeds.
    pub quick: bool,
    /// The programs.
    pub programs: Vec<MatrixProgram>,
    /// How large their data are; without any, all of each program's sizes, or its one in the short
    /// form.
    pub sizes: Vec<DataSize>,
    /// A program of the user's, which runs on the machines as they are.
    pub own: Option<Source>,
    /// The machines; without any, those of the matrix.
    pub machines: Vec<Machine>,
    /// The schedulers; [`BASELINE`] is put before them.
    pub schedulers: Vec<SchedulerKind>,
    /// The number of seeds of each scheduler, 2 at least, if not the matrix's own choice.
    pub seeds: Option<NonZeroU32>,
    /// The policies' options.
    pub options: Options,
    /// Whether to record again what was recorded before.
    pub fresh: bool,
}

/// What a matrix found; serialised, the document `befit.matrix/1` (docs/json.md) without its
/// version.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Matrix {
    /// True for the short form.
    pub quick: bool,
    /// [`MEMORY_BOUND`].
    pub memory_bound_from: f64,
    /// By program and size, then by machine, then by scheduler, the baseline first.
    pub cells: Vec<Cell>,
    /// How each scheduler stands, over each selection of the cells that is not empty.
    pub standings: Vec<Standing>,
}

impl MatrixPlan {
    /// Fills the matrix. A group of cells that an earlier run of the same command filled is not
    /// simulated again.
    ///
    /// Takes time linear in the programs' line touches × machines × schedulers × seeds.
    ///
    /// # Errors
    /// When a program cannot be recorded, or a simulation fails.
    pub fn run(&self, progress: &dyn Progress) -> Result<Matrix, LabError> {
        let schedulers = self.all_schedulers();
        let rows = self.rows()?;
        if rows.is_empty() {
            let why = "none of these programs has data of such a size (docs/matrix.md)";
            return Err(LabError::Usage(why.to_owned()));
        }
        let weight = |(row, machine): &(Row, Machine)| weight(row, machine);
        let mut remaining = Remaining::new(progress, rows.iter().map(weight));
        let mut kept = Kept::open(progress);
        let mut recorded: Option<(Source, Program, String)> = None;
        let mut cells = Vec::new();
        for (row, machine) in &rows {
            if recorded.as_ref().is_none_or(|(source, ..)| *source != row.source) {
                // Let go of the one before: two of them may be too many.
                drop(recorded.take());
                let program = record(&row.source, self.fresh, &remaining)?;
                let content = kept::content(&program);
                recorded = Some((row.source.clone(), program, content));
            }
            let Some((_, program, content)) = &recorded else { continue };
            let model = machine.clone().shrunk(row.shrink)?;
            let plan = SimulationPlan {
                machines: vec![model],
                schedulers: schedulers.clone(),
                seeds: self.seeds(),
                options: self.options,
                shrink: row.costs_shrink,
                sampling: Sampling::Off,
            };
            let (group, found) =
                kept.or(content, &plan, || cell::group(program, &plan, &remaining))?;
            cells.extend(cells_of(row, machine, program, group));
            let weight = weight(&(row.clone(), machine.clone()));
            if found { remaining.skip(weight) } else { remaining.done(weight) }
        }
        let mut standings = standing::of(&cells, &schedulers);
        if self.own.is_some() {
            // What programs the policies were designed on says nothing of the user's.
            standings.retain(|standing| standing.selection.is_of_any_program());
        }
        Ok(Matrix { quick: self.quick, memory_bound_from: MEMORY_BOUND, cells, standings })
    }

    /// The baseline, then all others.
    fn all_schedulers(&self) -> Vec<SchedulerKind> {
        let mut all = vec![BASELINE];
        for scheduler in &self.schedulers {
            if !all.contains(scheduler) {
                all.push(*scheduler);
            }
        }
        all
    }

    fn seeds(&self) -> Seeds {
        match (self.seeds, self.quick) {
            (Some(seeds), _) => Seeds::Fixed(seeds),
            (None, true) => Seeds::Fixed(QUICK_SEEDS),
            (None, false) => Seeds::Enough { budget: GROUP_BUDGET },
        }
    }

    /// Every program at every size on every machine; what is recorded alike stands together.
    pub(crate) fn rows(&self) -> Result<Vec<(Row, Machine)>, LabError> {
        self.rows_at(|program| program.sizes(self.quick, &self.sizes))
    }

    /// The same with each program at the sizes that `sizes` gives.
    pub(crate) fn rows_at(
        &self,
        sizes: impl Fn(&MatrixProgram) -> Vec<DataSize>,
    ) -> Result<Vec<(Row, Machine)>, LabError> {
        let machines = match &self.machines[..] {
            [] => machines::usual(self.quick)?,
            machines => machines.to_vec(),
        };
        let mut rows: Vec<(Row, Machine)> = Vec::new();
        for program in &self.programs {
            for size in sizes(program) {
                for machine in &machines {
                    let row = program.on(machine, size, machines::shrink(machine, self.quick))?;
                    let same = |(other, _): &(Row, Machine)| other.source == row.source;
                    let behind = rows.iter().rposition(same).map_or(rows.len(), |at| at + 1);
                    rows.insert(behind, (row, machine.clone()));
                }
            }
        }
        if let Some(source) = &self.own {
            let row = Row::own(source, program_name(source));
            rows.extend(machines.iter().map(|machine| (row.clone(), machine.clone())));
        }
        Ok(rows)
    }
}

/// How long a row takes on a machine, against others: more workers find more that differs.
fn weight(row: &Row, machine: &Machine) -> u64 {
    row.weight / 1024 * (32 + machine.workers().len() as u64)
}

fn cells_of(row: &Row, machine: &Machine, program: &Program, group: Group) -> Vec<Cell> {
    let memory_bound = group.memory_share >= MEMORY_BOUND;
    let cell = |of: MeasuredCell| Cell {
        program: program.meta().name.clone(),
        name: row.name.clone(),
        size: row.size,
        kept_apart: row.kept_apart,
        machine: machine.name.clone(),
        shrink: row.shrink,
        memory_bound,
        memory_share: group.memory_share,
        measured: of,
    };
    group.measured.into_iter().map(cell).collect()
}

#[cfg(test)]
mod tests {
    use befit_machine::Bytes;
    use befit_program::{Meta, ProgramBuilder};

    use super::*;

    /// A recording unlike that of `testing`.
    pub(super) fn other_program() -> Program {
        let meta = Meta { name: "other".to_owned(), line_size: Bytes(64), filter: 8 };
        let mut builder = ProgramBuilder::new(meta);
        builder.work(1, 1, 1);
        builder.finish().unwrap()
    }

    /// Cells of ws and sb, a pair for each of these: sb's time and misses, whether they are
    /// memory-bound, and whether the program was kept apart.
    pub(crate) fn cells(pairs: &[(f64, f64, bool, bool)]) -> Vec<Cell> {
        let pair = |(at, &(time, misses, memory_bound, kept_apart)): (usize, &_)| {
            [("ws", 1.0, 1.0), ("sb", time, misses)].map(|(scheduler, time, misses)| Cell {
                program: format!("program {at}"),
                name: "program".to_owned(),
                size: DataSize::At,
                kept_apart,
                machine: "machine".to_owned(),
                shrink: 1,
                memory_bound,
                memory_share: 0.0,
                measured: MeasuredCell {
                    scheduler: scheduler.to_owned(),
                    seeds: 3,
                    time_cycles: (1000.0 * time) as u64,
                    time_vs_ws: time,
                    time_interval: [time, time],
                    l3_vs_ws: Some(misses),
                    idle: 0.0,
                },
            })
        };
        pairs.iter().enumerate().flat_map(pair).collect()
    }

    fn plan(quick: bool) -> MatrixPlan {
        MatrixPlan {
            quick,
            sizes: Vec::new(),
            programs: MatrixProgram::choose(&[], quick).unwrap(),
            own: None,
            machines: Vec::new(),
            schedulers: vec![SchedulerKind::Sb, BASELINE, SchedulerKind::Sb],
            seeds: None,
            options: Options::default(),
            fresh: false,
        }
    }

    #[test]
    fn the_baseline_comes_first_and_no_scheduler_twice() {
        assert_eq!(plan(true).all_schedulers(), [BASELINE, SchedulerKind::Sb]);
    }

    #[test]
    fn what_is_recorded_alike_stands_together() {
        let rows = plan(false).rows().unwrap();
        for (at, (row, _)) in rows.iter().enumerate() {
            let last = rows.iter().rposition(|(other, _)| other.source == row.source).unwrap();
            assert!(rows[at..=last].iter().all(|(other, _)| other.source == row.source));
        }
    }

    #[test]
    fn the_short_matrix_has_a_row_for_each_program_and_machine() {
        let rows = plan(true).rows().unwrap();
        assert_eq!(rows.len(), 7 * QUICK_MACHINES.len());
        // With five schedulers, that are more than sixty cells.
        assert!(5 * rows.len() >= 60);
    }
}
