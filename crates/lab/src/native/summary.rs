//! The repeats of one scheduler, put together.
//!
//! The structs here serialise themselves as an entry of `befit.run/2` (docs/json.md).

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use befit_counters::Counts;
use befit_sched::{SchedulerKind, Tiers};
use serde::Serialize;

use super::{
    child::NativeRun,
    stats::{ClusterFigures, Document, Worker, WorkerSummary},
};
use crate::{
    Seconds, Spread,
    summary::{first_word, text},
};

/// The time that schedulers are compared by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Measured {
    /// From the start of the first job to the end of the last one in its pools, one pool after the
    /// other. For kernels, which make their input before and check their result after.
    Pools,
    /// From the start of its process to its end.
    Process,
}

/// One program under one scheduler, natively. Each figure is a [`Spread`] over the repeats, taken
/// by itself.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct NativeSummary {
    /// The first word of the command.
    pub program: String,
    /// The command, for people: `rrm --n 10000000`.
    pub command: String,
    /// Name of the machine that it scheduled on.
    pub machine: String,
    /// The policy that was asked for.
    #[serde(serialize_with = "text")]
    pub scheduler: SchedulerKind,
    /// What `auto` takes the machine for; of other schedulers nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto: Option<AutoSummary>,
    /// Threads of its largest pool.
    pub threads: u32,
    /// Whether all its pools were pinned.
    pub pinned: bool,
    /// Dilation σ.
    pub sigma: f64,
    /// μ.
    pub mu: f64,
    /// How often it ran.
    pub repeats: u32,
    /// Which of the two `time` is.
    pub measured: Measured,
    /// The time to compare schedulers by: `process` or `pools_time`.
    #[serde(rename = "seconds")]
    pub time: Spread<Seconds>,
    /// The median of `time` by that of the first scheduler.
    pub ratio: f64,
    /// From the start of the process to its end.
    #[serde(rename = "process_seconds")]
    pub process: Spread<Seconds>,
    /// Time of its pools, from the start of a pool's first job to the end of its last; the sum over
    /// its pools.
    #[serde(rename = "pools_seconds")]
    pub pools_time: Spread<Seconds>,
    /// Pools that it built.
    pub pools: Spread<u64>,
    /// All workers together.
    pub total: WorkerSummary,
    /// Clusters that tasks were anchored at.
    #[serde(rename = "anchors")]
    pub clusters: Vec<ClusterSummary>,
    /// How it was cut, under schedulers with two tiers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tiers: Option<TiersSummary>,
    /// Counts of the whole process, by the processor and the kernel.
    #[serde(rename = "counters")]
    pub counts: CountsSummary,
    /// Each worker; those of the same number in several pools are taken together.
    pub workers: Vec<WorkerSummary>,
}

/// What `auto` takes the machine for, in the largest pool of the first run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct AutoSummary {
    /// What it is there: `homes` or `ws`.
    pub policy: String,
    /// The number of last-level caches that the pool's threads are under. It is `homes` if there
    /// are several and `BEFIT_AUTO` does not turn it off.
    pub last_level_caches: u32,
}

/// Tasks anchored at one cluster, over the repeats.
pub type ClusterSummary = ClusterFigures<Spread<u64>>;

/// Counts of the whole process with all that it started; `None` where nothing counts.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct CountsSummary {
    /// Cache lines brought into the last cache that is a core's own.
    pub private_misses: Option<Spread<u64>>,
    /// Cache lines that the last-level cache did not have.
    pub llc_misses: Option<Spread<u64>>,
    /// Instructions in user space.
    pub instructions: Option<Spread<u64>>,
    /// Core cycles in user space.
    pub cycles: Option<Spread<u64>>,
    /// Time on processors, of all threads.
    #[serde(rename = "task_clock_seconds")]
    pub task_clock: Option<Spread<Seconds>>,
    /// Page faults.
    pub page_faults: Option<Spread<u64>>,
    /// Context switches.
    pub context_switches: Option<Spread<u64>>,
    /// Moves to another processor.
    pub migrations: Option<Spread<u64>>,
    /// The smallest share of the time for which the events were counted; below 1 the counts were
    /// scaled up.
    pub coverage: Option<f64>,
}

