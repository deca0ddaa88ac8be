//! Changes that are simulated: to explain what no account shows, and to suggest what gains.

use std::{collections::HashSet, ops::RangeInclusive, sync::OnceLock};

use befit_machine::{ClusterId, Machine, Placement};
use befit_program::{Footprint, Program, SizesFrom};
use befit_sched::{Options, SchedulerKind, Thresholds};
use befit_sim::{Bounds, Costs, Outcome, Settings};
use serde::Serialize;

use super::{
    Cause, Loss, Suggestion, WORTH,
    change::{Rewrite, rewritten},
    find,
};
use crate::{
    Interval, LabError, Progress, SimulationPlan, Summary,
    parallel::{self, threads},
    sampling::Samples,
};

/// The seed that chooses changes.
const CHOOSING: u64 = 1;
/// So many seeds say what they gain. None of them chose the best scheduler either: its time would
/// be low by that choice, and what is gained over it would be said too small.
const CONFIRMING: RangeInclusive<u64> = 3..=8;
/// Touches that all simulations together may make, whatever the comparison took.
const LEAST_BUDGET: u64 = 50_000_000;
/// A change is confirmed if it seems to gain so much.
const PROMISING: f64 = 0.02;
/// So many changes are confirmed.
const CONFIRMED: usize = 2;
/// Measuring all tasks takes as long as about so many simulations.
const MEASURING: u64 = 2;
/// σ that are tried.
const SIGMAS: [f64; 3] = [1.0, 0.5, 0.25];
/// Policies that are tried, the most promising first.
const POLICIES: [SchedulerKind; 6] = [
    SchedulerKind::Homes,
    SchedulerKind::SbD,
    SchedulerKind::CatsS,
    SchedulerKind::Pws,
    SchedulerKind::Sb,
    SchedulerKind::Ws,
];

/// Something else to do.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "change", rename_all = "kebab-case")]
pub enum Change {
    /// Another scheduler, the suggestion's.
    Scheduler,
    /// Another dilation.
    Sigma {
        /// The dilation.
        sigma: f64,
    },
    /// Sizes as they are measured.
    Sizes,
    /// Only one worker a core.
    OneWorkerACore,
    /// Only the workers of so many sockets.
    Sockets {
        /// How many.
        sockets: u32,
    },
    /// A copy of its own for each worker of the lines that go to and fro.
    OwnLines {
        /// How many.
        lines: u64,
    },
    /// Tasks of at least so many operations.
    Coarser {
        /// How many times longer those that fork nothing are.
        times: u64,
        /// Their operations (loads, stores and basic blocks).
        operations: u64,
    },
    /// Pages at the memory nearest to the worker that touches them first.
    FirstTouch,
}

/// Whether the policy places tasks by their sizes on `machine`.
pub(super) fn is_sized(kind: SchedulerKind, machine: &Machine) -> bool {
    use SchedulerKind::{Homes, Sb, SbD};
    matches!(kind.on(machine, machine.workers().len()), Sb | SbD | Homes)
}

/// One change, ready to be simulated.
struct Candidate {
    change: Change,
    scheduler: SchedulerKind,
    options: Options,
    /// None: as in the comparison.
    machine: Option<Machine>,
    program: Option<Program>,
}

/// The simulations of changes.
pub(super) struct Trials<'a> {
    plan: &'a SimulationPlan,
    program: &'a Program,
    machine: &'a Machine,
    results: &'a [Summary],
    best: &'a Summary,
    progress: &'a dyn Progress,
    /// What the program's tasks touch, once that has been measured.
    pub(super) footprints: Option<&'a OnceLock<Vec<Footprint>>>,
    made: u64,
    budget: u64,
    suggestions: Vec<Suggestion>,
    in_vain: Vec<Change>,
    /// Candidates that were simulated with the first seed: their times.
    chosen: Vec<(Candidate, u64)>,
    /// See [`Self::gain_without_idle_caches`].
    gain_without_idle_caches: Option<f64>,
}

impl<'a> Trials<'a> {
    pub(super) fn new(
        plan: &'a SimulationPlan,
        program: &'a Program,
        machine: &'a Machine,
        results: &'a [Summary],
        best: &'a Summary,
        tries: bool,
        progress: &'a dyn Progress,
    ) -> Self {
        let made: u64 = results.iter().map(|result| u64::from(result.seeds)).sum();
        let budget = (made / 2).max(LEAST_BUDGET / program.total_touches().max(1));
        Self {
            plan,
            program,
            machine,
            results,
            best,
            progress,
            footprints: None,
            made: 0,
            budget: if tries { budget } else { 0 },
            suggestions: Vec::new(),
            in_vain: Vec::new(),
            chosen: Vec::new(),
            gain_without_idle_caches: None,
        }
    }

