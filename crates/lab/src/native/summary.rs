//! What the repeats of one scheduler gave, put together.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use befit_counters::Counts;
use befit_sched::SchedulerKind;

use super::{
    TiersSummary,
    child::Run,
    stats::{Seconds, Worker},
};
use crate::Spread;

/// What a program's time is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measured {
    /// From the start of the first job to the end of the last one in its pools, one pool after the
    /// other. For kernels, which make their input before and check their result after.
    Pools,
    /// From the start of its process to its end.
    Process,
}

/// One program under one scheduler, natively. Each figure is a [`Spread`] over the repeats, taken
/// by itself.
#[derive(Clone, PartialEq, Debug)]
pub struct NativeSummary {
    /// The command, for people: `rrm --n 10000000`.
    pub command: String,
    /// The policy that was asked for.
    pub scheduler: SchedulerKind,
    /// Name of the machine that it scheduled on.
    pub machine: String,
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
    /// What [`NativeSummary::time`] answers.
    pub measured: Measured,
    /// From the start of the process to its end.
    pub process: Spread<Duration>,
    /// Time of its pools, from the start of a pool's first job to the end of its last; the sum over
    /// its pools.
    pub pools_time: Spread<Duration>,
    /// How many pools it built.
    pub pools: Spread<u64>,
    /// All workers together.
    pub total: WorkerSummary,
    /// Each worker; those of the same number in several pools are taken together.
    pub workers: Vec<WorkerSummary>,
    /// Clusters that tasks were anchored at.
    pub clusters: Vec<ClusterSummary>,
    /// How it was cut, under schedulers with two tiers.
    pub tiers: Option<TiersSummary>,
    /// What the processor and the kernel counted of the whole process.
    pub counts: CountsSummary,
}

/// What one worker did.
#[derive(Clone, PartialEq, Debug)]
pub struct WorkerSummary {
    /// Where its time went.
    pub time: TimeSummary,
    /// Calls of `join` that were not run as plain calls.
    pub forks: Spread<u64>,
    /// Forks that were given to the scheduler.
    pub published: Spread<u64>,
    /// Tasks spawned.
    pub spawned: Spread<u64>,
    /// Tasks that the scheduler handed to it.
    pub executed: Spread<u64>,
    /// Of these, anchored ones.
    pub anchored: Spread<u64>,
    /// Steals by the level of the smallest cache that thief and victim share (`L1` …), or `memory`.
    pub steals: Vec<(String, Spread<u64>)>,
    /// Looks into another's queue that found nothing.
    pub failed_steals: Spread<u64>,
    /// Times that it went to sleep.
    pub sleeps: Spread<u64>,
}

/// Where time went, between the first job's start and the last one's end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeSummary {
    /// In the program's own code.
    pub active: Spread<Duration>,
    /// In the scheduler, making work known.
    pub add: Spread<Duration>,
    /// In the scheduler, being given work.
    pub get: Spread<Duration>,
    /// In the scheduler, giving back what ended or waits.
    pub done: Spread<Duration>,
    /// Without work.
    pub idle: Spread<Duration>,
}

/// Tasks anchored at one cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClusterSummary {
    /// Its number in the machine.
    pub cluster: u32,
    /// Its cache's level, or `memory`.
    pub level: String,
    /// The first of the workers under it.
    pub first_worker: u32,
    /// The last of them.
    pub last_worker: u32,
    /// How many tasks were anchored there.
    pub tasks: Spread<u64>,
}

/// Counts of the whole process with all that it started; `None` where nothing counts.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
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
    pub task_clock: Option<Spread<Duration>>,
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

impl NativeSummary {
    /// The time to compare schedulers by.
    pub fn time(&self) -> Spread<Duration> {
        match self.measured {
            Measured::Pools => self.pools_time,
            Measured::Process => self.process,
        }
    }

    /// `None` of no runs.
    pub(super) fn of(
        command: &str,
        scheduler: SchedulerKind,
        measured: Measured,
        runs: &[Run],
    ) -> Option<Self> {
        // The largest pool speaks for the run.
        let pool = runs.first()?.largest_pool()?;
        let per_run: Vec<Vec<Worker>> = runs.iter().map(workers).collect();
        let count = per_run.iter().map(Vec::len).max()?;
        let none = Worker::default();
        let total = |workers: &Vec<Worker>| {
            let mut sum = Worker::default();
            workers.iter().for_each(|worker| sum.add(worker));
            sum
        };
        let totals: Vec<Worker> = per_run.iter().map(total).collect();
        let workers = (0..count).map(|i| {
            let worker: Vec<&Worker> =
                per_run.iter().map(|run| run.get(i).unwrap_or(&none)).collect();
            WorkerSummary::of(&worker)
        });
        let spans = |run: &Run| run.pools.iter().filter_map(|pool| pool.span_seconds).sum();
        Some(Self {
            command: command.to_owned(),
            scheduler,
            machine: pool.machine.clone(),
            threads: pool.threads,
            pinned: runs.iter().flat_map(|run| &run.pools).all(|pool| pool.pinned),
            sigma: pool.sigma,
            mu: pool.mu,
            repeats: runs.len() as u32,
            measured,
            process: Spread::of(runs.iter().map(|run| run.process))?,
            pools_time: Spread::of(runs.iter().map(|run| duration(spans(run))))?,
            pools: Spread::of(runs.iter().map(|run| run.pools.len() as u64))?,
            total: WorkerSummary::of(&totals.iter().collect::<Vec<_>>())?,
            workers: workers.collect::<Option<_>>()?,
            clusters: clusters(runs),
            tiers: TiersSummary::of(runs),
            counts: CountsSummary::of(runs.iter().map(|run| &run.counts)),
        })
    }
}