/// How a scheduler with two tiers has cut the program: of each run, in its largest pool.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct TiersSummary {
    /// Where the sizes come from: `hardware counters`, `declared sizes`; of several runs all that
    /// there were, joined by commas. Empty if none has seen a size.
    pub source: String,
    /// Why it stole as if there were one tier, in runs where it did, joined by semicolons.
    pub plain: String,
    /// How often a computation was cut in tiers.
    pub partitions: Spread<u64>,
    /// Bytes that one iteration of the latest cut involves.
    pub root_bytes: Spread<u64>,
    /// Inter-socket tasks of the latest cut, the root included.
    pub inter: Spread<u64>,
    /// Its intra-socket subtrees, as many as there are leaf inter-socket tasks.
    pub subtrees: Spread<u64>,
    /// Bytes that the largest of them involves.
    pub largest_bytes: Spread<u64>,
    /// Subtrees that were run in all.
    pub subtrees_run: Spread<u64>,
    /// Of these, on another socket than the last time.
    pub subtrees_moved: Spread<u64>,
}

impl NativeSummary {
    /// `None` of no runs.
    pub(super) fn of(
        command: &str,
        scheduler: SchedulerKind,
        measured: Measured,
        runs: &[NativeRun],
    ) -> Option<Self> {
        // The largest pool speaks for the run.
        let pool = runs.first()?.largest_pool()?;
        let per_run: Vec<Vec<Worker>> = runs.iter().map(workers).collect();
        let count = per_run.iter().map(Vec::len).max()?;
        let none = Worker::default();
        let totals: Vec<Worker> = per_run.iter().map(Worker::sum).collect();
        let worker = |i: usize| {
            let worker: Vec<&Worker> =
                per_run.iter().map(|run| run.get(i).unwrap_or(&none)).collect();
            Worker::summary(&worker)
        };
        let spans = |run: &NativeRun| run.pools.iter().filter_map(|pool| pool.span_seconds).sum();
        let process = Spread::of(runs.iter().map(|run| Seconds(run.process)))?;
        let pools_time = Spread::of(runs.iter().map(spans))?;
        Some(Self {
            program: first_word(command),
            command: command.to_owned(),
            machine: pool.machine.clone(),
            scheduler,
            auto: (pool.scheduler == SchedulerKind::Auto.name()).then(|| AutoSummary {
                policy: pool.policy.clone(),
                last_level_caches: pool.last_level_caches,
            }),
            threads: pool.threads,
            pinned: runs.iter().flat_map(|run| &run.pools).all(|pool| pool.pinned),
            sigma: pool.sigma,
            mu: pool.mu,
            repeats: runs.len() as u32,
            measured,
            time: match measured {
                Measured::Pools => pools_time,
                Measured::Process => process,
            },
            ratio: 1.0,
            process,
            pools_time,
            pools: Spread::of(runs.iter().map(|run| run.pools.len() as u64))?,
            total: Worker::summary(&totals.iter().collect::<Vec<_>>()),
            clusters: clusters(runs),
            tiers: TiersSummary::of(runs),
            counts: CountsSummary::of(runs.iter().map(|run| &run.counts)),
            workers: (0..count).map(worker).collect(),
        })
    }
}

/// The summary of one run that wrote `statistics`; `None` of no pools. For fuzzing.
///
/// # Errors
/// Why they cannot be read.
#[doc(hidden)]
pub fn summary_of(statistics: &str) -> Result<Option<NativeSummary>, String> {
    let document = Document::read(statistics)?;
    let run = NativeRun {
        process: Duration::ZERO,
        pools: document.pools,
        pools_left_out: document.pools_left_out,
        counts: Counts::default(),
        events: Vec::new(),
        not_counted: Vec::new(),
    };
    Ok(NativeSummary::of("fuzzing", SchedulerKind::Ws, Measured::Pools, &[run]))
}

