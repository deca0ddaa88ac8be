//! A set of tasks to order, and what the orders that decide nothing cost.

use std::iter::zip;

use befit_sched::footprint::{Learned, Settings};

use super::super::setup::{ARRAY_INSTRUCTIONS, Setup, bit_reversed, shuffled};
use super::Tree;
use crate::{
    LabError,
    footprint::{Core, Fbs, How, Latencies, Oracle, Ran, Tasks, in_order},
};

/// Classes that affinities are learned for: so many parts of the tasks in the order of their keys.
const CLASSES: usize = 64;
/// Pairs of tasks that the given affinity of a pair of classes is the mean of.
const SAMPLES: usize = 8;

/// Tasks to order. Their numbers are their keys: rows or words ascending.
pub(super) struct Case {
    /// For programs.
    pub(super) id: String,
    /// For people.
    pub(super) name: String,
    pub(super) tasks: Tasks,
    /// Affinities in the innermost cache.
    pub(super) oracle: Oracle,
    /// Affinities in the cache behind it, where that may tell more: the tree's.
    pub(super) outer: Option<Oracle>,
    pub(super) classes: Vec<u32>,
    pub(super) given: Learned,
    pub(super) arrival: Vec<u32>,
    /// Whether the tasks are look-ups.
    pub(super) is_tree: bool,
    /// Warmed by one pass.
    core: Core,
    /// Cycles of the tasks in sorted order, as they arrive, and in the worst order.
    pub(super) sorted: f64,
    pub(super) random: f64,
    pub(super) worst: f64,
}

impl Case {
    /// Windows of `window` rows of an array of `rows`.
    pub(super) fn array(setup: &Setup, window: u64, rows: u64, tasks: u64) -> Result<Self, LabError> {
        let recorded = setup.record(&format!("array-windows:rows={rows},window={window}"), tasks)?;
        let name = format!("{tasks} windows of {window} rows of {rows}");
        Self::of(setup, format!("windows-{window}-of-{rows}"), name, recorded, ARRAY_INSTRUCTIONS, false)
    }

    /// The look-ups of a tree.
    pub(super) fn tree(setup: &Setup, tree: Tree) -> Result<Self, LabError> {
        let name = format!("{} look-ups in the tree, layout {}", tree.tasks.len(), tree.layout);
        Self::of(setup, format!("tree-{}", tree.layout), name, tree.tasks, tree.instructions, true)
    }

    fn of(
        setup: &Setup,
        id: String,
        name: String,
        tasks: Tasks,
        instructions: f64,
        is_tree: bool,
    ) -> Result<Self, LabError> {
        let count = tasks.len();
        let mut core = setup.core(&tasks, instructions, Latencies::Exclusive)?;
        let oracle = Oracle::new(&core, &tasks, setup.innermost());
        let outer = is_tree.then(|| Oracle::new(&core, &tasks, setup.second()));
        let classes: Vec<u32> = (0..count).map(|task| (task * CLASSES / count) as u32).collect();
        in_order(&mut core, &tasks, 0..count as u32);
        let cost = |order: Vec<u32>| in_order(&mut core.clone(), &tasks, order).cycles;
        let arrival = shuffled(count, 1);
        let (sorted, random, worst) =
            (cost((0..count as u32).collect()), cost(arrival.clone()), cost(bit_reversed(count)));
        let given = given(&oracle, &classes);
        Ok(Self { id, name, tasks, oracle, outer, classes, given, arrival, is_tree, core, sorted, random, worst })
    }

    /// The share of the way from random to sorted order.
    pub(super) fn recovered(&self, cycles: f64) -> f64 {
        100.0 * (self.random - cycles) / (self.random - self.sorted)
    }

    /// Runs them by footprint.
    pub(super) fn fbs(&self, setup: &Setup, settings: Settings, how: How, budget: bool) -> Ran {
        let fbs = Fbs { settings, how, charge: setup.charge(), budget };
        fbs.run(&setup.machine, &mut self.core.clone(), &self.tasks, &self.arrival)
    }

    /// Runs them newest first, so many at a time.
    pub(super) fn lifo(&self, batch: usize) -> f64 {
        let order = self.arrival.chunks(batch).flat_map(|batch| batch.iter().rev().copied());
        in_order(&mut self.core.clone(), &self.tasks, order).cycles
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
                zip(0..SAMPLES, std::iter::repeat(())).filter_map(|_| Some((draw(before)?, draw(next)?))).collect();
            let sum: i64 = pairs.iter().map(|(before, next)| oracle.affinity(*before, *next)).sum();
            if !pairs.is_empty() {
                given.note(before, next, sum / pairs.len() as i64);
            }
        }
    }
    given
}
