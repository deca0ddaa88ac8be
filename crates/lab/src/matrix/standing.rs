//! How a scheduler stands over a selection of the cells.

use befit_sched::SchedulerKind;
use serde::Serialize;

use super::Cell;

/// A cell is near the best if its time is at most so many times that of the best scheduler there.
pub const NEAR_BEST: f64 = 1.03;
/// A cell is no slower than work stealing if its time is at most so many times that.
pub const NO_SLOWER: f64 = 1.02;
/// A ratio of misses below this counts as this, so that one cell without any misses does not make
/// the mean nothing.
const LEAST: f64 = 1e-3;

/// Which cells are looked at together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Selection {
    /// All.
    All,
    /// Those that are memory-bound.
    MemoryBound,
    /// Of the programs that our own policy was designed on.
    Designed,
    /// Those of them that are memory-bound.
    DesignedMemoryBound,
    /// Of the programs that were kept apart.
    Apart,
    /// Those of them that are memory-bound.
    ApartMemoryBound,
}

impl Selection {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::All,
        Self::MemoryBound,
        Self::Designed,
        Self::DesignedMemoryBound,
        Self::Apart,
        Self::ApartMemoryBound,
    ];

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "all cells",
            Self::MemoryBound => "memory-bound cells",
            Self::Designed => "programs designed on",
            Self::DesignedMemoryBound => "programs designed on, memory-bound cells",
            Self::Apart => "programs kept apart",
            Self::ApartMemoryBound => "programs kept apart, memory-bound cells",
        }
    }

    /// Whether it may have cells of the user's own program.
    pub(super) fn is_of_any_program(self) -> bool {
        matches!(self, Self::All | Self::MemoryBound)
    }

    fn has(self, cell: &Cell) -> bool {
        match self {
            Self::All => true,
            Self::MemoryBound => cell.memory_bound,
            Self::Designed => !cell.kept_apart,
            Self::DesignedMemoryBound => !cell.kept_apart && cell.memory_bound,
            Self::Apart => cell.kept_apart,
            Self::ApartMemoryBound => cell.kept_apart && cell.memory_bound,
        }
    }
}

/// How one scheduler stands over a selection of the cells.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Standing {
    /// The cells.
    pub selection: Selection,
    /// The policy's name.
    pub scheduler: String,
    /// How many cells it has there.
    pub cells: usize,
    /// The geometric mean of its time over work stealing's.
    pub time_vs_ws: f64,
    /// The geometric mean of its last-level misses over work stealing's, where they are known;
    /// below 0.001 they count as that.
    pub l3_vs_ws: Option<f64>,
    /// The share of cells in which its time is at most [`NEAR_BEST`] times that of the best
    /// scheduler.
    pub near_best: f64,
    /// How many cells are slower than work stealing by more than [`NO_SLOWER`] allows.
    pub slower: usize,
    /// The largest of its times over work stealing's.
    pub worst: f64,
    /// The program and the machine of that cell.
    pub worst_at: [String; 2],
}

/// How each of `schedulers` stands over each selection of `cells` that is not empty.
pub(super) fn of(cells: &[Cell], schedulers: &[SchedulerKind]) -> Vec<Standing> {
    let groups: Vec<&[Cell]> = cells.chunks(schedulers.len().max(1)).collect();
    let each = Selection::ALL.into_iter().flat_map(|selection| {
        let groups = groups.clone();
        (0..schedulers.len()).filter_map(move |at| standing(selection, &groups, at))
    });
    each.collect()
}

/// How the scheduler of each group's cell number `at` stands.
fn standing(selection: Selection, groups: &[&[Cell]], at: usize) -> Option<Standing> {
    let groups = groups.iter().filter(|group| selection.has(&group[0]));
    let own: Vec<(&Cell, f64)> = groups
        .map(|group| {
            let times = group.iter().map(|cell| cell.measured.time_vs_ws);
            (&group[at], times.fold(f64::INFINITY, f64::min))
        })
        .collect();
    let times = || own.iter().map(|(cell, _)| cell.measured.time_vs_ws);
    let (worst, _) = own
        .iter()
        .max_by(|(a, _), (b, _)| a.measured.time_vs_ws.total_cmp(&b.measured.time_vs_ws))?;
    let near = own.iter().filter(|(cell, best)| cell.measured.time_vs_ws <= best * NEAR_BEST);
    Some(Standing {
        selection,
        scheduler: worst.measured.scheduler.clone(),
        cells: own.len(),
        time_vs_ws: geometric_mean(times())?,
        l3_vs_ws: geometric_mean(own.iter().filter_map(|(cell, _)| cell.measured.l3_vs_ws)),
        near_best: near.count() as f64 / own.len() as f64,
        slower: times().filter(|time| *time > NO_SLOWER).count(),
        worst: worst.measured.time_vs_ws,
        worst_at: [worst.program.clone(), worst.machine.clone()],
    })
}

fn geometric_mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let logarithms: Vec<f64> = values.map(|value| value.max(LEAST).ln()).collect();
    let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
    (!logarithms.is_empty()).then(|| mean.exp())
}

#[cfg(test)]
mod tests {
    use befit_sched::SchedulerKind::{Sb, Ws};

    use super::*;
    use crate::matrix::tests::cells;

    #[test]
    fn a_scheduler_stands_over_the_cells_of_a_selection() {
        // (time, misses) under sb; memory-bound; kept apart.
        let cells =
            cells(&[(0.5, 0.25, true, false), (2.0, 1.0, false, false), (0.8, 0.0, true, true)]);
        let standings = of(&cells, &[Ws, Sb]);
        let get = |selection, scheduler: &str| {
            let found =
                standings.iter().find(|s| s.selection == selection && s.scheduler == scheduler);
            found.cloned()
        };
        let sb = get(Selection::All, "sb").unwrap();
        assert!((sb.time_vs_ws - 0.8f64.cbrt()).abs() < 1e-9, "{sb:?}");
        assert_eq!((sb.cells, sb.slower, sb.worst), (3, 1, 2.0));
        assert_eq!(sb.worst_at, ["program 1".to_owned(), "machine".to_owned()]);
        assert!((sb.near_best - 2.0 / 3.0).abs() < 1e-9);
        let ws = get(Selection::All, "ws").unwrap();
        assert_eq!((ws.time_vs_ws, ws.slower), (1.0, 0));
        assert!((ws.near_best - 1.0 / 3.0).abs() < 1e-9);
        let bound = get(Selection::MemoryBound, "sb").unwrap();
        assert!((bound.time_vs_ws - 0.4f64.sqrt()).abs() < 1e-9, "{bound:?}");
        assert!((bound.l3_vs_ws.unwrap() - (0.25 * LEAST).sqrt()).abs() < 1e-9, "{bound:?}");
        assert_eq!(get(Selection::Apart, "sb").unwrap().cells, 1);
        assert_eq!(get(Selection::Designed, "sb").unwrap().cells, 2);
    }

    #[test]
    fn an_empty_selection_has_no_standing() {
        let standings = of(&cells(&[(1.0, 1.0, false, false)]), &[Ws, Sb]);
        let selections: Vec<_> = standings.iter().map(|standing| standing.selection).collect();
        let of_each = [Selection::All, Selection::All, Selection::Designed, Selection::Designed];
        assert_eq!(selections, of_each);
    }
}