impl CountsSummary {
    fn of<'a>(runs: impl Iterator<Item = &'a Counts> + Clone) -> Self {
        let figure = |of: fn(&Counts) -> Option<u64>| {
            // A figure is known in every run or in none: the runs that know it may be special.
            Spread::of(runs.clone().map(of).collect::<Option<Vec<u64>>>()?)
        };
        let time = runs.clone().map(|c| c.task_clock.map(Seconds)).collect::<Option<Vec<_>>>();
        let counted = runs.clone().filter(|counts| **counts != Counts::default());
        Self {
            private_misses: figure(|c| c.private_misses.map(|lines| lines.0)),
            llc_misses: figure(|c| c.llc_misses.map(|lines| lines.0)),
            instructions: figure(|c| c.instructions),
            cycles: figure(|c| c.cycles.map(|cycles| cycles.0)),
            task_clock: time.and_then(Spread::of),
            page_faults: figure(|c| c.page_faults),
            context_switches: figure(|c| c.context_switches),
            migrations: figure(|c| c.migrations),
            coverage: counted.map(|c| c.coverage.share()).min_by(f64::total_cmp),
        }
    }
}

impl TiersSummary {
    /// `None` if the scheduler makes no tiers.
    fn of(runs: &[NativeRun]) -> Option<Self> {
        type RunTiers = Tiers<Option<String>, Option<String>>;
        let tiers: Vec<&RunTiers> =
            runs.iter().filter_map(|run| run.largest_pool()?.tiers.as_ref()).collect();
        let figure = |of: fn(&RunTiers) -> u64| Spread::of(tiers.iter().map(|tiers| of(tiers)));
        let words = |of: fn(&RunTiers) -> Option<&str>, separator: &str| {
            let words: BTreeSet<&str> = tiers.iter().filter_map(|tiers| of(tiers)).collect();
            words.into_iter().collect::<Vec<_>>().join(separator)
        };
        let largest = |t: &RunTiers| t.subtrees.iter().map(|subtree| subtree.soid.0).max();
        Some(Self {
            source: words(|t| t.source.as_deref(), ", "),
            plain: words(|t| t.plain.as_deref(), "; "),
            partitions: figure(|t| t.partitions)?,
            root_bytes: figure(|t| t.root.0)?,
            inter: figure(|t| t.inter)?,
            subtrees: figure(|t| t.subtrees.len() as u64)?,
            largest_bytes: Spread::of(tiers.iter().map(|tiers| largest(tiers).unwrap_or(0)))?,
            subtrees_run: figure(|t| t.ran)?,
            subtrees_moved: figure(|t| t.moved)?,
        })
    }
}

/// Each worker over all pools of a run.
fn workers(run: &NativeRun) -> Vec<Worker> {
    let count = run.pools.iter().map(|pool| pool.workers.len()).max().unwrap_or(0);
    let worker = |i: usize| Worker::sum(run.pools.iter().filter_map(|pool| pool.workers.get(i)));
    (0..count).map(worker).collect()
}

/// The tasks that were anchored at each cluster in every run, over all its pools.
fn clusters(runs: &[NativeRun]) -> Vec<ClusterSummary> {
    let mut tasks: BTreeMap<ClusterFigures<()>, Vec<u64>> = BTreeMap::new();
    for (at, run) in runs.iter().enumerate() {
        for anchors in run.pools.iter().flat_map(|pool| &pool.anchors) {
            let sums = tasks.entry(anchors.with(())).or_insert_with(|| vec![0; runs.len()]);
            sums[at] = sums[at].saturating_add(anchors.tasks);
        }
    }
    tasks
        .iter()
        .filter_map(|(cluster, tasks)| Some(cluster.with(Spread::of(tasks.clone())?)))
        .collect()
}
