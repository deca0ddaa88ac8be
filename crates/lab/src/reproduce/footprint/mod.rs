//! The study of footprint-based scheduling: its experiments on arrays and on a tree, and the
//! algorithm that it leaves as future work.
//!
//! Each kernel is recorded once with all its tasks; [`crate::footprint`] then runs the tasks in any
//! order on the study's core.

mod arrays;
mod cells;
mod cost;
mod ordering;
mod plots;
mod setup;
mod tree;

use std::num::NonZeroU32;

use befit_machine::Machine;
use befit_sched::footprint::Settings;

use super::{Reproduction, Request};
use crate::{LabError, Progress};
use setup::Setup;

/// The study's machine.
const MACHINE: &str = "gems-sparc";

/// Repeats it.
pub(super) fn run(request: &Request, progress: &dyn Progress) -> Result<Reproduction, LabError> {
    let machine = match &request.machine {
        Some(machine) => machine.clone(),
        None => Machine::find(MACHINE).expect("a preset"),
    };
    let setup = Setup {
        quick: request.quick,
        seeds: request.seeds.map_or(if request.quick { 3 } else { 5 }, NonZeroU32::get).into(),
        width: machine.issue.map_or(1.0, |issue| issue.width),
        machine,
        progress,
    };
    let mut reproduction = Reproduction {
        study: request.study,
        machine: setup.machine.name.clone(),
        quick: request.quick,
        notes: notes(&setup),
        figures: Vec::new(),
        tables: Vec::new(),
        plots: Vec::new(),
    };
    arrays::run(&setup, &mut reproduction)?;
    let tree = tree::run(&setup, &mut reproduction)?;
    cells::run(&setup, &tree, &mut reproduction)?;
    ordering::run(&setup, tree, &mut reproduction)?;
    Ok(reproduction)
}

fn notes(setup: &Setup) -> Vec<String> {
    let width = setup.width;
    let Settings { decide, execute, age } = Settings::default();
    vec![
        format!(
            "One core that issues {width} instructions a cycle and waits for each access. Two readings of its latencies: exclusive (an access \
             costs the latency of the cache that has the line; the figures' reading) and additive (it costs those of all caches passed)."
        ),
        format!(
            "Arrays: {} instructions an iteration (load, add, step, branch). Tree: {} instructions a node visited. \"CPI\" can be read as cycles \
             per loop iteration (here: per iteration, per node) or per instruction (that divided by the instructions); ratios are the same.",
            setup::ARRAY_INSTRUCTIONS,
            setup::NODE_INSTRUCTIONS
        ),
        "Each kernel is recorded once, every access kept; its tasks are then run in each order, caches warmed by one pass. Tasks are \
         256 rows (arrays) or one look-up (tree)."
            .to_owned(),
        format!(
            "What depends on the order in which tasks arrive: figures are medians over {} random orders (seeds), with the smallest and the \
             largest; tables and plots show the first. Nothing else is drawn at random but the pairs that the given statistics are means of.",
            setup.seeds
        ),
        format!(
            "The evaluation of fbs: tasks arrive in random order. One setting for all: N_decide {decide}, N_execute {execute}, age {age}, with \
             the budget; where N_decide is another, N_execute is half of it. A look at an affinity or a key is charged 4 instructions and an \
             L1 access: {look} cycles.",
            look = setup.charge().look,
        ),
    ]
}
