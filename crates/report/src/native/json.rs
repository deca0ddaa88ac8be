//! The JSON contract `befit.run/1`. `docs/json.md` says the same in prose, and what may change
//! without a new number.

use std::{collections::BTreeMap, time::Duration};

use befit_counters::Event;
use befit_lab::{
    ClusterSummary, CountsSummary, Measured, NativeResults, NativeSummary, Spread, TiersSummary,
    WorkerSummary,
};
use serde::{Deserialize, Serialize};

use crate::json::Figure;

/// The version of the contract, as written in [`Report::schema`].
pub const SCHEMA: &str = "befit.run/1";

/// The whole document.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Report {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// One per scheduler, in the order in which they were asked for.
    pub results: Vec<Row>,
    /// How each quantity of [`Counters`] was counted.
    pub events: Vec<EventRow>,
    /// What was not counted and why, a line each.
    pub not_counted: Vec<String>,
    /// What a reader of the figures should know, a line each.
    pub notes: Vec<String>,
}

/// One program under one scheduler, over all repeats.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Row {
    /// The first word of `command`.
    pub program: String,
    /// The command, for people.
    pub command: String,
    /// Name of the machine that it was scheduled on.
    pub machine: String,
    /// The scheduler's name.
    pub scheduler: String,
    /// Threads of its largest pool.
    pub threads: u32,
    /// Whether the threads of all its pools were pinned.
    pub pinned: bool,
    /// Dilation σ.
    pub sigma: f64,
    /// μ.
    pub mu: f64,
    /// The number of runs.
    pub repeats: u32,
    /// What `seconds` is: `pools` or `process`.
    pub measured: String,
    /// The time to compare by: one of the next two.
    pub seconds: Seconds,
    /// `seconds.median` by that of the first scheduler.
    pub ratio: f64,
    /// From the start of the process to its end.
    pub process_seconds: Seconds,
    /// From the start of a pool's first job to the end of its last; the sum over the pools.
    pub pools_seconds: Seconds,
    /// Pools that the program built.
    pub pools: Figure,
    /// All workers together.
    pub total: Worker,
    /// Tasks anchored, by level, `memory` being the root. Only where there are any.
    pub anchors: Vec<Anchors>,
    /// How it was cut; under schedulers with two tiers only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tiers: Option<Tiers>,
    /// What was counted of the whole process.
    pub counters: Counters,
    /// Each worker.
    pub workers: Vec<Worker>,
}

/// Smallest, median and largest over the repeats, in seconds.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Seconds {
    /// The smallest.
    pub min: f64,
    /// The median.
    pub median: f64,
    /// The largest.
    pub max: f64,
}

/// What a worker did. In one run the five times sum to `pools_seconds`, times the number of workers
/// where they are together.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Worker {
    /// Where its time went.
    pub seconds: WorkerSeconds,
    /// Calls of `join` that were not run as plain calls.
    pub forks: Figure,
    /// Of these, given to the scheduler.
    pub published: Figure,
    /// Tasks spawned.
    pub spawned: Figure,
    /// Tasks that the scheduler handed to it.
    pub executed: Figure,
    /// Of these, anchored ones.
    pub anchored: Figure,
    /// Tasks taken from another's queue, by the level of the smallest cache shared with it;
    /// `memory`: none.
    pub steals: BTreeMap<String, Figure>,
    /// Looks into another's queue that found nothing.
    pub failed_steals: Figure,
    /// Times that it went to sleep.
    pub sleeps: Figure,
}

/// Where time went.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct WorkerSeconds {
    /// In the program's own code.
    pub active: Seconds,
    /// In the scheduler, making work known.
    pub add: Seconds,
    /// In the scheduler, being given work.
    pub get: Seconds,
    /// In the scheduler, giving back what ended or waits.
    pub done: Seconds,
    /// Without work.
    pub idle: Seconds,
}

/// Tasks anchored at one cluster.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Anchors {
    /// Its number in the machine.
    pub cluster: u32,
    /// Its cache's level, or `memory`.
    pub level: String,
    /// The first worker under it.
    pub first_worker: u32,
    /// The last one.
    pub last_worker: u32,
    /// How many.
    pub tasks: Figure,
}

/// How a scheduler with two tiers has cut the program.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Tiers {
    /// Where the sizes come from; empty if no size was seen. Joined by commas.
    pub source: String,
    /// Why it stole as if there were one tier; empty where it did not. Joined by semicolons.
    pub plain: String,
    /// How often a computation was cut in tiers.
    pub partitions: Figure,
    /// Bytes that one iteration of the latest involves.
    pub root_bytes: Figure,
    /// Its inter-socket tasks, the root included.
    pub inter: Figure,
    /// Its intra-socket subtrees.
    pub subtrees: Figure,
    /// Bytes that the largest of them involves.
    pub largest_bytes: Figure,
    /// Subtrees that were run in all.
    pub subtrees_run: Figure,
    /// Of these, on another socket than the last time.
    pub subtrees_moved: Figure,
}

