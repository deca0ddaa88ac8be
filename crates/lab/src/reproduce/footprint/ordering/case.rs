//! A set of tasks to order, and what the orders that decide nothing cost.

use std::iter::zip;

use befit_sched::footprint::{Learned, Settings};
use befit_sim::footprint::{Core, Fbs, How, Latencies, Oracle, Ran, Tasks, in_order};

use super::super::{
    cost::Cost,
    setup::{ARRAY_INSTRUCTIONS, Setup},
    tree::Tree,
};
use crate::LabError;

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
    /// One per seed.
    pub(super) arrivals: Vec<Vec<u32>>,
    /// Whether the tasks are look-ups.
    pub(super) is_tree: bool,
    /// Warmed by one pass.
    core: Core,
    /// What orders that decide nothing cost.
    pub(super) cost: Cost,
}

impl Case {
    /// Windows of `window` rows of an array of `rows`.
    pub(super) fn array(
        setup: &Setup,
        window: u64,
        rows: u64,
        tasks: u64,
    ) -> Result<Self, LabError> {
        let what = format!("windows of {window} rows of {rows}");
        Self::windows(
            setup,
            &format!("rows={rows},window={window}"),
            tasks,
            format!("windows-{window}-of-{rows}"),
            &what,
        )
    }

    /// `count` windows of an array, by the kernel's `settings`.
    pub(super) fn windows(
        setup: &Setup,
        settings: &str,
        count: u64,
        id: String,
        what: &str,
    ) -> Result<Self, LabError> {
        let tasks = setup.record(&format!("array-windows:{settings}"), count)?;
        let name = format!("{} {what}", tasks.len());
        let mut core = setup.core(&tasks, ARRAY_INSTRUCTIONS, Latencies::Exclusive)?;
        in_order(&mut core, &tasks, 0..tasks.len() as u32);
        let arrivals = setup.arrivals(tasks.len());
        let cost = Cost::measure(&core, &tasks, &arrivals)?;
        let (oracle, classes, given) = statistics(setup, &core, &tasks);
        Ok(Self {
            id,
            name,
            tasks,
            oracle,
            outer: None,
            classes,
            given,
            arrivals,
            is_tree: false,
            core,
            cost,
        })
    }

    /// The look-ups of a tree.
    pub(super) fn tree(setup: &Setup, tree: Tree) -> Self {
        let Tree { layout, tasks, core, arrivals, cost, .. } = tree;
        let name = format!("{} look-ups in the tree, layout {layout}", tasks.len());
        let (oracle, classes, given) = statistics(setup, &core, &tasks);
        let outer = Some(Oracle::new(&core, &tasks, setup.second()));
        let id = format!("tree-{layout}");
        Self { id, name, tasks, oracle, outer, classes, given, arrivals, is_tree: true, core, cost }
    }

    /// Runs them by footprint, as they arrive with number `seed`.
    pub(super) fn fbs(
        &self,
        setup: &Setup,
        seed: usize,
        settings: Settings,
        how: How,
        budget: bool,
    ) -> Ran {
        let fbs = Fbs { settings, how, charge: setup.charge(), budget };
        fbs.run(&setup.machine, &mut self.core.clone(), &self.tasks, &self.arrivals[seed])
    }

    /// Runs them newest first, so many at a time.
    pub(super) fn lifo(&self, batch: usize) -> f64 {
        let order = self.arrivals[0].chunks(batch).flat_map(|batch| batch.iter().rev().copied());
        in_order(&mut self.core.clone(), &self.tasks, order).cycles
    }
}

/// What is known of the tasks beforehand: of all pairs; the tasks' classes, and of pairs of these.
fn statistics(setup: &Setup, core: &Core, tasks: &Tasks) -> (Oracle, Vec<u32>, Learned) {
    let count = tasks.len();
    let oracle = Oracle::new(core, tasks, setup.innermost());
    let classes: Vec<u32> = (0..count).map(|task| (task * CLASSES / count) as u32).collect();
    let given = given(&oracle, &classes);
    (oracle, classes, given)
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
            let pairs: Vec<(usize, usize)> = zip(0..SAMPLES, std::iter::repeat(()))
                .filter_map(|_| Some((draw(before)?, draw(next)?)))
                .collect();
            let sum: i64 = pairs.iter().map(|(before, next)| oracle.affinity(*before, *next)).sum();
            if !pairs.is_empty() {
                given.note(before, next, sum / pairs.len() as i64);
            }
        }
    }
    given
}
