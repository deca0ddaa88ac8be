//! Reads what a program wrote because of `BEFIT_STATS`: the schema `befit.stats/1` (docs/json.md).

use std::collections::BTreeMap;

use serde::Deserialize;

/// The version of the schema.
const SCHEMA: &str = "befit.stats/1";

/// What one process wrote. Fields that are not needed here are left out.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(super) struct Document {
    schema: String,
    pub(super) pools_left_out: u64,
    pub(super) pools: Vec<Pool>,
}

#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(super) struct Pool {
    pub(super) scheduler: String,
    pub(super) machine: String,
    pub(super) threads: u32,
    pub(super) pinned: bool,
    pub(super) sigma: f64,
    pub(super) mu: f64,
    pub(super) span_seconds: Option<f64>,
    pub(super) workers: Vec<Worker>,
    pub(super) anchors: Vec<Anchors>,
    #[serde(default)]
    pub(super) tiers: Option<Tiers>,
}

/// What a scheduler with two tiers found out.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(super) struct Tiers {
    pub(super) source: Option<String>,
    pub(super) plain: Option<String>,
    pub(super) partitions: u64,
    pub(super) root_bytes: u64,
    pub(super) inter: u64,
    pub(super) subtrees_run: u64,
    pub(super) subtrees_moved: u64,
    pub(super) subtrees: Vec<Subtree>,
}

#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(super) struct Subtree {
    pub(super) bytes: u64,
}

#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
pub(super) struct Worker {
    pub(super) seconds: Option<Seconds>,
    pub(super) forks: u64,
    pub(super) published: u64,
    pub(super) spawned: u64,
    pub(super) executed: u64,
    pub(super) anchored: u64,
    /// By level: `L1` …, `memory`.
    pub(super) steals: BTreeMap<String, u64>,
    pub(super) failed_steals: u64,
    pub(super) sleeps: u64,
}

#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize)]
pub(super) struct Seconds {
    pub(super) active: f64,
    pub(super) add: f64,
    pub(super) get: f64,
    pub(super) done: f64,
    pub(super) idle: f64,
}

#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(super) struct Anchors {
    pub(super) cluster: u32,
    pub(super) level: String,
    pub(super) first_worker: u32,
    pub(super) last_worker: u32,
    pub(super) tasks: u64,
}

impl Document {
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let document: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if document.schema == SCHEMA {
            Ok(document)
        } else {
            Err(format!(
                "it is {}, and this befit reads {SCHEMA}; build both from the same version",
                document.schema
            ))
        }
    }
}

impl Worker {
    /// Adds what another thread of the same number did, in another pool.
    pub(super) fn add(&mut self, other: &Self) {
        let mine = self.seconds.unwrap_or_default();
        if let Some(theirs) = other.seconds {
            self.seconds = Some(Seconds {
                active: mine.active + theirs.active,
                add: mine.add + theirs.add,
                get: mine.get + theirs.get,
                done: mine.done + theirs.done,
                idle: mine.idle + theirs.idle,
            });
        }
        self.forks += other.forks;
        self.published += other.published;
        self.spawned += other.spawned;
        self.executed += other.executed;
        self.anchored += other.anchored;
        self.failed_steals += other.failed_steals;
        self.sleeps += other.sleeps;
        for (level, steals) in &other.steals {
            *self.steals.entry(level.clone()).or_default() += steals;
        }
    }
}
