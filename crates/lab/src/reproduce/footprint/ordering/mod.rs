//! The algorithm that the study leaves as future work: how much it recovers of the way from random
//! to sorted order. A [`Case`] is a set of tasks to order, a [`Trial`] one way to order them.

mod nothing;
mod sweep;

use std::iter::zip;

use befit_sched::footprint::{Learned, Settings};
use befit_sim::footprint::{Fbs, How, Latencies, Oracle, Ran, in_order};

use super::{
    setup::{ARRAY_INSTRUCTIONS, Setup, Workload},
    tree::Tree,
};
use crate::{
    LabError,
    parallel::{self, threads},
    reproduce::Reproduction,
};

/// Adds what the orders show.
pub(super) fn run(setup: &Setup, trees: Vec<Tree>, to: &mut Reproduction) -> Result<(), LabError> {
    let (some, many) = if setup.quick { (4096, 16_384) } else { (16_384, 131_072) };
    for (window, rows, tasks) in [(256, 512, some), (128, 4096, some), (128, 65_536, many)] {
        let kernel = format!("rows={rows},window={window}");
        let id = format!("windows-{window}-of-{rows}");
        let what = format!("windows of {window} rows of {rows}");
        sweep::run(setup, &Case::windows(setup, &kernel, tasks, id, &what)?, to)?;
    }
    // The look-ups of the other trees touch the same nodes in other lines.
    let kept = if setup.quick { 1 } else { trees.len() };
    for tree in trees.into_iter().take(kept) {
        sweep::run(setup, &Case::tree(setup, tree), to)?;
    }
    nothing::run(setup, to)
}

/// One way to order the tasks of a case.
struct Trial<'a> {
    /// The series of results that it belongs to.
    series: &'static str,
    settings: Settings,
    how: How<'a>,
    budget: bool,
    /// The number of its order of arrival.
    seed: usize,
}

/// Classes that affinities are learned for: so many parts of the tasks in the order of their keys.
const CLASSES: usize = 64;
/// Pairs of tasks that the given affinity of a pair of classes is the mean of.
const SAMPLES: usize = 8;

/// Tasks to order. Their numbers are their keys: rows or words ascending.
struct Case {
    /// For programs.
    id: String,
    /// For people.
    name: String,
    load: Workload,
    /// Affinities in the innermost cache.
    oracle: Oracle,
    /// Affinities in the cache behind it, where that may tell more: the tree's.
    outer: Option<Oracle>,
    /// The class of each task.
    classes: Vec<u32>,
    /// Affinities of pairs of classes, known beforehand.
    given: Learned,
}

impl Case {
    /// `count` windows of an array, by the kernel's `settings`.
    fn windows(
        setup: &Setup,
        settings: &str,
        count: u64,
        id: String,
        what: &str,
    ) -> Result<Self, LabError> {
        let tasks = setup.record(&format!("array-windows:{settings}"), count)?;
        let name = format!("{} {what}", tasks.len());
        let core = setup.core(&tasks, ARRAY_INSTRUCTIONS, Latencies::Exclusive)?;
        Ok(Self::new(setup, id, name, Workload::measure(setup, core, tasks)?))
    }

    /// The look-ups of a tree.
    fn tree(setup: &Setup, tree: Tree) -> Self {
        let Tree { layout, lookups, .. } = tree;
        let name = format!("{} look-ups in the tree, layout {layout}", lookups.tasks.len());
        let outer = Some(Oracle::new(&lookups.core, &lookups.tasks, setup.second()));
        Self { outer, ..Self::new(setup, format!("tree-{layout}"), name, lookups) }
    }

    fn new(setup: &Setup, id: String, name: String, load: Workload) -> Self {
        let count = load.tasks.len();
        let oracle = Oracle::new(&load.core, &load.tasks, setup.innermost());
        let classes: Vec<u32> = (0..count).map(|task| (task * CLASSES / count) as u32).collect();
        let given = given(&oracle, &classes);
        Self { id, name, load, oracle, outer: None, classes, given }
    }

    /// True if the tasks are look-ups.
    fn is_tree(&self) -> bool {
        self.outer.is_some()
    }

    /// Runs the trials, in parallel. Looks weigh most.
    fn run<'t>(
        &self,
        setup: &Setup,
        trials: &'t [Trial<'t>],
    ) -> Result<Vec<(&'t Trial<'t>, Ran)>, LabError> {
        let weight = |trial: &Trial<'_>| match trial.how {
            How::Key => 1,
            _ => trial.settings.decide as u64,
        };
        let run = |trial: &Trial<'_>| {
            let Trial { settings, budget, seed, .. } = *trial;
            let fbs = Fbs { settings, how: trial.how.clone(), charge: setup.charge(), budget };
            let Workload { tasks, core, arrivals, .. } = &self.load;
            Ok::<_, LabError>(fbs.run(&setup.machine, &mut core.clone(), tasks, &arrivals[seed]))
        };
        Ok(zip(trials, parallel::map(trials, threads(), weight, run)?).collect())
    }

    /// By how many percent a trial, with what deciding costs, takes longer than first in, first
    /// out.
    fn against_fifo(&self, (trial, ran): &(&Trial<'_>, Ran)) -> f64 {
        100.0 * (ran.total() / self.load.random[trial.seed] - 1.0)
    }

    /// Runs them newest first, so many at a time.
    fn lifo(&self, batch: usize) -> f64 {
        let Workload { tasks, core, arrivals, .. } = &self.load;
        let order = arrivals[0].chunks(batch).flat_map(|batch| batch.iter().rev().copied());
        in_order(&mut core.clone(), tasks, order).cycles
    }
}

/// The mean affinity of each ordered pair of classes, over some pairs of tasks.
fn given(oracle: &Oracle, classes: &[u32]) -> Learned {
    let mut members = vec![Vec::new(); CLASSES];
    for (task, class) in (0..).zip(classes) {
        members[*class as usize].push(task);
    }
    let mut given = Learned::new(CLASSES);
    let mut random = fastrand::Rng::with_seed(1);
    for before in 0..CLASSES {
        for next in 0..CLASSES {
            let mut draw = |class: usize| random.choice(&members[class]).copied();
            let pairs: Vec<(usize, usize)> =
                (0..SAMPLES).filter_map(|_| Some((draw(before)?, draw(next)?))).collect();
            let sum: i64 = pairs.iter().map(|(before, next)| oracle.affinity(*before, *next)).sum();
            if !pairs.is_empty() {
                given.note(before, next, sum / pairs.len() as i64);
            }
        }
    }
    given
}