    pub(super) fn made(&self) -> u64 {
        self.made
    }

    pub(super) fn budget(&self) -> u64 {
        self.budget
    }

    /// The changes that gain, the most promising first, and those that do not.
    pub(super) fn found(&mut self) -> (Vec<Suggestion>, Vec<Change>) {
        (std::mem::take(&mut self.suggestions), std::mem::take(&mut self.in_vain))
    }

    /// Adds causes that show only where the program is simulated without them.
    pub(super) fn explain(&mut self, losses: &mut Vec<Loss>) -> Result<(), LabError> {
        self.explain_grain(losses)?;
        if self.has_shared_cores() {
            let gain = self.gain_over(self.one_worker_a_core(), self.best)?;
            self.explains(losses, Cause::Oversubscription, self.best, gain);
        }
        let sized = self.results.iter().filter(|result| self.is_sized(result.scheduler));
        let worst = sized.max_by_key(|result| result.time.median);
        let declares = |result: &&Summary| result.sizes == SizesFrom::Declared;
        if let Some(result) = worst.filter(declares).filter(|_| self.left() > MEASURING)
            && let Some(change) = self.measured_sizes(result.scheduler)
        {
            let gain = self.gain_over(change, result)?;
            self.explains(losses, Cause::WrongSizes, result, gain);
        }
        find::rank(losses);
        Ok(())
    }

    /// Simulates what may help against the causes, and keeps what does.
    pub(super) fn suggest(&mut self, losses: &[Loss]) -> Result<(), LabError> {
        let mut causes: Vec<Cause> = Vec::new();
        for loss in losses {
            if !causes.contains(&loss.cause) {
                causes.push(loss.cause);
            }
        }
        let mut candidates: Vec<Candidate> = Vec::new();
        for cause in causes {
            for candidate in self.against(cause) {
                let is_new = |other: &Candidate| {
                    other.change != candidate.change || other.scheduler != candidate.scheduler
                };
                let all = candidates.iter().chain(self.chosen.iter().map(|(chosen, _)| chosen));
                if all.into_iter().all(is_new) {
                    candidates.push(candidate);
                }
            }
        }
        // Some is kept for those that promise a gain.
        let room = self.left().saturating_sub(2 * CONFIRMING.start());
        candidates.truncate(room as usize);
        let times = self.simulate(&candidates, CHOOSING..=CHOOSING)?;
        let times = times.into_iter().filter_map(|times| times.first().copied());
        self.chosen.extend(candidates.into_iter().zip(times));
        self.gain_without_idle_caches = self.gain_against(Cause::IdleCaches);
        self.confirm()
    }

    /// The most that the best scheduler's time is shortened by whatever leaves fewer caches idle,
    /// by the first seed; `None` where not all of it was simulated.
    pub(super) fn gain_without_idle_caches(&self) -> Option<f64> {
        self.gain_without_idle_caches
    }

    /// What the best change against `cause` gains, or 0, by the first seed.
    fn gain_against(&self, cause: Cause) -> Option<f64> {
        let without = self.best.runs.first()?.time.0.max(1) as f64;
        let time = |wanted: Candidate| {
            let is_it = |(tried, _): &&(Candidate, u64)| {
                tried.change == wanted.change && tried.scheduler == wanted.scheduler
            };
            Some(self.chosen.iter().find(is_it)?.1)
        };
        let times: Vec<u64> = self.against(cause).into_iter().map(time).collect::<Option<_>>()?;
        let shortest = times.into_iter().min().map_or(without, |time| time as f64);
        Some((1.0 - shortest / without).max(0.0))
    }

    fn left(&self) -> u64 {
        self.budget.saturating_sub(self.made)
    }

    /// What `kind` is on this machine: two that are the same need not both be tried.
    fn is(&self, kind: SchedulerKind) -> SchedulerKind {
        kind.on(self.machine, self.machine.workers().len())
    }

    /// Whether the policy places tasks by their sizes on this machine.
    fn is_sized(&self, kind: SchedulerKind) -> bool {
        is_sized(kind, self.machine)
    }

    fn has_shared_cores(&self) -> bool {
        self.machine.clone().with_one_worker_a_core().workers().len() < self.machine.workers().len()
    }