/// Counts of the whole process with all that it started; null where nothing counts.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Counters {
    /// Cache lines brought into the last cache that is a core's own.
    pub private_misses: Option<Figure>,
    /// Cache lines that the last-level cache did not have.
    pub llc_misses: Option<Figure>,
    /// Instructions in user space.
    pub instructions: Option<Figure>,
    /// Core cycles in user space.
    pub cycles: Option<Figure>,
    /// Time on processors, of all threads.
    pub task_clock_seconds: Option<Seconds>,
    /// Page faults.
    pub page_faults: Option<Figure>,
    /// Context switches.
    pub context_switches: Option<Figure>,
    /// Moves to another processor.
    pub migrations: Option<Figure>,
    /// The smallest share of the time for which events were counted; below 1 counts were scaled up.
    pub coverage: Option<f64>,
}

/// How a quantity was counted.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct EventRow {
    /// What.
    pub quantity: String,
    /// By which event.
    pub event: String,
    /// For misses: of which level of caches, if that is known.
    pub level: Option<String>,
}

impl From<&NativeResults> for Report {
    fn from(results: &NativeResults) -> Self {
        let first =
            results.summaries.first().map_or(0.0, |first| first.time().median.as_secs_f64());
        Self {
            schema: SCHEMA.to_owned(),
            results: results.summaries.iter().map(|summary| row(summary, first)).collect(),
            events: results.events.iter().map(EventRow::from).collect(),
            not_counted: results.not_counted.clone(),
            notes: results.notes.clone(),
        }
    }
}

fn row(s: &NativeSummary, first: f64) -> Row {
    let time = s.time().median.as_secs_f64();
    let measured = match s.measured {
        Measured::Pools => "pools",
        Measured::Process => "process",
    };
    Row {
        program: s.command.split(' ').next().unwrap_or_default().to_owned(),
        command: s.command.clone(),
        machine: s.machine.clone(),
        scheduler: s.scheduler.name().to_owned(),
        threads: s.threads,
        pinned: s.pinned,
        sigma: s.sigma,
        mu: s.mu,
        repeats: s.repeats,
        measured: measured.to_owned(),
        seconds: s.time().into(),
        // JSON has no infinity.
        ratio: if first > 0.0 { time / first } else { 1.0 },
        process_seconds: s.process.into(),
        pools_seconds: s.pools_time.into(),
        pools: s.pools.into(),
        total: Worker::from(&s.total),
        anchors: s.clusters.iter().map(Anchors::from).collect(),
        tiers: s.tiers.as_ref().map(Tiers::from),
        counters: Counters::from(&s.counts),
        workers: s.workers.iter().map(Worker::from).collect(),
    }
}

impl From<Spread<Duration>> for Seconds {
    fn from(s: Spread<Duration>) -> Self {
        Self { min: s.min.as_secs_f64(), median: s.median.as_secs_f64(), max: s.max.as_secs_f64() }
    }
}

impl From<&WorkerSummary> for Worker {
    fn from(w: &WorkerSummary) -> Self {
        Self {
            seconds: WorkerSeconds {
                active: w.time.active.into(),
                add: w.time.add.into(),
                get: w.time.get.into(),
                done: w.time.done.into(),
                idle: w.time.idle.into(),
            },
            forks: w.forks.into(),
            published: w.published.into(),
            spawned: w.spawned.into(),
            executed: w.executed.into(),
            anchored: w.anchored.into(),
            steals: w
                .steals
                .iter()
                .map(|(level, steals)| (level.clone(), (*steals).into()))
                .collect(),
            failed_steals: w.failed_steals.into(),
            sleeps: w.sleeps.into(),
        }
    }
}

impl From<&ClusterSummary> for Anchors {
    fn from(c: &ClusterSummary) -> Self {
        Self {
            cluster: c.cluster,
            level: c.level.clone(),
            first_worker: c.first_worker,
            last_worker: c.last_worker,
            tasks: c.tasks.into(),
        }
    }
}

impl From<&TiersSummary> for Tiers {
    fn from(t: &TiersSummary) -> Self {
        Self {
            source: t.sources.join(", "),
            plain: t.plain.join("; "),
            partitions: t.partitions.into(),
            root_bytes: t.root_bytes.into(),
            inter: t.inter.into(),
            subtrees: t.subtrees.into(),
            largest_bytes: t.largest_bytes.into(),
            subtrees_run: t.run.into(),
            subtrees_moved: t.moved.into(),
        }
    }
}

impl From<&CountsSummary> for Counters {
    fn from(c: &CountsSummary) -> Self {
        Self {
            private_misses: c.private_misses.map(Figure::from),
            llc_misses: c.llc_misses.map(Figure::from),
            instructions: c.instructions.map(Figure::from),
            cycles: c.cycles.map(Figure::from),
            task_clock_seconds: c.task_clock.map(Seconds::from),
            page_faults: c.page_faults.map(Figure::from),
            context_switches: c.context_switches.map(Figure::from),
            migrations: c.migrations.map(Figure::from),
            coverage: c.coverage,
        }
    }
}

impl From<&Event> for EventRow {
    fn from(e: &Event) -> Self {
        Self {
            quantity: e.quantity.to_string(),
            event: e.name.to_owned(),
            level: e.level.map(|level| level.to_string()),
        }
    }
}
