//! The outcomes of one experiment's seeds, put together.
//!
//! The structs here serialise themselves as an entry of `befit.compare/2` (docs/json.md).

mod interval;
mod sampled;
mod spread;

use std::{collections::BTreeMap, fmt::Display};

use befit_machine::{Bytes, ClusterId, Cycles, Level, Lines, Machine};
use befit_program::{Program, SizesFrom};
use befit_sched::{Breakdown, Options, SchedulerKind};
use befit_sim::{Account, Contended, LevelCounts, Occupancy, Outcome, Part, Settings};
use serde::{Serialize, Serializer, ser::SerializeMap};

pub use interval::{Interval, NARROW};
pub use sampled::{Estimate, Sampled};
pub use spread::{Seconds, Spread};

/// One program on one machine under one scheduler, over all seeds: 1, 2, … up to
/// [`Summary::seeds`].
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Summary {
    /// The program's name: the first word of its command.
    pub program: String,
    /// The command that was recorded, for people: `rrm --n 10000000`.
    pub command: String,
    /// The machine's name.
    pub machine: String,
    /// Clock of the machine's fastest core, in MHz: turns cycles into time.
    pub mhz: u32,
    /// The machine's workers (hardware threads).
    pub workers: u32,
    /// The policy.
    #[serde(serialize_with = "text")]
    pub scheduler: SchedulerKind,
    /// The policy's options.
    #[serde(flatten, serialize_with = "settings")]
    pub options: Options,
    /// The number of seeds.
    pub seeds: u32,
    /// Where the tasks' sizes come from.
    #[serde(serialize_with = "text")]
    pub sizes: SizesFrom,
    /// Tasks of the program, the root included.
    pub tasks: u64,
    /// Those of them that have a size of their own.
    pub sized_tasks: u64,
    /// Strands of the program.
    pub strands: u64,
    /// The program's work T₁ on the machine, as [`Outcome::work`].
    #[serde(rename = "work_cycles")]
    pub work: Cycles,
    /// Its span T∞, as [`Outcome::span`].
    #[serde(rename = "span_cycles")]
    pub span: Cycles,
    /// Running time.
    #[serde(rename = "time_cycles")]
    pub time: Spread<Cycles>,
    /// The running time over that of the machine's first scheduler, by the seeds that both ran
    /// with; `None` of fewer than two.
    pub ratio: Option<Interval>,
    /// Per cache level, ascending; the caches of a level together.
    #[serde(flatten, serialize_with = "by_quantity")]
    pub levels: Vec<LevelSummary>,
    /// Misses of the last level: lines that came from memory or from another last-level cache. A
    /// line that a sibling's cache under the same last-level cache supplied is none.
    pub last_level_misses: Spread<Lines>,
    /// These misses over those of the machine's first scheduler; `None` also where only that has
    /// none.
    pub misses_ratio: Option<Interval>,
    /// Lines read from memory.
    pub memory_reads: Spread<Lines>,
    /// Lines written back to memory.
    pub memory_writes: Spread<Lines>,
    /// Last-level misses served by another last-level cache.
    pub remote_hits: Spread<Lines>,
    /// Those of them from a cache of the same package.
    pub near_hits: Spread<Lines>,
    /// Those of them from a cache of another package.
    pub far_hits: Spread<Lines>,
    /// Misses served by another worker's cache below a common cache that did not hold the line.
    pub sibling_hits: Spread<Lines>,
    /// Where the time of all workers together went.
    #[serde(rename = "worker_cycles")]
    pub worker_time: WorkerTime,
    /// The same in more parts, each the mean over the seeds: they sum to the mean of the running
    /// times × workers, but for rounding.
    #[serde(rename = "account_cycles", serialize_with = "by_part")]
    pub account: Account,
    /// Strands taken from another worker's queue.
    pub steals: Spread<u64>,
    /// Steals from a victim under the same last-level cache.
    pub near_steals: Spread<u64>,
    /// Looks into another worker's queue that found nothing.
    pub failed_steals: Spread<u64>,
    /// Maximal tasks anchored per level, ascending; `None` is memory (the root), last.
    #[serde(serialize_with = "by_level")]
    pub anchors: Vec<(Option<Level>, Spread<u64>)>,
    /// The policy's use of each cache, in the order of the machine's clusters. Empty under policies
    /// that anchor nothing.
    pub caches: Vec<CacheUse>,
    /// The share of the process's processor time that the recorded regions took where the program
    /// was timed; `None` where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded: Option<f64>,
    /// What one line in K says of all; `None` where all lines were simulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampled: Option<Sampled>,
    /// What ratios are made of, by seed.
    #[serde(skip)]
    pub runs: Vec<Run>,
    /// With the first seed, the lines that went to and fro between workers, those that were waited
    /// for longest first.
    #[serde(skip)]
    pub contended: Vec<Contended>,
}

/// The share of the process's time that `program`'s recorded regions took.
pub(crate) fn recorded(program: &Program) -> Option<f64> {
    program.work_run().map(|run| run.recorded).filter(|share| *share > 0.0)
}