    /// As simulated, under `scheduler`.
    fn candidate(&self, change: Change, scheduler: SchedulerKind) -> Candidate {
        Candidate { change, scheduler, options: self.plan.options, machine: None, program: None }
    }

    /// The share of `result`'s time that is gone with the candidate, by the first seed.
    fn gain_over(&mut self, candidate: Candidate, result: &Summary) -> Result<f64, LabError> {
        if self.left() == 0 {
            return Ok(0.0);
        }
        let times = self.simulate(std::slice::from_ref(&candidate), CHOOSING..=CHOOSING)?;
        let (Some(with), Some(without)) =
            (times.first().and_then(|times| times.first()), result.runs.first())
        else {
            return Ok(0.0);
        };
        self.chosen.push((candidate, *with));
        Ok(1.0 - *with as f64 / without.time.0.max(1) as f64)
    }

    /// Of what is found of `result`, so much is explained by the cause: the largest first.
    fn explains(&self, losses: &mut Vec<Loss>, cause: Cause, result: &Summary, gain: f64) {
        if gain < WORTH {
            return;
        }
        let mut left = gain;
        for loss in losses.iter_mut().filter(|f| f.scheduler == result.scheduler) {
            let part = left.min(loss.share.max(0.0));
            loss.share -= part;
            left -= part;
        }
        losses.push(Loss {
            cause,
            scheduler: result.scheduler,
            more_than_best: result.scheduler != self.best.scheduler,
            share: gain,
            figures: Default::default(),
        });
    }

    fn one_worker_a_core(&self) -> Candidate {
        let machine = self.machine.clone().with_one_worker_a_core();
        let change = self.candidate(Change::OneWorkerACore, self.best.scheduler);
        Candidate { machine: Some(machine), ..change }
    }

    /// The program with sizes as measured; none where tasks befit the same caches by both.
    fn measured_sizes(&mut self, scheduler: SchedulerKind) -> Option<Candidate> {
        self.made += MEASURING;
        let own = OnceLock::new();
        let footprints = self.footprints.unwrap_or(&own).get_or_init(|| {
            self.progress.simulating(&self.program.meta().name, 1, self.program.total_touches());
            let found = self.program.footprints(&|touches| self.progress.advance(touches));
            self.progress.finished();
            found
        });
        let caches = self.machine.path(befit_machine::WorkerId(0));
        let sizes = caches.filter(|id| *id != ClusterId::ROOT);
        let mut sizes: Vec<_> = sizes.map(|id| self.machine.cluster(id).size()).collect();
        sizes.sort_unstable();
        let thresholds = Thresholds::new(sizes, self.plan.options.sigma);
        let line = self.program.meta().line_size.0;
        let differs = (0..self.program.tasks()).any(|task| {
            let declared = self.program.declared(befit_program::TaskId(task)).size;
            let measured = befit_machine::Bytes(footprints[task as usize].task.0 * line);
            declared.is_some_and(|size| {
                thresholds.too_small_for(size) != thresholds.too_small_for(measured)
            })
        });
        let program = differs.then(|| rewritten(self.program, &Rewrite::Sizes(footprints)))??;
        Some(Candidate { program: Some(program), ..self.candidate(Change::Sizes, scheduler) })
    }

    /// What may help against a cause.
    fn against(&self, cause: Cause) -> Vec<Candidate> {
        match cause {
            Cause::FalseSharing | Cause::HotLine => self.own_lines(),
            Cause::InputTooSmall | Cause::Serial => self.fewer_sockets(),
            Cause::IdleCaches => [self.sigmas(), self.policies()].into_iter().flatten().collect(),
            Cause::Bandwidth | Cause::Memory | Cause::OtherCaches => {
                let all = [self.policies(), self.sigmas(), self.first_touch()];
                all.into_iter().flatten().collect()
            }
            Cause::Imbalance | Cause::Caches => self.policies(),
            // Of these, what can be tried has been.
            Cause::WrongSizes
            | Cause::GrainTooSmall
            | Cause::Oversubscription
            | Cause::Strides
            | Cause::PageFaults => Vec::new(),
        }
    }

    fn own_lines(&self) -> Vec<Candidate> {
        let lines: HashSet<u32> = self.best.contended.iter().map(|line| line.line).collect();
        let program = rewritten(self.program, &Rewrite::Private(&lines));
        let change = Change::OwnLines { lines: lines.len() as u64 };
        let with = |program| Candidate {
            program: Some(program),
            ..self.candidate(change.clone(), self.best.scheduler)
        };
        program.map(with).into_iter().collect()
    }

