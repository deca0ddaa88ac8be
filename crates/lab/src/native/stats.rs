//! Reads the statistics that a program wrote to `BEFIT_STATS`: `befit.stats/2` (docs/json.md).

use std::collections::{BTreeMap, BTreeSet};

use befit_sched::{Breakdown, SchedulerKind, Tiers};
use serde::{Deserialize, Deserializer, Serialize};

use crate::{Seconds, Spread};

/// The version of the schema.
const SCHEMA: &str = "befit.stats/2";

/// The statistics of one process. Fields that are not needed here are left out.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(super) struct Document {
    schema: String,
    pub(super) pools_left_out: u64,
    pub(super) pools: Vec<Pool>,
}

#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(super) struct Pool {
    pub(super) scheduler: String,
    /// What the scheduler `auto` is there.
    #[serde(default)]
    pub(super) policy: String,
    #[serde(default)]
    pub(super) last_level_caches: u32,
    pub(super) machine: String,
    pub(super) threads: u32,
    pub(super) pinned: bool,
    pub(super) sigma: f64,
    pub(super) mu: f64,
    pub(super) span_seconds: Option<Seconds>,
    pub(super) workers: Vec<Worker>,
    pub(super) anchors: Vec<ClusterFigures<u64>>,
    #[serde(default)]
    pub(super) tiers: Option<Tiers<Option<String>, Option<String>>>,
    #[serde(default)]
    pub(super) trace: Option<PoolTrace>,
}

/// What the workers of one pool did one by one. Times are nanoseconds, and those of all pools of a
/// process begin at the same moment.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct PoolTrace {
    /// The start of the first job.
    pub begin: u64,
    /// The end of the last one.
    pub end: u64,
    /// One for each thread.
    pub workers: Vec<WorkerTrace>,
}

/// What one worker did.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct WorkerTrace {
    /// The number of its last-level cache in the machine; of memory where it has none.
    pub cluster: u32,
    /// That cache's level, or `memory`.
    pub level: String,
    /// Events that the pool did not keep, because it keeps only so many.
    pub left_out: u64,
    /// The begin of each phase, and the name of the phase in [`Breakdown::NAMES`].
    pub phases: Vec<(u64, String)>,
    /// The time of each steal, and its victim.
    pub steals: Vec<(u64, u32)>,
}

/// One run under a scheduler, traced.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NativeTrace {
    /// As it was asked for.
    pub scheduler: SchedulerKind,
    /// The machine that the first pool schedules on.
    pub machine: String,
    /// Those that were traced, in the order in which they were built.
    pub pools: Vec<PoolTrace>,
}

/// One worker's figures: counts of type `N` and times of type `T`. They are numbers in a run, and
/// [`Spread`]s over the repeats.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(bound(deserialize = "N: Deserialize<'de> + Default, T: Deserialize<'de> + Default"))]
pub struct WorkerFigures<N, T> {
    /// Where its time went, from the first job's start to the last one's end.
    #[serde(rename = "seconds", deserialize_with = "or_none")]
    pub time: Breakdown<T>,
    /// Calls of `join` that were not inlined.
    pub forks: N,
    /// Forks that were published: given to the scheduler.
    pub published: N,
    /// Tasks spawned.
    pub spawned: N,
    /// Forks published and tasks spawned that had a size of their own, declared or learned.
    #[serde(default)]
    pub sized: N,
    /// Tasks that the scheduler gave to it.
    pub executed: N,
    /// Of these, anchored ones.
    pub anchored: N,
    /// Steals by the level of the smallest cache that thief and victim share (`L1` …), or `memory`.
    pub steals: BTreeMap<String, N>,
    /// Looks into another's queue that found nothing.
    pub failed_steals: N,
    /// Times that it went to sleep.
    pub sleeps: N,
}

/// One worker in one run.
pub(super) type Worker = WorkerFigures<u64, Seconds>;

/// One worker over the repeats.
pub type WorkerSummary = WorkerFigures<Spread<u64>, Spread<Seconds>>;

/// Tasks anchored at one cluster: their number in a run, or its [`Spread`] over the repeats.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct ClusterFigures<N> {
    /// Its number in the machine.
    pub cluster: u32,
    /// Its cache's level, or `memory`.
    pub level: String,
    /// The first of the workers under it.
    pub first_worker: u32,
    /// The last of them.
    pub last_worker: u32,
    /// The tasks.
    pub tasks: N,
}

impl<N> ClusterFigures<N> {
    /// The same cluster with other figures.
    pub(super) fn with<M>(&self, tasks: M) -> ClusterFigures<M> {
        let Self { cluster, level, first_worker, last_worker, .. } = self;
        ClusterFigures {
            cluster: *cluster,
            level: level.clone(),
            first_worker: *first_worker,
            last_worker: *last_worker,
            tasks,
        }
    }
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
    /// Several workers as one: each figure is `count` or `time` of that figure of all of them.
    fn join<N, T>(
        all: &[&Self],
        count: impl Fn(Vec<u64>) -> N,
        time: impl Fn(Vec<Seconds>) -> T,
    ) -> WorkerFigures<N, T> {
        let of = |get: fn(&Self) -> u64| count(all.iter().map(|worker| get(worker)).collect());
        let times: Vec<_> = all.iter().map(|worker| worker.time).collect();
        let levels: BTreeSet<&String> =
            all.iter().flat_map(|worker| worker.steals.keys()).collect();
        let steals = |level: &String| {
            let steals = all.iter().map(|w| w.steals.get(level).copied().unwrap_or(0));
            (level.clone(), count(steals.collect()))
        };
        WorkerFigures {
            time: Breakdown::join(&times, time),
            forks: of(|w| w.forks),
            published: of(|w| w.published),
            spawned: of(|w| w.spawned),
            sized: of(|w| w.sized),
            executed: of(|w| w.executed),
            anchored: of(|w| w.anchored),
            steals: levels.into_iter().map(steals).collect(),
            failed_steals: of(|w| w.failed_steals),
            sleeps: of(|w| w.sleeps),
        }
    }

    /// The sums over several workers.
    pub(super) fn sum<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        let all: Vec<&Self> = all.into_iter().collect();
        let sum = |counts: Vec<u64>| counts.into_iter().fold(0, u64::saturating_add);
        Self::join(&all, sum, |times| times.into_iter().sum())
    }

    /// The spreads over several runs of one worker.
    pub(super) fn summary(runs: &[&Self]) -> WorkerSummary {
        let counts = |counts| Spread::of(counts).unwrap_or_default();
        let times = |times| Spread::of(times).unwrap_or_default();
        Self::join::<Spread<u64>, Spread<Seconds>>(runs, counts, times)
    }
}

/// Reads the times of a worker; zeros in a pool that measured none.
fn or_none<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    from: D,
) -> Result<Breakdown<T>, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}