/// One seed's running time, misses of the last level, and account.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// The running time.
    pub time: Cycles,
    /// As [`Summary::last_level_misses`].
    pub misses: Lines,
    /// What the time of all workers together went on.
    pub account: Account,
}

impl Run {
    pub(crate) fn of(outcome: &Outcome) -> Self {
        let misses = Lines(outcome.memory_reads.0 + outcome.remote_hits.0);
        Self { time: outcome.time, misses, account: outcome.account }
    }
}

/// Counts of all caches of one level, over the seeds.
pub type LevelSummary = LevelCounts<Spread<Lines>>;

/// Where the time of all workers together went, over the seeds. In one run the five parts sum to
/// running time × workers; their medians need not, as they may come from different seeds.
pub type WorkerTime = Breakdown<Spread<Cycles>>;

/// One cache under a space-bounded policy, over the seeds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CacheUse {
    /// The cache's cluster in the machine.
    pub cluster: ClusterId,
    /// The cache's level.
    pub level: Level,
    /// The first of the workers under it.
    pub first_worker: u32,
    /// The last of them.
    pub last_worker: u32,
    /// Its size M.
    pub size: Bytes,
    /// Maximal tasks anchored there.
    pub anchors: Spread<u64>,
    /// The largest part of it that was claimed at any time.
    pub occupancy_max: Spread<Bytes>,
    /// The part of it that was claimed on average over the running time.
    pub occupancy_mean: Spread<Bytes>,
}

impl Summary {
    /// Puts the outcomes of the seeds together, which are in the order of the seeds; `None` of no
    /// outcomes. `one_in`: of samples of one line in so many. The seed in `settings` does not
    /// matter. Ratios are not known yet.
    pub(crate) fn of(
        program: &Program,
        machine: &Machine,
        settings: &Settings,
        one_in: Option<u32>,
        outcomes: &[Outcome],
    ) -> Option<Self> {
        let first = outcomes.first()?;
        let command = &program.meta().name;
        let lines = |get: fn(&Outcome) -> Lines| Spread::of(outcomes.iter().map(get));
        let count = |get: fn(&Outcome) -> u64| Spread::of(outcomes.iter().map(get));
        let levels = first.levels.iter().enumerate().map(|(i, counts)| {
            let of = |get: fn(&LevelCounts) -> Lines| {
                Spread::of(outcomes.iter().map(|o| get(&o.levels[i])))
            };
            Some(LevelSummary {
                level: counts.level,
                accesses: of(|l| l.accesses)?,
                misses: of(|l| l.misses)?,
                coherence_misses: of(|l| l.coherence_misses)?,
                fought_misses: of(|l| l.fought_misses)?,
            })
        });
        let all_workers: Vec<Breakdown<Cycles>> = outcomes
            .iter()
            .map(|o| Breakdown::join(&o.workers, |parts| parts.into_iter().sum()))
            .collect();
        Some(Self {
            program: first_word(command),
            command: command.to_owned(),
            machine: machine.name.clone(),
            mhz: machine.mhz,
            workers: machine.workers().len() as u32,
            scheduler: settings.scheduler,
            options: settings.options,
            seeds: outcomes.len() as u32,
            sizes: program.sizes_from(),
            tasks: first.tasks,
            sized_tasks: u64::from(program.sized_tasks()),
            strands: first.strands,
            work: first.work,
            span: first.span,
            time: Spread::of(outcomes.iter().map(|o| o.time))?,
            ratio: None,
            levels: levels.collect::<Option<_>>()?,
            last_level_misses: lines(|o| Run::of(o).misses)?,
            misses_ratio: None,
            memory_reads: lines(|o| o.memory_reads)?,
            memory_writes: lines(|o| o.memory_writes)?,
            remote_hits: lines(|o| o.remote_hits)?,
            near_hits: lines(|o| Lines(o.remote_hits.0 - o.far_hits.0))?,
            far_hits: lines(|o| o.far_hits)?,
            sibling_hits: lines(|o| o.sibling_hits)?,
            worker_time: Breakdown::join(&all_workers, |parts| {
                Spread::of(parts).unwrap_or_default()
            }),
            account: Account::by(|part| {
                let sum: u128 = outcomes.iter().map(|o| u128::from(o.account.get(part).0)).sum();
                Cycles((sum / outcomes.len().max(1) as u128) as u64)
            }),
            steals: count(|o| o.steals)?,
            near_steals: count(|o| o.near_steals)?,
            failed_steals: count(|o| o.failed_steals)?,
            anchors: anchors(machine, outcomes)?,
            caches: CacheUse::of(machine, outcomes),
            recorded: recorded(program),
            sampled: one_in.map(|one_in| Sampled::of(one_in, outcomes)),
            runs: outcomes.iter().map(Run::of).collect(),
            contended: first.contended.clone(),
        })
    }