    /// With tasks as long as scheduling asks for, or as the number of workers allows; and with
    /// less long ones.
    fn coarser(&self) -> Vec<Candidate> {
        let leaves = find::leaves(self.program);
        let most = find::longest_grain(self.best, leaves["tasks"]);
        let times = find::least_grain(self.best).min(most);
        let each = [times, times.sqrt()].into_iter().filter(|times| *times >= 2.0);
        let with = |times: f64| {
            let operations = (times * leaves["operations"]) as u64;
            let program = rewritten(self.program, &Rewrite::Coarser(operations))?;
            let change = Change::Coarser { times: times as u64, operations };
            let candidate = self.candidate(change, self.best.scheduler);
            Some(Candidate { program: Some(program), ..candidate })
        };
        each.filter_map(with).collect()
    }

    /// Tasks that take too little beside scheduling them are too small a grain if longer ones would
    /// do better, and else too small an input.
    fn explain_grain(&mut self, losses: &mut [Loss]) -> Result<(), LabError> {
        let is_grain = |loss: &&Loss| loss.cause == Cause::GrainTooSmall;
        let of_best = losses.iter().filter(is_grain).find(|loss| !loss.more_than_best);
        let Some(share) = of_best.map(|loss| loss.share).filter(|share| *share >= WORTH) else {
            return Ok(());
        };
        if self.left() == 0 {
            return Ok(()); // a longer grain would be made for nothing
        }
        let mut gains = Vec::new();
        for candidate in self.coarser() {
            gains.push(self.gain_over(candidate, self.best)?);
        }
        if gains.iter().all(|gain| *gain < share / 2.0) {
            for loss in losses.iter_mut().filter(|f| f.cause == Cause::GrainTooSmall) {
                loss.cause = Cause::InputTooSmall;
            }
        }
        Ok(())
    }

    fn fewer_sockets(&self) -> Vec<Candidate> {
        let all = self.machine.cluster(ClusterId::ROOT).children.len() as u32;
        let halves = std::iter::successors(Some(all / 2), |n| Some(n / 2));
        let each = halves.take_while(|sockets| *sockets > 0).filter_map(|sockets| {
            Some(Candidate {
                machine: Some(self.machine.clone().with_sockets(sockets).ok()?),
                ..self.candidate(Change::Sockets { sockets }, self.best.scheduler)
            })
        });
        each.collect()
    }

    fn policies(&self) -> Vec<Candidate> {
        let has = |kind: SchedulerKind| {
            self.results.iter().any(|result| self.is(result.scheduler) == self.is(kind))
        };
        let new = POLICIES.into_iter().filter(|kind| !has(*kind));
        new.map(|kind| self.candidate(Change::Scheduler, kind)).collect()
    }

    /// Other dilations for the best of the policies that have one.
    fn sigmas(&self) -> Vec<Candidate> {
        let has_sigma = |kind| matches!(kind, SchedulerKind::Sb | SchedulerKind::SbD);
        let bounded = self.results.iter().filter(|result| has_sigma(result.scheduler));
        let Some(best) = bounded.min_by_key(|result| result.time.median) else { return Vec::new() };
        let new = SIGMAS.into_iter().filter(|sigma| *sigma != self.plan.options.sigma);
        let with = |sigma| Candidate {
            options: Options { sigma, ..self.plan.options },
            ..self.candidate(Change::Sigma { sigma }, best.scheduler)
        };
        new.map(with).collect()
    }

    fn first_touch(&self) -> Vec<Candidate> {
        let memory = &self.machine.memory;
        if memory.placement == Placement::FirstTouch || memory.controllers < 2 {
            return Vec::new();
        }
        let mut machine = self.machine.clone();
        machine.memory.placement = Placement::FirstTouch;
        let change = self.candidate(Change::FirstTouch, self.best.scheduler);
        vec![Candidate { machine: Some(machine), ..change }]
    }

