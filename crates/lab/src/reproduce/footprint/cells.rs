//! The statistics per pair of tasks: on arrays for each pair, on the tree over orders of look-ups.

use befit_cache::footprint::{Cells, Frames};
use befit_machine::{ClusterId, Level};
use befit_sim::footprint::{Latencies, Pairs};

use super::{setup::Setup, tree::Tree};
use crate::{
    LabError,
    parallel::{self, threads},
    reproduce::{Axis, Plot, PlotKind, Reproduction, Series, Table},
};

const NAMES: [&str; 3] = ["A", "B", "C"];
/// Look-ups that means are taken over.
const LOOKUPS: usize = 20_000;

/// A column: its heading, and its count.
type Column = (&'static str, fn(&Cells) -> u64);

/// The columns: the six cells, then the counts derived from them.
const COLUMNS: [Column; 11] = [
    ("TH", |c| c.touched_hit),
    ("TM", |c| c.touched_missed),
    ("TU", |c| c.touched_untouched),
    ("NH", |c| c.new_hit),
    ("NM", |c| c.new_missed),
    ("NU", |c| c.new_untouched),
    ("Shared Hit", Cells::shared_hits),
    ("Shared Miss", Cells::shared_misses),
    ("Unchanged", Cells::unchanged),
    ("Overwritten (NM)", Cells::overwritten),
    ("Overwritten (NH + NM)", Cells::overwritten_by_table),
];

fn columns(first: &str) -> impl Iterator<Item = &str> {
    std::iter::once(first).chain(COLUMNS.iter().map(|(name, _)| *name))
}

fn row(name: String, cells: &Cells, per: f64) -> impl Iterator<Item = String> {
    let shown =
        move |n: u64| if per == 1.0 { n.to_string() } else { format!("{:.2}", n as f64 / per) };
    std::iter::once(name).chain(COLUMNS.iter().map(move |(_, cell)| shown(cell(cells))))
}

/// Adds what the cells show.
pub(super) fn run(setup: &Setup, trees: &[Tree], to: &mut Reproduction) -> Result<(), LabError> {
    let tasks = setup.record("array-abc", 1)?;
    let level = setup.machine.levels().first().copied().or(Some(Level(1)));
    let pairs = Pairs::of(&tasks, &setup.machine, level, 6)?;
    let mut table = Table::new(
        "Arrays: frames of the L1 in each cell, for each ordered pair of tasks",
        columns("previous, current"),
    );
    let mut map = Vec::new();
    for (previous, name) in NAMES.iter().enumerate() {
        for (current, next) in NAMES.iter().enumerate() {
            table.row(row(format!("{name}, {next}"), &pairs.cells(previous, current), 1.0));
        }
        let affinity = |current: usize| pairs.cells(previous, current).affinity() as f64;
        map.push(Series::new(
            *name,
            NAMES.iter().enumerate().map(|(current, next)| (*next, affinity(current))),
        ));
    }
    to.tables.push(table);
    let title =
        "Arrays: Shared Hits − Shared Misses in the L1 (row: previous task, column: current task)";
    let x = Axis::linear("current task");
    to.plots.push(Plot::new(title, PlotKind::HeatMap, x, "previous task", map));
    let mut table = Table::new(
        format!("Tree of 20-byte nodes: mean frames in each cell over {LOOKUPS} look-ups"),
        columns("layout, order, cache"),
    );
    let mut jobs = Vec::new();
    for tree in trees {
        let orders = [
            ((0..tree.lookups.tasks.len() as u32).collect(), "sorted"),
            (tree.lookups.arrivals[0].clone(), "random"),
        ];
        for (order, name) in orders {
            jobs.extend(
                [setup.innermost(), setup.second()]
                    .map(|cluster| (tree, order.clone(), name, cluster)),
            );
        }
    }
    let mean = |(tree, order, _, cluster): &(&Tree, Vec<u32>, &str, ClusterId)| {
        let tasks = &tree.lookups.tasks;
        let mut core = setup.core(tasks, tree.instructions, Latencies::Exclusive)?;
        let Some(mut frames) = Frames::new(core.caches(), &setup.machine, *cluster) else {
            return Ok(None);
        };
        let mut sum = Cells::default();
        for (at, task) in order.iter().take(2 * LOOKUPS).enumerate() {
            core.run(tasks, *task as usize, Some(&mut frames));
            let cells = frames.end_task();
            if at >= LOOKUPS {
                sum += cells;
            }
        }
        Ok::<_, LabError>(Some(sum))
    };
    let sums = parallel::map(&jobs, threads(), |_| 1, mean)?;
    for ((tree, _, name, cluster), sum) in jobs.iter().zip(sums) {
        let level = setup.machine.cluster(*cluster).cache.map_or(Level(1), |cache| cache.level);
        if let Some(sum) = sum {
            table.row(row(format!("{}, {name}, {level}", tree.layout), &sum, LOOKUPS as f64));
        }
    }
    to.tables.push(table);
    Ok(())
}
