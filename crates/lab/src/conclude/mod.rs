//! What a comparison means: which scheduler to use, where the others' time goes, what to try.
//!
//! ```text
//! Summaries ──accounts──► losses (cause, share of the time), largest first
//!     │                        │
//!     └──────► choice         └──► changes that may help ──simulated──► suggestions
//! ```
//!
//! Everything follows from the run's own figures. The *account* of a simulation divides running
//! time × workers into parts that add up ([`befit_sim::Part`]). What a scheduler's account has more
//! than the best one's explains why it is slower; what the best one's has beside the program's own
//! operations limits that. Where a cause is not a part of the account (sizes that are wrong, cores
//! that two threads share), the program is simulated without it, and what that gains is its share.
//! Suggestions are simulated as well: one seed chooses them, others say what they gain.

mod candidates;
mod change;
mod find;
mod tried;
pub(crate) mod writers;

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, sync::OnceLock, thread};

use befit_program::{Footprint, Program, SizesFrom};
use befit_sched::SchedulerKind;
use befit_sim::Part;
use serde::Serialize;

use crate::{Interval, LabError, Progress, SimulationPlan, Summary, kept, summary::text};
pub use candidates::Change;
use candidates::Comparison;
use tried::Trials;

/// Differences below this share of the time do not matter to anybody.
const MATTERS: f64 = 0.01;
/// Causes of less than this share of the time are not worth a line.
pub(crate) const WORTH: f64 = 0.03;

/// What the results of one program on one machine mean; serialised, an entry of `conclusions` in
/// `befit.compare/2` (docs/json.md).
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Conclusion {
    /// The command that was recorded.
    pub command: String,
    /// The machine's name.
    pub machine: String,
    /// Which scheduler to use.
    pub choice: Choice,
    /// Where time goes, largest share first; but some causes by what is gained without them
    /// (docs/conclusions.md).
    pub losses: Vec<Loss>,
    /// Changes that were simulated and gain, in the order of the seed that chose them.
    pub suggestions: Vec<Suggestion>,
    /// Changes that were simulated and gain nothing for certain, each with the scheduler that it
    /// was simulated under.
    #[serde(serialize_with = "in_vain")]
    pub in_vain: Vec<(Change, SchedulerKind)>,
    /// Simulations that were made for this, and how many the budget allows.
    pub simulations: u64,
    /// See `simulations`.
    pub budget: u64,
}

/// Which scheduler to use.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Choice {
    /// The one with the least time; but the first of the list where that takes as long.
    #[serde(serialize_with = "text")]
    pub best: SchedulerKind,
    /// Its running time over that of the first scheduler; `null` if that is the same or there is
    /// but one seed.
    pub ratio: Option<Interval>,
    /// Those that take as long as the best: by less than a hundredth more or less, or by so little
    /// that seeds do not show it.
    #[serde(serialize_with = "names")]
    pub alike: Vec<SchedulerKind>,
    /// Whether all of them do.
    pub no_difference: bool,
    /// Their times over the best one's: the largest distance from a mean to an end of its 95 %
    /// interval. Where it is large, the seeds are too few to tell them apart. `null` if the best
    /// is alone or there is but one seed.
    pub alike_within: Option<f64>,
    /// The median of its running times, in cycles.
    pub cycles: u64,
    /// The share of workers × time in which the best runs the program's own operations.
    pub work: f64,
    /// The share that they take longer because cores are shared with another worker, or slower
    /// than the fastest.
    pub shared_cores: f64,
}

/// Why time is lost.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// All tasks that there are were bound to some caches, and the workers of others had none.
    IdleCaches,
    /// The tasks declare sizes that differ from what they touch.
    WrongSizes,
    /// Workers write different words of the same lines.
    FalseSharing,
    /// Workers write the same word.
    HotLine,
    /// Making, finding and ending tasks takes long beside what they do.
    GrainTooSmall,
    /// There are fewer tasks than workers, or tasks too short to spread.
    InputTooSmall,
    /// Strands between forks run alone.
    Serial,
    /// Some tasks take much longer than those beside them.
    Imbalance,
    /// Data are walked through at a constant distance, so that of each line little is used.
    Strides,
    /// The wires to memory, or between caches, are busy.
    Bandwidth,
    /// Lines come from memory.
    Memory,
    /// Lines come from other last-level caches.
    OtherCaches,
    /// Lines come from farther caches of the same socket.
    Caches,
    /// Pages are in use that a TLB does not hold.
    Walks,
    /// Several workers share a core.
    Oversubscription,
    /// Pages are touched for the first time.
    PageFaults,
}

