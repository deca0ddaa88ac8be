//! The JSON contract `befit.footprint/1`. `docs/json.md` says the same in prose.
//!
//! What may change without a new version number: fields are added.

use befit_sim::footprint::Pairs;
use serde::{Deserialize, Serialize};

/// The version of the contract, as written in [`Report::schema`].
pub const SCHEMA: &str = "befit.footprint/1";

/// The whole document.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Report {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The recorded command.
    pub program: String,
    /// The simulated machine.
    pub machine: String,
    /// Level of the cache that frames are of, from 1.
    pub level: u8,
    /// Leaf tasks of the program.
    pub leaf_tasks: u64,
    /// Each ordered pair of the chosen tasks.
    pub pairs: Vec<Pair>,
}

/// One ordered pair: numbers of frames.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Pair {
    /// The previous task, by its place among the leaf tasks in serial order, from 0.
    pub previous: u64,
    /// The current one.
    pub current: u64,
    /// TH: touched by the previous task, hit by the current one's first access.
    pub touched_hit: u64,
    /// TM: touched by the previous task, missed by the current one's first access.
    pub touched_missed: u64,
    /// TU: touched by the previous task only.
    pub touched_untouched: u64,
    /// NH: not touched by the previous task, hit by the current one.
    pub new_hit: u64,
    /// NM: not touched by the previous task, missed by the current one.
    pub new_missed: u64,
    /// NU: touched by neither.
    pub new_untouched: u64,
    /// Shared hits less shared misses.
    pub affinity: i64,
}

impl From<&Pairs> for Report {
    fn from(from: &Pairs) -> Self {
        let count = from.tasks.len();
        let pair = |at: usize| {
            let cells = &from.cells[at];
            Pair {
                previous: from.tasks[at / count] as u64,
                current: from.tasks[at % count] as u64,
                touched_hit: cells.touched_hit,
                touched_missed: cells.touched_missed,
                touched_untouched: cells.touched_untouched,
                new_hit: cells.new_hit,
                new_missed: cells.new_missed,
                new_untouched: cells.new_untouched,
                affinity: cells.affinity(),
            }
        };
        Self {
            schema: SCHEMA.to_owned(),
            program: from.program.clone(),
            machine: from.machine.clone(),
            level: from.level.0,
            leaf_tasks: from.of as u64,
            pairs: (0..from.cells.len()).map(pair).collect(),
        }
    }
}