    /// Simulates the candidates that promise most with further seeds.
    fn confirm(&mut self) -> Result<(), LabError> {
        let Some(first) = self.best.runs.first().map(|run| run.time.0) else { return Ok(()) };
        let mut chosen = std::mem::take(&mut self.chosen);
        chosen.sort_by_key(|(_, time)| *time);
        let limit = first as f64 * (1.0 - PROMISING);
        let promising = chosen.iter().filter(|(_, time)| (*time as f64) < limit).count();
        // Each seed is simulated with and without the change.
        let affordable = (self.left() / CONFIRMING.start()).saturating_sub(1);
        let confirmed = promising.min(CONFIRMED).min(affordable as usize);
        let rest = chosen.split_off(confirmed);
        self.in_vain = rest.into_iter().map(|(candidate, _)| candidate.change).collect();
        if chosen.is_empty() {
            return Ok(());
        }
        // The order stays that of the choosing seed. By the order of the others chance would favour
        // the first, and it would gain less than said.
        let first =
            u64::from(self.results.iter().map(|result| result.seeds).max().unwrap_or(0)) + 1;
        let count = (self.left() / (1 + chosen.len() as u64)).min(*CONFIRMING.end());
        let as_it_is = self.candidate(Change::Scheduler, self.best.scheduler);
        let changes = chosen.into_iter().map(|(candidate, _)| candidate);
        let candidates: Vec<_> = std::iter::once(as_it_is).chain(changes).collect();
        let all = self.simulate(&candidates, first..=first + count - 1)?;
        let (bases, all) = all.split_at(1);
        for (candidate, times) in candidates.into_iter().skip(1).zip(all) {
            let ratio = Interval::of(bases[0].iter().copied().zip(times.iter().copied()));
            match ratio.filter(|ratio| ratio.high < 1.0) {
                Some(ratio) => self.suggestions.push(Suggestion {
                    change: candidate.change,
                    scheduler: candidate.scheduler,
                    ratio,
                    seeds: count as u32,
                }),
                None => self.in_vain.push(candidate.change),
            }
        }
        Ok(())
    }

    /// What a suggestion gains with other seeds.
    #[cfg(test)]
    pub(super) fn again(
        &mut self,
        said: &Suggestion,
        seeds: RangeInclusive<u64>,
    ) -> Option<Interval> {
        let mut all: Vec<Candidate> = [
            self.own_lines(),
            self.coarser(),
            self.fewer_sockets(),
            self.policies(),
            self.sigmas(),
            self.first_touch(),
            vec![self.one_worker_a_core()],
        ]
        .into_iter()
        .flatten()
        .collect();
        all.extend(self.measured_sizes(said.scheduler));
        let is_it = |c: &Candidate| c.change == said.change && c.scheduler == said.scheduler;
        let candidate = all.into_iter().find(is_it)?;
        let as_it_is = self.candidate(Change::Scheduler, self.best.scheduler);
        let times = self.simulate(&[as_it_is, candidate], seeds).ok()?;
        Interval::of(times[0].iter().copied().zip(times[1].iter().copied()))
    }

    /// The times of each candidate with each of the seeds.
    fn simulate(
        &mut self,
        candidates: &[Candidate],
        seeds: RangeInclusive<u64>,
    ) -> Result<Vec<Vec<u64>>, LabError> {
        let count = seeds.clone().count();
        let jobs: Vec<_> =
            candidates.iter().flat_map(|c| seeds.clone().map(move |seed| (c, seed))).collect();
        if jobs.is_empty() {
            return Ok(vec![Vec::new(); candidates.len()]);
        }
        self.made += jobs.len() as u64;
        let touches = self.program.total_touches() * jobs.len() as u64;
        let title = format!("{}: what else may help", self.program.meta().name);
        self.progress.simulating(&title, jobs.len(), touches);
        let time = |(candidate, seed): &(&Candidate, u64)| {
            self.one(candidate, *seed).map(|outcome| outcome.time.0)
        };
        let times = parallel::map(&jobs, threads(), |_| 1, time)?;
        self.progress.finished();
        Ok(times.chunks(count).map(<[u64]>::to_vec).collect())
    }

    fn one(&self, candidate: &Candidate, seed: u64) -> Result<Outcome, LabError> {
        let program = candidate.program.as_ref().unwrap_or(self.program);
        let machine = candidate.machine.as_ref().unwrap_or(self.machine);
        let costs = Costs::of(&machine.prices).shrunk(self.plan.shrink);
        let (scheduler, options) = (candidate.scheduler, candidate.options);
        let settings =
            Settings { options, costs, accounted: false, ..Settings::new(scheduler, seed) };
        let advance = |touches| self.progress.advance(touches);
        let bounds = Bounds::of(program, machine);
        let groups = self.plan.sampling.groups(program, machine)?;
        let samples = Samples::of(program, std::iter::once((groups, seed)));
        let sample = samples.get(groups, seed);
        let outcome = befit_sim::run_within(program, sample, machine, &settings, bounds, &advance);
        outcome.map_err(|why| {
            LabError::Failed(format!("{scheduler} on {} with seed {seed}: {why}", machine.name))
        })
    }
}