/// A cause, and how much of the time it explains.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Loss {
    /// The cause.
    pub cause: Cause,
    /// The scheduler whose time it is.
    #[serde(serialize_with = "text")]
    pub scheduler: SchedulerKind,
    /// Whether it is what this scheduler has more of than the best one.
    pub more_than_best: bool,
    /// The share of workers × time under this scheduler.
    pub share: f64,
    /// Figures of the run that belong to it, by name.
    pub figures: BTreeMap<&'static str, f64>,
}

/// A change that was simulated.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Suggestion {
    /// The change.
    #[serde(flatten)]
    pub change: Change,
    /// The scheduler that it was simulated under.
    #[serde(serialize_with = "text")]
    pub scheduler: SchedulerKind,
    /// Running time with it over that of the best scheduler without.
    pub ratio: Interval,
    /// How many seeds the ratio is of. None of them chose the change or the best scheduler.
    pub seeds: u32,
}

impl SimulationPlan {
    /// What `results` mean, which [`Self::simulate`] has returned for `program`: an entry for each
    /// machine. Simulates at most half as many runs again, each as long as those before, or as many
    /// as touch 50 million lines; only the results themselves are looked at if not `tries`.
    ///
    /// # Errors
    /// Where a simulation fails.
    pub fn conclude(
        &self,
        program: &Program,
        results: &[Summary],
        tries: bool,
        progress: &dyn Progress,
    ) -> Result<Vec<Conclusion>, LabError> {
        self.conclude_by(program, results, tries, &OnceLock::new(), progress)
    }

    /// [`Self::simulate_kept`], then [`Self::conclude`]. What the latter has to know of the tasks
    /// is measured beside the simulations.
    ///
    /// # Errors
    /// Where a simulation fails.
    pub fn simulate_and_conclude(
        &self,
        program: &Program,
        tries: bool,
        progress: &dyn Progress,
    ) -> Result<(Vec<Summary>, Vec<Conclusion>), LabError> {
        let footprints = OnceLock::new();
        let results = thread::scope(|scope| {
            if tries && self.measures_tasks(program) {
                scope.spawn(|| {
                    footprints.get_or_init(|| kept::footprints(program, &|_| {}, progress));
                });
            }
            self.simulate_kept(program, progress)
        })?;
        let conclusions = self.conclude_by(program, &results, tries, &footprints, progress)?;
        Ok((results, conclusions))
    }

    /// Whether conclusions are likely to need what the tasks touch.
    fn measures_tasks(&self, program: &Program) -> bool {
        let places =
            |machine| self.schedulers.iter().any(|kind| candidates::is_sized(*kind, machine));
        program.sizes_from() == SizesFrom::Declared
            && program.sized_tasks() > 0
            && self.machines.iter().any(places)
    }

    fn conclude_by(
        &self,
        program: &Program,
        results: &[Summary],
        tries: bool,
        footprints: &OnceLock<Vec<Footprint>>,
        progress: &dyn Progress,
    ) -> Result<Vec<Conclusion>, LabError> {
        let blocks = results.chunks(self.schedulers.len().max(1));
        let each = self.machines.iter().zip(blocks).map(|(machine, results)| {
            let choice = Choice::of(results);
            let best = best(results, &choice);
            let mut losses = find::losses(program, machine, results, best);
            let about = Comparison { plan: self, program, machine, results, best };
            let mut trials = Trials::new(about, tries, progress);
            trials.footprints = Some(footprints);
            trials.explain(&mut losses)?;
            trials.suggest(&losses)?;
            let (suggestions, in_vain) = trials.found();
            rank_by_gain(&mut losses, &suggestions, trials.gain_without_idle_caches());
            Ok(Conclusion {
                command: best.command.clone(),
                machine: best.machine.clone(),
                choice,
                losses,
                suggestions,
                in_vain,
                simulations: trials.made(),
                budget: trials.budget(),
            })
        });
        each.collect()
    }
}

