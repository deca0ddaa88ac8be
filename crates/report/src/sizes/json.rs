//! The JSON contract `befit.sizes/1`; `docs/json.md` says the same in prose.

use befit_lab::{Sizes, TaskSize};
use serde::Serialize;

/// The whole document.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Report {
    /// Always `befit.sizes/1`.
    pub schema: String,
    /// The command that was recorded.
    pub command: String,
    /// The machine that tasks are to befit.
    pub machine: String,
    /// Dilation σ.
    pub sigma: f64,
    /// All tasks.
    pub tasks: u64,
    /// Those that declare a size.
    pub declaring: u64,
    /// How many of them touch at most 0.5 of what they declare, 0.9, 1.1, 2 times, and more.
    pub ratios: Vec<u64>,
    /// Tasks with a strand larger than the strand size that they declare.
    pub strands_exceeding: u64,
    /// By cache level, ascending, memory last.
    pub befitting: Vec<Level>,
    /// The worst tasks: those that exceed what they declare, then those that fall short of it, each
    /// by bytes.
    pub worst: Vec<Task>,
}

/// How many tasks befit the caches of one level.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Level {
    /// `L1`, …, or `memory`.
    pub level: String,
    /// By what they declare.
    pub declared: u64,
    /// By what they touch.
    pub measured: u64,
    /// By what they declare, though they touch more.
    pub overflowing: u64,
}

/// One task.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Task {
    /// Which child of which it is, from the root down.
    pub path: String,
    /// What it declares, in bytes.
    pub declared: u64,
    /// What it touches, in bytes.
    pub measured: u64,
    /// The second over the first; null where it declares 0.
    pub ratio: Option<f64>,
    /// What it declares of its strands, in bytes, or null.
    pub declared_strand: Option<u64>,
    /// Its largest strand, in bytes.
    pub measured_strand: u64,
}

impl From<&Sizes> for Report {
    fn from(s: &Sizes) -> Self {
        let level = |b: &befit_lab::Befitting| Level {
            level: b.level.map_or("memory".to_owned(), |level| level.to_string()),
            declared: b.declared,
            measured: b.measured,
            overflowing: b.overflowing,
        };
        Self {
            schema: "befit.sizes/1".to_owned(),
            command: s.command.clone(),
            machine: s.machine.clone(),
            sigma: s.sigma,
            tasks: s.tasks,
            declaring: s.declaring,
            ratios: s.ratios.to_vec(),
            strands_exceeding: s.strands_exceeding,
            befitting: s.befitting.iter().map(level).collect(),
            worst: s.under.iter().chain(&s.over).map(Task::from).collect(),
        }
    }
}

impl From<&TaskSize> for Task {
    fn from(t: &TaskSize) -> Self {
        Self {
            path: t.path.clone(),
            declared: t.declared.0,
            measured: t.measured.0,
            ratio: Some(t.ratio()).filter(|ratio| ratio.is_finite()),
            declared_strand: t.declared_strand.map(|s| s.0),
            measured_strand: t.measured_strand.0,
        }
    }
}
