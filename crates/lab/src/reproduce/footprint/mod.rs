//! The study of footprint-based scheduling: its experiments on arrays and on a tree, and the
//! algorithm that it leaves as future work.
//!
//! Each kernel is recorded once with all its tasks; `befit_sim::footprint` then runs the tasks in
//! any order on the study's core.

mod arrays;
mod cells;
mod ordering;
mod setup;
mod tree;

use befit_sched::footprint::Settings;

use super::{Reproduction, Request};
use crate::{LabError, Progress};
use setup::Setup;

/// The study's machine.
const MACHINE: &str = "gems-sparc";

/// Repeats the study.
pub(super) fn run(request: &Request, progress: &dyn Progress) -> Result<Reproduction, LabError> {
    let machine = request.machine_or(MACHINE)?;
    let setup = Setup {
        quick: request.quick,
        seeds: request.seeds_or(3, 5).get().into(),
        width: machine.issue.map_or(1.0, |issue| issue.width),
        machine,
        progress,
    };
    let mut reproduction = request.reproduction(setup.machine.name.clone(), notes(&setup));
    arrays::run(&setup, &mut reproduction)?;
    let trees = tree::run(&setup, &mut reproduction)?;
    cells::run(&setup, &trees, &mut reproduction)?;
    ordering::run(&setup, trees, &mut reproduction)?;
    Ok(reproduction)
}

fn notes(setup: &Setup) -> Vec<String> {
    let width = setup.width;
    let Settings { decide, execute, age } = Settings::default();
    vec![
        format!(
            "One core that issues {width} instructions a cycle and waits for each access. Two \
             readings of its latencies: exclusive (an access costs the latency of the cache that \
             has the line; the figures' reading) and additive (it costs those of all caches \
             passed)."
        ),
        format!(
            "Arrays: {} instructions an iteration (load, add, step, branch). Tree: {} \
             instructions a node visited. \"CPI\" can be read as cycles per loop iteration (here: \
             per iteration, per node) or per instruction (that divided by the instructions); \
             ratios are the same.",
            setup::ARRAY_INSTRUCTIONS,
            setup::NODE_INSTRUCTIONS
        ),
        "Each kernel is recorded once, every access kept; its tasks are then run in each order, \
         caches warmed by one pass. Tasks are 256 rows (arrays) or one look-up (tree)."
            .to_owned(),
        format!(
            "What depends on the order in which tasks arrive: figures are medians over {} random \
             orders (seeds), with the smallest and the largest; tables and plots show the first. \
             Nothing else is drawn at random but the pairs that the given statistics are means \
             of.",
            setup.seeds
        ),
        format!(
            "The evaluation of fbs: tasks arrive in random order. One setting for all: N_decide \
             {decide}, N_execute {execute}, age {age}, with the budget; where N_decide is another, \
             N_execute is half of it. A look at an affinity or a key is charged 4 instructions \
             and an L1 access: {} cycles.",
            setup.charge().look
        ),
    ]
}
