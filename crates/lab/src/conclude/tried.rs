//! Changes that are simulated: to explain what no account shows, and to suggest what gains.

use std::{iter, ops::RangeInclusive, slice, sync::OnceLock};

use befit_machine::Machine;
use befit_program::{Footprint, LineGroups, Program, SizesFrom};
use befit_sched::SchedulerKind;
use befit_sim::{Bounds, Costs, Outcome, Part, Settings};

use super::{
    Cause, Loss, Suggestion, WORTH,
    candidates::{Candidate, Change, Comparison},
    find,
};
use crate::{
    Interval, LabError, Progress, Summary, kept,
    parallel::{self, threads},
    sampling::Samples,
};

/// The seed that chooses changes.
const CHOOSING: u64 = 1;
/// So many seeds say what they gain. None of them chose the best scheduler either: its time would
/// be low by that choice, and what is gained over it would be said too small.
const CONFIRMING: RangeInclusive<u64> = 3..=8;
/// So many of the comparison's seeds at most say whether something is a cause. The schedules of one
/// seed differ by more than many a cause explains.
const EXPLAINING: u64 = 5;
/// Touches that all simulations together may make, whatever the comparison took.
const LEAST_BUDGET: u64 = 50_000_000;
/// A change is confirmed if it seems to gain so much.
const PROMISING: f64 = 0.02;
/// So many changes are confirmed.
const CONFIRMED: usize = 2;
/// Measuring all tasks takes as long as about so many simulations.
const MEASURING: u64 = 2;

/// The simulations of changes.
pub(super) struct Trials<'a> {
    about: Comparison<'a>,
    progress: &'a dyn Progress,
    /// What the program's tasks touch, once that has been measured.
    pub(super) footprints: Option<&'a OnceLock<Vec<Footprint>>>,
    made: u64,
    budget: u64,
    suggestions: Vec<Suggestion>,
    /// Each with its scheduler.
    in_vain: Vec<(Change, SchedulerKind)>,
    /// Candidates that were simulated with the first seed: their times.
    chosen: Vec<(Candidate, u64)>,
    /// See [`Self::gain_without_idle_caches`].
    gain_without_idle_caches: Option<f64>,
}

