//! The JSON contract `befit.compare/1`. `docs/json.md` says the same in prose.
//!
//! What may change without a new version number: fields are added. A reader must ignore fields that
//! it does not know. What gives a new number: a field goes, or changes its name, type, unit or
//! meaning.

use std::collections::BTreeMap;

use befit_lab::{CacheUse, LevelSummary, Spread, Summary};
use befit_machine::{Bytes, Cycles, Lines};
use serde::{Deserialize, Serialize};

/// The version of the contract, as written in [`Report::schema`].
pub const SCHEMA: &str = "befit.compare/1";

/// The whole document.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Report {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// One per program × machine × scheduler, in that order of nesting, each in the order in which
    /// they were asked for.
    pub results: Vec<Row>,
}

/// One program on one machine under one scheduler, over all seeds.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Row {
    /// The program's name: a kernel's, or a binary's.
    pub program: String,
    /// The command that was recorded, for people; its first word is `program`.
    pub command: String,
    /// The machine's name.
    pub machine: String,
    /// Clock of the machine's fastest core, in MHz.
    pub mhz: u32,
    /// The machine's workers (hardware threads).
    pub workers: u32,
    /// The scheduler's name.
    pub scheduler: String,
    /// Dilation σ, 0 < σ ≤ 1. Schedulers that do not use it ignore it.
    pub sigma: f64,
    /// μ, 0 < μ ≤ 1. Schedulers that do not use it ignore it.
    pub mu: f64,
    /// How strands count that pass through a cache: `capped` or `full`. Schedulers that do not use
    /// it ignore it.
    #[serde(default)]
    pub counting: String,
    /// The number of seeds; they were 1, 2, … up to this number.
    pub seeds: u32,
    /// Tasks of the program, the root included.
    pub tasks: u64,
    /// Strands of the program.
    pub strands: u64,
    /// Running time in cycles of virtual time.
    pub time_cycles: Figure,
    /// Cache lines that missed, per level; the caches of a level together.
    pub misses: BTreeMap<String, Figure>,
    /// Accesses that reached the level, in cache lines.
    pub accesses: BTreeMap<String, Figure>,
    /// Those misses whose line was lost to another worker's write, in cache lines.
    pub coherence_misses: BTreeMap<String, Figure>,
    /// Cache lines read from memory.
    pub memory_reads: Figure,
    /// Cache lines written back to memory.
    pub memory_writes: Figure,
    /// Last-level misses served by another socket's cache, in cache lines.
    pub remote_hits: Figure,
    /// Misses served by another worker's cache below a common cache that did not hold the line, in
    /// cache lines.
    pub sibling_hits: Figure,
    /// Where the workers' time went, in cycles, all workers together.
    pub worker_cycles: WorkerCycles,
    /// Strands taken from another worker's queue.
    pub steals: Figure,
    /// Those of them with a victim under the same last-level cache.
    pub near_steals: Figure,
    /// Looks into another worker's queue that found nothing.
    pub failed_steals: Figure,
    /// Maximal tasks anchored, per level, and at `memory`, the root. All 0 under schedulers that do
    /// not anchor.
    pub anchors: BTreeMap<String, Figure>,
    /// What the scheduler did with each cache; empty under schedulers that do not anchor. Not in
    /// CSV.
    #[serde(default)]
    pub caches: Vec<Cache>,
}

/// One cache under a space-bounded scheduler.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Cache {
    /// Its number in the machine; 0 is memory.
    pub cluster: u32,
    /// Its level.
    pub level: String,
    /// The first of the workers under it.
    pub first_worker: u32,
    /// The last of them.
    pub last_worker: u32,
    /// Its size, in bytes.
    pub size: u64,
    /// Maximal tasks anchored there.
    pub anchors: Figure,
    /// The most of it that was given out at any time, in bytes.
    pub occupancy_max: Figure,
    /// How much of it was given out on average over the running time, in bytes.
    pub occupancy_mean: Figure,
}

/// Smallest, median and largest over the seeds. The median of an even number of seeds is the lower
/// of the two in the middle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Figure {
    /// The smallest.
    pub min: u64,
    /// The median.
    pub median: u64,
    /// The largest.
    pub max: u64,
}

/// Where the time of all workers together went, in cycles. In one run the five parts sum to running
/// time × workers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WorkerCycles {
    /// Running strands.
    pub active: Figure,
    /// In the scheduler, making work known.
    pub add: Figure,
    /// In the scheduler, looking for work and finding some.
    pub get: Figure,
    /// In the scheduler, ending strands.
    pub done: Figure,
    /// Without work.
    pub idle: Figure,
}

impl From<&[Summary]> for Report {
    fn from(results: &[Summary]) -> Self {
        Self { schema: SCHEMA.to_owned(), results: results.iter().map(Row::from).collect() }
    }
}

impl From<&Summary> for Row {
    fn from(s: &Summary) -> Self {
        let per_level = |get: fn(&LevelSummary) -> Spread<Lines>| -> BTreeMap<String, Figure> {
            s.levels.iter().map(|l| (l.level.to_string(), get(l).into())).collect()
        };
        let place = |level: Option<befit_machine::Level>| {
            level.map_or("memory".to_owned(), |l| l.to_string())
        };
        Self {
            program: s.program().to_owned(),
            command: s.command.clone(),
            machine: s.machine.clone(),
            mhz: s.mhz,
            workers: s.workers,
            scheduler: s.scheduler.name().to_owned(),
            sigma: s.options.sigma,
            mu: s.options.mu,
            counting: s.options.counting.name().to_owned(),
            seeds: s.seeds,
            tasks: s.tasks,
            strands: s.strands,
            time_cycles: s.time.into(),
            misses: per_level(|l| l.misses),
            accesses: per_level(|l| l.accesses),
            coherence_misses: per_level(|l| l.coherence_misses),
            memory_reads: s.memory_reads.into(),
            memory_writes: s.memory_writes.into(),
            remote_hits: s.remote_hits.into(),
            sibling_hits: s.sibling_hits.into(),
            worker_cycles: WorkerCycles {
                active: s.worker_time.active.into(),
                add: s.worker_time.add.into(),
                get: s.worker_time.get.into(),
                done: s.worker_time.done.into(),
                idle: s.worker_time.idle.into(),
            },
            steals: s.steals.into(),
            near_steals: s.near_steals.into(),
            failed_steals: s.failed_steals.into(),
            anchors: s.anchors.iter().map(|(level, n)| (place(*level), (*n).into())).collect(),
            caches: s.caches.iter().map(Cache::from).collect(),
        }
    }
}

impl From<&CacheUse> for Cache {
    fn from(c: &CacheUse) -> Self {
        Self {
            cluster: c.cluster.0,
            level: c.level.to_string(),
            first_worker: c.first_worker,
            last_worker: c.last_worker,
            size: c.size.0,
            anchors: c.anchors.into(),
            occupancy_max: c.occupancy_max.into(),
            occupancy_mean: c.occupancy_mean.into(),
        }
    }
}

impl From<Spread<Bytes>> for Figure {
    fn from(s: Spread<Bytes>) -> Self {
        s.map(|b| b.0).into()
    }
}

impl From<Spread<u64>> for Figure {
    fn from(s: Spread<u64>) -> Self {
        Self { min: s.min, median: s.median, max: s.max }
    }
}

impl From<Spread<Cycles>> for Figure {
    fn from(s: Spread<Cycles>) -> Self {
        s.map(|c| c.0).into()
    }
}

impl From<Spread<Lines>> for Figure {
    fn from(s: Spread<Lines>) -> Self {
        s.map(|l| l.0).into()
    }
}