    /// Its running time over that of `base`, by the seeds that both ran with.
    pub fn time_against(&self, base: &Self) -> Option<Interval> {
        Interval::of(base.runs.iter().zip(&self.runs).map(|(b, own)| (b.time.0, own.time.0)))
    }

    /// Its last-level misses over those of `base`, by the seeds that both ran with.
    pub fn misses_against(&self, base: &Self) -> Option<Interval> {
        Interval::of(base.runs.iter().zip(&self.runs).map(|(b, own)| (b.misses.0, own.misses.0)))
    }

    /// The share of workers × time that went on `part`.
    pub(crate) fn share(&self, part: Part) -> f64 {
        self.account.get(part).0 as f64 / self.account.total().0.max(1) as f64
    }

    /// The cycles that a worker spent on `parts` together: the mean over workers and seeds, with
    /// its interval over the seeds; `None` of one seed. All parts together take the running time.
    pub fn spent_on(&self, parts: &[Part]) -> Option<Interval> {
        let of = |run: &Run| parts.iter().map(|part| run.account.get(*part).0).sum();
        Interval::of(self.runs.iter().map(|run| (u64::from(self.workers), of(run))))
    }

    /// The parts of `worker_time` as shares of 0 to 1 that sum to 1.
    pub fn shares(&self) -> Breakdown<f64> {
        let time = self.worker_time.map(|part| part.median.0 as f64);
        let whole = time.total();
        time.map(|part| if whole > 0.0 { part / whole } else { 0.0 })
    }
}

impl CacheUse {
    /// The use of every cache; of none where the policy claims no part of any.
    fn of(machine: &Machine, outcomes: &[Outcome]) -> Vec<Self> {
        let of = |id: usize| {
            let cluster = &machine.clusters()[id];
            let cache = cluster.cache?;
            let bytes = |get: fn(&Occupancy) -> Bytes| {
                let found: Option<Vec<_>> =
                    outcomes.iter().map(|o| o.occupancy.get(id).map(get)).collect();
                Spread::of(found?)
            };
            Some(Self {
                cluster: ClusterId(id as u32),
                level: cache.level,
                first_worker: cluster.workers.start,
                last_worker: cluster.workers.end - 1,
                size: cache.size,
                anchors: Spread::of(outcomes.iter().map(|o| o.anchors[id]))?,
                occupancy_max: bytes(|o| o.max)?,
                occupancy_mean: bytes(|o| o.mean)?,
            })
        };
        (0..machine.clusters().len()).filter_map(of).collect()
    }
}

/// Sums the anchored tasks of each run by level.
fn anchors(machine: &Machine, outcomes: &[Outcome]) -> Option<Vec<(Option<Level>, Spread<u64>)>> {
    let levels = machine.levels().into_iter().map(Some).chain([None]);
    let at = |level: Option<Level>, outcome: &Outcome| -> u64 {
        let clusters = outcome.anchors.iter().zip(machine.clusters());
        let here = clusters.filter(|(_, cluster)| cluster.cache.map(|c| c.level) == level);
        here.map(|(tasks, _)| tasks).sum()
    };
    levels.map(|level| Some((level, Spread::of(outcomes.iter().map(|o| at(level, o)))?))).collect()
}

/// The first word of a command.
pub(crate) fn first_word(command: &str) -> String {
    command.split_whitespace().next().unwrap_or_default().to_owned()
}

/// Serialises by name.
pub(crate) fn text<S: Serializer>(name: &impl Display, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(name)
}

/// Serialises the options that the contract names.
fn settings<S: Serializer>(options: &Options, to: S) -> Result<S::Ok, S::Error> {
    let mut fields = to.serialize_map(Some(3))?;
    fields.serialize_entry("sigma", &options.sigma)?;
    fields.serialize_entry("mu", &options.mu)?;
    fields.serialize_entry("counting", options.counting.name())?;
    fields.end()
}

/// Serialises a map from level to figure for each quantity.
fn by_quantity<S: Serializer>(levels: &[LevelSummary], to: S) -> Result<S::Ok, S::Error> {
    let of = |get: fn(&LevelSummary) -> Spread<Lines>| -> BTreeMap<Level, Spread<Lines>> {
        levels.iter().map(|l| (l.level, get(l))).collect()
    };
    let mut fields = to.serialize_map(Some(3))?;
    fields.serialize_entry("misses", &of(|l| l.misses))?;
    fields.serialize_entry("accesses", &of(|l| l.accesses))?;
    fields.serialize_entry("coherence_misses", &of(|l| l.coherence_misses))?;
    fields.end()
}

/// Serialises a map from part to time.
fn by_part<S: Serializer>(account: &Account, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(Part::ALL.map(|part| (part.name(), account.get(part))))
}

/// Serialises a map from level to figure.
fn by_level<S: Serializer>(
    levels: &[(Option<Level>, Spread<u64>)],
    to: S,
) -> Result<S::Ok, S::Error> {
    to.collect_map(levels.iter().map(|(level, figure)| (Level::name_of(*level), figure)))
}