impl<'a> Trials<'a> {
    pub(super) fn new(about: Comparison<'a>, tries: bool, progress: &'a dyn Progress) -> Self {
        let made: u64 = about.results.iter().map(|result| u64::from(result.seeds)).sum();
        let budget = (made / 2).max(LEAST_BUDGET / about.program.total_touches().max(1));
        Self {
            about,
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
    pub(super) fn found(&mut self) -> (Vec<Suggestion>, Vec<(Change, SchedulerKind)>) {
        (std::mem::take(&mut self.suggestions), std::mem::take(&mut self.in_vain))
    }

    /// Adds causes that show only where the program is simulated without them.
    pub(super) fn explain(&mut self, losses: &mut Vec<Loss>) -> Result<(), LabError> {
        self.explain_grain(losses)?;
        if self.about.has_shared_cores() {
            let gain = self.gain_over(self.about.one_worker_a_core(), self.about.best)?;
            self.explains(losses, Cause::Oversubscription, self.about.best, gain);
        }
        let sized =
            self.about.results.iter().filter(|result| self.about.is_sized(result.scheduler));
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

    /// Simulates what may help against the causes, and keeps what does. The recommended scheduler's
    /// come first: it is its time that changes are to shorten.
    pub(super) fn suggest(&mut self, losses: &[Loss]) -> Result<(), LabError> {
        let mut causes: Vec<Cause> = Vec::new();
        let of_best = losses.iter().filter(|loss| !loss.more_than_best);
        for loss in of_best.chain(losses) {
            if !causes.contains(&loss.cause) {
                causes.push(loss.cause);
            }
        }
        let mut candidates: Vec<Candidate> = Vec::new();
        for cause in causes {
            for candidate in self.about.against(cause) {
                let mut all = candidates.iter().chain(self.chosen.iter().map(|(chosen, _)| chosen));
                if !all.any(|other| other.is(&candidate.change, candidate.scheduler)) {
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
        self.gain_without_idle_caches = self.gain_by_using_idle_caches();
        self.confirm()
    }

    /// The most that the best scheduler's time is shortened by whatever leaves fewer caches idle,
    /// by the first seed; `None` where that is not known: no scheduler of the comparison leaves at
    /// most half as much idle, and not all that may was simulated.
    pub(super) fn gain_without_idle_caches(&self) -> Option<f64> {
        self.gain_without_idle_caches
    }

    /// What the best of the changes against idle caches gains that were simulated, or 0. Schedulers
    /// of the comparison that leave few caches idle gain nothing, as the best one is the fastest.
    fn gain_by_using_idle_caches(&self) -> Option<f64> {
        let idle = |result: &Summary| result.share(Part::Bound);
        let least = self.about.results.iter().map(idle).fold(1.0, f64::min);
        let wanted = self.about.against(Cause::IdleCaches);
        let is_wanted = |tried: &Candidate| wanted.iter().any(|w| tried.is(&w.change, w.scheduler));
        let tried: Vec<u64> = self
            .chosen
            .iter()
            .filter(|(tried, _)| is_wanted(tried))
            .map(|(_, time)| *time)
            .collect();
        if least > idle(self.about.best) / 2.0 && tried.len() < wanted.len() {
            return None;
        }
        let without = self.about.best.runs.first()?.time.0.max(1) as f64;
        let shortest = tried.into_iter().min().map_or(without, |time| time as f64);
        Some((1.0 - shortest / without).max(0.0))
    }

    fn left(&self) -> u64 {
        self.budget.saturating_sub(self.made)
    }

    /// The share of `result`'s time that is gone with the candidate; 0 if the seeds do not show
    /// that any is, or the first that it is worth a line.
    fn gain_over(&mut self, candidate: Candidate, result: &Summary) -> Result<f64, LabError> {
        let Some((candidate, time)) = self.first_times(vec![candidate])?.pop() else {
            return Ok(0.0);
        };
        let mut gain = 0.0;
        if gain_of_first(time, result) >= WORTH {
            let ratio = self.ratio(&candidate, time, result)?;
            gain = if ratio.high < 1.0 { 1.0 - ratio.estimate } else { 0.0 };
        }
        self.chosen.push((candidate, time));
        Ok(gain)
    }

    /// The candidates, as many as the budget has left, and their times with the first seed.
    fn first_times(
        &mut self,
        mut candidates: Vec<Candidate>,
    ) -> Result<Vec<(Candidate, u64)>, LabError> {
        candidates.truncate(self.left() as usize);
        let times = self.simulate(&candidates, CHOOSING..=CHOOSING)?;
        let times = times.into_iter().filter_map(|times| times.first().copied());
        Ok(candidates.into_iter().zip(times).collect())
    }

    /// The time with the candidate over `result`'s, by the seeds of the latter. With the first the
    /// candidate took `first`; with others it is simulated now.
    fn ratio(
        &mut self,
        candidate: &Candidate,
        first: u64,
        result: &Summary,
    ) -> Result<Interval, LabError> {
        let seeds = (result.runs.len() as u64).min(EXPLAINING).min(CHOOSING + self.left());
        let further = self.simulate(slice::from_ref(candidate), CHOOSING + 1..=seeds)?;
        let times = iter::once(first).chain(further.into_iter().flatten());
        let found = Interval::of(result.runs.iter().map(|run| run.time.0).zip(times));
        let one = 1.0 - gain_of_first(first, result);
        // Of one seed nobody knows the interval; where no more were asked for, it has none.
        let unknown = match result.runs.len() {
            1 => Interval { estimate: one, low: one, high: one },
            _ => Interval { estimate: one, low: 0.0, high: f64::INFINITY },
        };
        Ok(found.unwrap_or(unknown))
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
            more_than_best: result.scheduler != self.about.best.scheduler,
            share: gain,
            figures: Default::default(),
        });
    }

    /// The program with sizes as measured; none where tasks befit the same caches by both.
    fn measured_sizes(&mut self, scheduler: SchedulerKind) -> Option<Candidate> {
        self.made += MEASURING;
        let own = OnceLock::new();
        let find = || kept::footprints_alone(self.about.program, self.progress);
        let footprints = self.footprints.unwrap_or(&own).get_or_init(find);
        self.about.with_sizes(footprints, scheduler)
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
        let longer = self.about.coarser();
        // Of tasks so many times longer there are as many times fewer to schedule.
        let may_gain = longer.iter().map(|candidate| match candidate.change {
            Change::Coarser { times, .. } => share * (1.0 - 1.0 / times as f64),
            _ => share,
        });
        let may_gain: Vec<f64> = may_gain.collect();
        let best = self.about.best;
        let tried = self.first_times(longer)?;
        // What the first seed favours is looked at with others.
        let beyond =
            |((_, time), least): (&(_, u64), &f64)| gain_of_first(*time, best) - least / 2.0;
        let beyond: Vec<f64> = tried.iter().zip(&may_gain).map(beyond).collect();
        let favoured = (0..beyond.len()).max_by(|a, b| beyond[*a].total_cmp(&beyond[*b]));
        if let Some(favoured) = favoured {
            let (candidate, time) = &tried[favoured];
            let gain = 1.0 - self.ratio(candidate, *time, best)?.estimate;
            if gain < may_gain[favoured] / 2.0 {
                for loss in losses.iter_mut().filter(|f| f.cause == Cause::GrainTooSmall) {
                    loss.cause = Cause::InputTooSmall;
                }
            }
        }
        self.chosen.extend(tried);
        Ok(())
    }

    /// Simulates the candidates that promise most with further seeds.
    fn confirm(&mut self) -> Result<(), LabError> {
        let Some(first) = self.about.best.runs.first().map(|run| run.time.0) else { return Ok(()) };
        let mut chosen = std::mem::take(&mut self.chosen);
        chosen.sort_by_key(|(_, time)| *time);
        let limit = first as f64 * (1.0 - PROMISING);
        let promising = chosen.iter().filter(|(_, time)| (*time as f64) < limit).count();
        // Each seed is simulated with and without the change.
        let affordable = (self.left() / CONFIRMING.start()).saturating_sub(1);
        let confirmed = promising.min(CONFIRMED).min(affordable as usize);
        let rest = chosen.split_off(confirmed);
        // What promises something, and is not looked at again, is neither suggested nor in vain.
        let no_gain = rest.into_iter().filter(|(_, time)| (*time as f64) >= limit);
        let no_gain = no_gain.map(|(candidate, _)| (candidate.change, candidate.scheduler));
        self.in_vain = no_gain.collect();
        if chosen.is_empty() {
            return Ok(());
        }
        // The order stays that of the choosing seed. By the order of the others chance would favour
        // the first, and it would gain less than said.
        let first =
            u64::from(self.about.results.iter().map(|result| result.seeds).max().unwrap_or(0)) + 1;
        let count = (self.left() / (1 + chosen.len() as u64)).min(*CONFIRMING.end());
        let as_it_is = self.about.candidate(Change::Scheduler, self.about.best.scheduler);
        let changes = chosen.into_iter().map(|(candidate, _)| candidate);
        let candidates: Vec<_> = iter::once(as_it_is).chain(changes).collect();
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
                None => self.in_vain.push((candidate.change, candidate.scheduler)),
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
        let mut all = self.about.all();
        all.extend(self.measured_sizes(said.scheduler));
        let candidate = all.into_iter().find(|c| c.is(&said.change, said.scheduler))?;
        let as_it_is = self.about.candidate(Change::Scheduler, self.about.best.scheduler);
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
        let one_in = self.about.best.sampled.as_ref().map_or(1, |sampled| sampled.one_in);
        let each = self.about.program.total_touches() / u64::from(one_in);
        let touches = each * jobs.len() as u64;
        let title = format!("{}: what else may help", self.about.program.meta().name);
        self.progress.simulating(&title, jobs.len(), touches);
        // Those of other touches are taken when these are simulated.
        let same = jobs.iter().filter(|(candidate, _)| self.has_same_touches(candidate));
        let needed: Result<Vec<_>, LabError> =
            same.map(|(candidate, seed)| Ok((self.groups(candidate)?, *seed))).collect();
        let last = self.about.plan.seeds.last();
        let samples = Samples::of(self.about.program, needed?.into_iter(), last);
        let time = |(candidate, seed): &(&Candidate, u64)| {
            self.one(candidate, *seed, &samples).map(|outcome| outcome.time.0)
        };
        let times = parallel::map(&jobs, threads(), |_| 1, time)?;
        self.progress.finished();
        Ok(times.chunks(count).map(<[u64]>::to_vec).collect())
    }

    /// The groups of lines of which each simulation of the candidate takes one.
    fn groups(&self, candidate: &Candidate) -> Result<Option<LineGroups>, LabError> {
        let (program, machine) = self.simulated(candidate);
        let one_in = self.about.best.sampled.as_ref().map(|sampled| sampled.one_in);
        self.about.plan.sampling.groups_beside(one_in, program, machine)
    }

    /// The program and the machine that the candidate is simulated with.
    fn simulated<'b>(&'b self, candidate: &'b Candidate) -> (&'b Program, &'b Machine) {
        let program = candidate.program.as_ref().unwrap_or(self.about.program);
        (program, candidate.machine.as_ref().unwrap_or(self.about.machine))
    }

    fn has_same_touches(&self, candidate: &Candidate) -> bool {
        self.simulated(candidate).0.has_touches_of(self.about.program)
    }

    /// Simulates the candidate; `samples` are those of the program as it was recorded.
    fn one(
        &self,
        candidate: &Candidate,
        seed: u64,
        samples: &Samples,
    ) -> Result<Outcome, LabError> {
        let (program, machine) = self.simulated(candidate);
        let costs = Costs::of(&machine.prices).shrunk(self.about.plan.shrink);
        let (scheduler, options) = (candidate.scheduler, candidate.options);
        let settings =
            Settings { options, costs, accounted: false, ..Settings::new(scheduler, seed) };
        let advance = |touches| self.progress.advance(touches);
        let bounds = Bounds::of(program, machine);
        let groups = self.groups(candidate)?;
        let changed = !self.has_same_touches(candidate);
        let own = changed.then(|| Samples::of(program, iter::once((groups, seed)), 1));
        let sample = own.as_ref().unwrap_or(samples).get(groups, seed);
        let outcome = befit_sim::run_within(program, sample, machine, &settings, bounds, &advance);
        outcome.map_err(|why| {
            LabError::Failed(format!("{scheduler} on {} with seed {seed}: {why}", machine.name))
        })
    }
}

/// The share of `result`'s time that is gone where the first seed's is `time`.
fn gain_of_first(time: u64, result: &Summary) -> f64 {
    let without = result.runs.first().map_or(1, |run| run.time.0.max(1));
    1.0 - time as f64 / without as f64
}