/// Causes of the best scheduler's time weigh what their removal gains, where that was simulated.
///
/// While workers wait for a line, or schedule short tasks, others are idle; and a scheduler may be
/// the best because it leaves workers idle that would make this worse. So hot lines and short tasks
/// weigh as much as their removal gains, where that is more than their share; and idle caches no
/// more than the schedulers gain that leave fewer of them idle.
fn rank_by_gain(losses: &mut [Loss], suggestions: &[Suggestion], unbound: Option<f64>) {
    let removal = |loss: &Loss| {
        let removes = |suggestion: &&Suggestion| match suggestion.change {
            Change::OwnLines { .. } => matches!(loss.cause, Cause::FalseSharing | Cause::HotLine),
            Change::Coarser { .. } => loss.cause == Cause::GrainTooSmall,
            _ => false,
        };
        suggestions.iter().find(removes).map(|removal| 1.0 - removal.ratio.estimate)
    };
    let is_of_best = |loss: &&mut Loss| !loss.more_than_best && loss.cause == Cause::IdleCaches;
    for loss in losses.iter_mut().filter(is_of_best) {
        loss.figures.extend(unbound.map(|gain| ("gain_without", gain)));
    }
    let weight = |loss: &Loss| match loss.cause {
        _ if loss.more_than_best => loss.share,
        Cause::IdleCaches => loss.share.min(unbound.unwrap_or(1.0)),
        _ => loss.share.max(removal(loss).unwrap_or(0.0)),
    };
    losses.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
}

fn best<'a>(results: &'a [Summary], choice: &Choice) -> &'a Summary {
    let found = results.iter().find(|result| result.scheduler == choice.best);
    found.unwrap_or(&results[0])
}

impl Choice {
    fn of(results: &[Summary]) -> Self {
        // The mean of the seeds' ratios where there are some.
        let time = |result: &Summary| match result.time_against(&results[0]) {
            Some(ratio) => ratio.estimate,
            None => result.time.median.0 as f64 / results[0].time.median.0.max(1) as f64,
        };
        let fastest = results.iter().min_by(|a, b| time(a).total_cmp(&time(b)));
        let fastest = fastest.unwrap_or(&results[0]);
        let is_alike = |result: &&Summary| is_alike(result, fastest);
        let alike: Vec<_> = results.iter().filter(is_alike).map(|r| r.scheduler).collect();
        let others = results.iter().filter(|result| result.scheduler != fastest.scheduler);
        let ratios = others.filter(is_alike).filter_map(|result| result.time_against(fastest));
        let alike_within = ratios.map(Interval::half).max_by(f64::total_cmp);
        let is_first = is_alike(&&results[0]);
        let best = if is_first { &results[0] } else { fastest };
        let ratio = best.time_against(&results[0]).filter(|_| !is_first);
        Self {
            best: best.scheduler,
            ratio,
            no_difference: alike.len() == results.len(),
            alike,
            alike_within,
            cycles: best.time.median.0,
            work: best.share(Part::Work),
            shared_cores: best.share(Part::SharedCores),
        }
    }
}

/// Whether `result` takes as long as `other`, as far as the seeds show and it matters.
fn is_alike(result: &Summary, other: &Summary) -> bool {
    match result.time_against(other) {
        Some(ratio) => !ratio.differs() || (ratio.estimate - 1.0).abs() < MATTERS,
        None => {
            let (own, other) = (result.time.median.0 as f64, other.time.median.0 as f64);
            (own / other.max(1.0) - 1.0).abs() < MATTERS
        }
    }
}

/// As the entries of [`Conclusion::suggestions`].
fn in_vain<S: serde::Serializer>(
    all: &[(Change, SchedulerKind)],
    to: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct InVain<'a> {
        #[serde(flatten)]
        change: &'a Change,
        #[serde(serialize_with = "text")]
        scheduler: SchedulerKind,
    }
    to.collect_seq(all.iter().map(|(change, scheduler)| InVain { change, scheduler: *scheduler }))
}

fn names<S: serde::Serializer>(all: &[SchedulerKind], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(all.iter().map(|scheduler| scheduler.name()))
}
