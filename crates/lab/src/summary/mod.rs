//! What the seeds of one experiment gave, put together.

mod caches;
mod spread;

pub use caches::CacheUse;
pub use spread::Spread;

use befit_machine::{ClusterId, Cycles, Level, Lines, Machine};
use befit_sched::{Options, SchedulerKind};
use befit_sim::{Breakdown, Outcome};

/// One program on one machine under one scheduler: what its seeds gave. Seeds are 1, 2, … up to
/// [`Summary::seeds`].
#[derive(Clone, PartialEq, Debug)]
pub struct Summary {
    /// The command that was recorded, for people: `rrm --n 10000000`.
    pub command: String,
    /// The machine's name.
    pub machine: String,
    /// Clock of the machine's fastest core, in MHz: turns cycles into time.
    pub mhz: u32,
    /// The machine's workers (hardware threads).
    pub workers: u32,
    /// The policy.
    pub scheduler: SchedulerKind,
    /// What was set on it.
    pub options: Options,
    /// How many seeds.
    pub seeds: u32,
    /// Running time.
    pub time: Spread<Cycles>,
    /// Per cache level, ascending; the caches of a level together.
    pub levels: Vec<LevelSummary>,
    /// Lines read from memory.
    pub memory_reads: Spread<Lines>,
    /// Lines written back to memory.
    pub memory_writes: Spread<Lines>,
    /// Last-level misses served by another socket's cache.
    pub remote_hits: Spread<Lines>,
    /// Misses served by another worker's cache below a common cache.
    pub sibling_hits: Spread<Lines>,
    /// Where the workers' time went, all workers together.
    pub worker_time: WorkerTime,
    /// Strands taken from another worker's queue.
    pub steals: Spread<u64>,
    /// Those of them with a victim under the same last-level cache.
    pub near_steals: Spread<u64>,
    /// Looks into another worker's queue that found nothing.
    pub failed_steals: Spread<u64>,
    /// Maximal tasks anchored per level, ascending; `None` is memory (the root), last.
    pub anchors: Vec<(Option<Level>, Spread<u64>)>,
    /// Per cache of the machine, in the order of its clusters: what the policy did with it. Empty
    /// under policies that anchor nothing.
    pub caches: Vec<CacheUse>,
    /// Tasks of the program, the root included.
    pub tasks: u64,
    /// Strands of the program.
    pub strands: u64,
}

/// Counts of all caches of one level, over the seeds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LevelSummary {
    /// The level.
    pub level: Level,
    /// Accesses that reached it.
    pub accesses: Spread<Lines>,
    /// Those that missed.
    pub misses: Spread<Lines>,
    /// Misses on a line lost to another worker's write.
    pub coherence_misses: Spread<Lines>,
}

/// Where the time of all workers together went, over the seeds. In one run the five parts sum to
/// running time × workers; their medians need not, as they may come from different seeds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WorkerTime {
    /// Running strands.
    pub active: Spread<Cycles>,
    /// In the policy, making work known.
    pub add: Spread<Cycles>,
    /// In the policy, looking for work and finding some.
    pub get: Spread<Cycles>,
    /// In the policy, ending strands.
    pub done: Spread<Cycles>,
    /// Without work.
    pub idle: Spread<Cycles>,
}

/// What stays the same over the seeds of one experiment.
#[derive(Clone, Copy, Debug)]
pub struct Experiment<'a> {
    /// The command that was recorded.
    pub command: &'a str,
    /// The machine.
    pub machine: &'a Machine,
    /// The policy.
    pub scheduler: SchedulerKind,
    /// What is set on it.
    pub options: Options,
}

impl Summary {
    /// Puts the outcomes of the seeds together; `None` of no outcomes. The order of `outcomes` does
    /// not matter.
    pub fn of(experiment: Experiment<'_>, outcomes: &[Outcome]) -> Option<Self> {
        let first = outcomes.first()?;
        let machine = experiment.machine;
        let lines = |get: fn(&Outcome) -> Lines| Spread::of(outcomes.iter().map(get));
        let count = |get: fn(&Outcome) -> u64| Spread::of(outcomes.iter().map(get));
        let worker = |get: fn(&Breakdown) -> Cycles| {
            Spread::of(outcomes.iter().map(|o| o.workers.iter().map(get).sum()))
        };
        let levels = first.levels.iter().enumerate().map(|(i, counts)| {
            let of = |get: fn(&befit_sim::LevelCounts) -> Lines| {
                Spread::of(outcomes.iter().map(|o| get(&o.levels[i])))
            };
            Some(LevelSummary {
                level: counts.level,
                accesses: of(|l| l.accesses)?,
                misses: of(|l| l.misses)?,
                coherence_misses: of(|l| l.coherence_misses)?,
            })
        });
        Some(Self {
            command: experiment.command.to_owned(),
            machine: machine.name.clone(),
            mhz: machine.mhz,
            workers: machine.workers().len() as u32,
            scheduler: experiment.scheduler,
            options: experiment.options,
            seeds: outcomes.len() as u32,
            time: Spread::of(outcomes.iter().map(|o| o.time))?,
            levels: levels.collect::<Option<_>>()?,
            memory_reads: lines(|o| o.memory_reads)?,
            memory_writes: lines(|o| o.memory_writes)?,
            remote_hits: lines(|o| o.remote_hits)?,
            sibling_hits: lines(|o| o.sibling_hits)?,
            worker_time: WorkerTime {
                active: worker(|b| b.active)?,
                add: worker(|b| b.add)?,
                get: worker(|b| b.get)?,
                done: worker(|b| b.done)?,
                idle: worker(|b| b.idle)?,
            },
            steals: count(|o| o.steals)?,
            near_steals: count(|o| o.near_steals)?,
            failed_steals: count(|o| o.failed_steals)?,
            anchors: anchors(machine, outcomes)?,
            caches: CacheUse::of(machine, outcomes),
            tasks: first.tasks,
            strands: first.strands,
        })
    }

    /// The program's name: the first word of its command.
    pub fn program(&self) -> &str {
        self.command.split_whitespace().next().unwrap_or_default()
    }

    /// What `worker_time` says of the whole, as shares of 0 to 1 that sum to 1: running strands, in
    /// the policy, without work.
    pub fn shares(&self) -> Shares {
        let cycles = |spread: Spread<Cycles>| spread.median.0 as f64;
        let t = &self.worker_time;
        let (active, idle) = (cycles(t.active), cycles(t.idle));
        let policy = cycles(t.add) + cycles(t.get) + cycles(t.done);
        let whole = active + policy + idle;
        let share = |part: f64| if whole > 0.0 { part / whole } else { 0.0 };
        Shares { active: share(active), policy: share(policy), idle: share(idle) }
    }
}

/// Where the workers' time went, as shares of the whole (0 to 1).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shares {
    /// Running strands.
    pub active: f64,
    /// In the policy.
    pub policy: f64,
    /// Without work.
    pub idle: f64,
}

/// Sums the anchored tasks of each run by level.
fn anchors(machine: &Machine, outcomes: &[Outcome]) -> Option<Vec<(Option<Level>, Spread<u64>)>> {
    let places = machine.levels().into_iter().map(Some).chain([None]);
    let at = |place: Option<Level>, outcome: &Outcome| -> u64 {
        let here =
            |id: usize| machine.cluster(ClusterId(id as u32)).cache.map(|c| c.level) == place;
        outcome.anchors.iter().enumerate().filter(|(id, _)| here(*id)).map(|(_, n)| n).sum()
    };
    places.map(|place| Some((place, Spread::of(outcomes.iter().map(|o| at(place, o)))?))).collect()
}