impl WorkerSummary {
    fn of(runs: &[&Worker]) -> Option<Self> {
        let figure = |of: fn(&Worker) -> u64| Spread::of(runs.iter().map(|worker| of(worker)));
        let time = |of: fn(&Seconds) -> f64| {
            Spread::of(runs.iter().map(|worker| duration(worker.seconds.as_ref().map_or(0.0, of))))
        };
        let levels: BTreeSet<&String> =
            runs.iter().flat_map(|worker| worker.steals.keys()).collect();
        let steals = |level: &String| {
            let steals = runs.iter().map(|worker| worker.steals.get(level).copied().unwrap_or(0));
            Some((level.clone(), Spread::of(steals)?))
        };
        Some(Self {
            time: TimeSummary {
                active: time(|s| s.active)?,
                add: time(|s| s.add)?,
                get: time(|s| s.get)?,
                done: time(|s| s.done)?,
                idle: time(|s| s.idle)?,
            },
            forks: figure(|w| w.forks)?,
            published: figure(|w| w.published)?,
            spawned: figure(|w| w.spawned)?,
            executed: figure(|w| w.executed)?,
            anchored: figure(|w| w.anchored)?,
            steals: levels.into_iter().map(steals).collect::<Option<_>>()?,
            failed_steals: figure(|w| w.failed_steals)?,
            sleeps: figure(|w| w.sleeps)?,
        })
    }
}

impl CountsSummary {
    fn of<'a>(runs: impl Iterator<Item = &'a Counts> + Clone) -> Self {
        let figure = |of: fn(&Counts) -> Option<u64>| {
            // Known in every run, or not known: the spread of some would be that of others.
            Spread::of(runs.clone().map(of).collect::<Option<Vec<u64>>>()?)
        };
        let any = |counts: &Counts| *counts != Counts::default();
        Self {
            private_misses: figure(|c| c.private_misses.map(|lines| lines.0)),
            llc_misses: figure(|c| c.llc_misses.map(|lines| lines.0)),
            instructions: figure(|c| c.instructions),
            cycles: figure(|c| c.cycles.map(|cycles| cycles.0)),
            task_clock: figure(|c| c.task_clock.map(|time| time.as_nanos() as u64))
                .map(|spread| spread.map(Duration::from_nanos)),
            page_faults: figure(|c| c.page_faults),
            context_switches: figure(|c| c.context_switches),
            migrations: figure(|c| c.migrations),
            coverage: runs
                .clone()
                .filter(|c| any(c))
                .map(|c| c.coverage.share())
                .min_by(f64::total_cmp),
        }
    }
}

/// Each worker over all pools of a run.
fn workers(run: &Run) -> Vec<Worker> {
    let mut workers: Vec<Worker> = Vec::new();
    for pool in &run.pools {
        if workers.len() < pool.workers.len() {
            workers.resize_with(pool.workers.len(), Worker::default);
        }
        workers.iter_mut().zip(&pool.workers).for_each(|(sum, worker)| sum.add(worker));
    }
    workers
}

fn clusters(runs: &[Run]) -> Vec<ClusterSummary> {
    type Place = (u32, String, u32, u32);
    let mut tasks: BTreeMap<Place, Vec<u64>> = BTreeMap::new();
    for (at, run) in runs.iter().enumerate() {
        for anchors in run.pools.iter().flat_map(|pool| &pool.anchors) {
            let cluster =
                (anchors.cluster, anchors.level.clone(), anchors.first_worker, anchors.last_worker);
            tasks.entry(cluster).or_insert_with(|| vec![0; runs.len()])[at] += anchors.tasks;
        }
    }
    let summary = |((cluster, level, first_worker, last_worker), tasks): (Place, Vec<u64>)| {
        Some(ClusterSummary {
            cluster,
            level,
            first_worker,
            last_worker,
            tasks: Spread::of(tasks)?,
        })
    };
    tasks.into_iter().filter_map(summary).collect()
}

/// Seconds as they stand in JSON; what is none there is 0.
fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}
