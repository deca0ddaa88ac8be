//! Simulates every scheduler on every machine with every seed.

use std::num::NonZeroUsize;

use befit_machine::Machine;
use befit_program::{LineGroups, Program};
use befit_sched::{Options, SchedulerKind};
use befit_sim::{Bounds, Costs, Outcome, Settings};

use crate::{
    Interval, LabError, Progress, Sampled, Sampling, Seeds, Summary,
    kept::{self, Results, Spreads},
    parallel::{self, threads},
    sampling::Samples,
    seeds,
};

/// The machines, schedulers and seeds to simulate a program with.
#[derive(Clone, PartialEq, Debug)]
pub struct SimulationPlan {
    /// The machines.
    pub machines: Vec<Machine>,
    /// The policies; the first is the baseline of tables.
    pub schedulers: Vec<SchedulerKind>,
    /// The number of seeds.
    pub seeds: Seeds,
    /// The policies' options.
    pub options: Options,
    /// How many times smaller the model is than what it stands for: the machine's prices of
    /// scheduling are divided by it ([`Costs::shrunk`]).
    pub shrink: u32,
    /// Whether all lines of a program are simulated.
    pub sampling: Sampling,
}

/// A machine, and what goes with it for one program.
#[derive(Clone, Copy, Debug)]
struct Place<'a> {
    machine: &'a Machine,
    /// The program's bounds on it.
    bounds: Bounds,
    /// The groups of lines of which a simulation takes one; without any it takes all lines.
    groups: Option<LineGroups>,
}

impl Place<'_> {
    /// The number of lines of which one is simulated.
    fn one_in(&self) -> u64 {
        self.groups.map_or(1, |groups| u64::from(groups.count()))
    }

    /// The line touches of a simulation of a program that has so many in all.
    fn touches_of(&self, all: u64) -> u64 {
        (all / self.one_in()).max(1)
    }

    /// How rough a sample's figures of an experiment are: [`Sampled::roughness`]. Those of all
    /// lines are not.
    fn roughness(&self, outcomes: &[Outcome]) -> f64 {
        self.groups.map_or(0.0, |groups| Sampled::of(groups.count(), outcomes).roughness())
    }

    /// The same of the roughest of some experiments.
    fn roughest(&self, experiments: &[Vec<Outcome>]) -> f64 {
        experiments.iter().map(|outcomes| self.roughness(outcomes)).fold(0.0, f64::max)
    }

    /// The same place, where twice the lines of `program` are simulated.
    fn with_more_lines(self, program: &Program) -> Self {
        let groups = self.groups.and_then(LineGroups::fewer);
        Self { groups: groups.filter(|groups| program.can_sample(*groups)), ..self }
    }
}

/// How simulations are run.
struct How<'a> {
    threads: NonZeroUsize,
    /// Whether an account is kept of what time went on.
    accounted: bool,
    /// Those finished before.
    results: Option<&'a Results<'a>>,
}

/// Twice the lines are worth their time as long as they make figures less rough by this factor. It
/// is 0.7 where all of the roughness is that of samples, and 1 where all is that of schedules.
const BETTER: f64 = 0.85;

/// One simulation.
type Simulation<'a> = (Place<'a>, Settings);

impl SimulationPlan {
    /// Simulates `program` as planned, on as many threads as this process may use cores. The
    /// results are ordered by machine, then by scheduler, as the plan names them, and do not depend
    /// on the number of threads.
    ///
    /// Takes time linear in the program's line touches × machines × schedulers × seeds. With
    /// [`Sampling::Auto`], what a sample says that proves too rough gets more seeds, if their
    /// number is not fixed, and is then simulated again with twice the lines, as long as that
    /// helps.
    ///
    /// # Errors
    /// When a simulation fails; of several failures, the first in the order of results.
    pub fn simulate(
        &self,
        program: &Program,
        progress: &dyn Progress,
    ) -> Result<Vec<Summary>, LabError> {
        self.simulate_on(threads(), program, true, None, progress)
    }

    /// As [`Self::simulate`], but a simulation of the same recording, machine and settings that
    /// this very program has finished before is not made again, and those made now are kept. Small
    /// programs are simulated each time.
    ///
    /// # Errors
    /// As [`Self::simulate`].
    pub fn simulate_kept(
        &self,
        program: &Program,
        progress: &dyn Progress,
    ) -> Result<Vec<Summary>, LabError> {
        let content = kept::content(program);
        let content = content.as_deref();
        let results = content.and_then(|content| Results::open(content, progress));
        let spreads = Spreads::tell(program, content);
        let found = self.simulate_on(threads(), program, true, results.as_ref(), progress);
        spreads.keep(progress);
        found
    }

    /// As [`Self::simulate`], for who does not read [`Summary::account`] and
    /// [`Summary::contended`]: they are empty. Takes less time.
    ///
    /// # Errors
    /// As [`Self::simulate`].
    pub(crate) fn simulate_unaccounted(
        &self,
        program: &Program,
        progress: &dyn Progress,
    ) -> Result<Vec<Summary>, LabError> {
        self.simulate_on(threads(), program, false, None, progress)
    }

    pub(crate) fn costs_on(&self, machine: &Machine) -> Costs {
        Costs::of(&machine.prices).shrunk(self.shrink)
    }

    /// One simulation of the plan.
    pub(crate) fn settings(
        &self,
        machine: &Machine,
        scheduler: SchedulerKind,
        seed: u64,
    ) -> Settings {
        let costs = self.costs_on(machine);
        Settings { options: self.options, costs, ..Settings::new(scheduler, seed) }
    }

    /// The same on so many threads.
    fn simulate_on(
        &self,
        threads: NonZeroUsize,
        program: &Program,
        accounted: bool,
        results: Option<&Results<'_>>,
        progress: &dyn Progress,
    ) -> Result<Vec<Summary>, LabError> {
        let mut machines = self.places(program)?;
        let mut groups: Vec<_> = machines.iter().filter_map(|place| place.groups).collect();
        groups.dedup();
        let doubts = groups.into_iter().filter_map(|groups| self.sampling.doubt(program, groups));
        doubts.for_each(|doubt| progress.note(&doubt));
        let how = How { threads, accounted, results };
        let mut spent = 0;
        let mut outcomes = self.all_seeds(&how, program, &machines, &mut spent, progress)?;
        if self.sampling == Sampling::Auto {
            self.refine(&how, program, &mut machines, &mut outcomes, spent, progress)?;
        }
        Ok(self.summaries(program, &machines, &outcomes))
    }

    /// Halves the number of lines of which one is simulated, on each machine by itself, as long as
    /// figures are too rough, that helps, and the budget allows as many seeds again. So many
    /// touches were `spent` before.
    fn refine<'a>(
        &self,
        how: &How<'_>,
        program: &Program,
        machines: &mut [Place<'a>],
        outcomes: &mut [Vec<Outcome>],
        mut spent: u64,
        progress: &dyn Progress,
    ) -> Result<(), LabError> {
        let all = program.total_touches();
        let schedulers = self.schedulers.len().max(1);
        let of = |machine: usize| machine * schedulers..(machine + 1) * schedulers;
        let mut before = vec![f64::INFINITY; machines.len()];
        loop {
            let mut left = self.seeds.left(spent);
            let mut again: Vec<(usize, Place<'a>)> = Vec::new();
            for (at, place) in machines.iter().enumerate() {
                let found = &outcomes[of(at)];
                let rough = place.roughest(found);
                if rough <= 1.0 || rough > BETTER * before[at] {
                    continue;
                }
                // Of fewer seeds a sample of more lines may tell less.
                let more = place.with_more_lines(program);
                let simulations = found.iter().map(|outcomes| outcomes.len() as u64).sum::<u64>();
                let touches = more.touches_of(all).saturating_mul(simulations);
                if touches <= left {
                    left -= touches;
                    before[at] = rough;
                    again.push((at, more));
                }
            }
            if again.is_empty() {
                return Ok(());
            }
            let places: Vec<_> = again.iter().map(|(_, place)| *place).collect();
            let mut new = self.all_seeds(how, program, &places, &mut spent, progress)?.into_iter();
            for (at, place) in again {
                let new: Vec<_> = new.by_ref().take(schedulers).collect();
                if place.roughest(&new) <= before[at] {
                    machines[at] = place;
                    outcomes[of(at)].iter_mut().zip(new).for_each(|(old, new)| *old = new);
                }
            }
        }
    }

    /// The outcomes of every experiment on `machines`, with as many seeds as each needs. To the
    /// touches that were `spent` before, theirs are added.
    fn all_seeds(
        &self,
        how: &How<'_>,
        program: &Program,
        machines: &[Place<'_>],
        spent: &mut u64,
        progress: &dyn Progress,
    ) -> Result<Vec<Vec<Outcome>>, LabError> {
        let all = program.total_touches();
        let each: Vec<_> = (machines.iter())
            .flat_map(|place| self.schedulers.iter().map(|_| place.touches_of(all)))
            .collect();
        let experiments = machines.len() * self.schedulers.len();
        let mut outcomes: Vec<Vec<Outcome>> = (0..experiments).map(|_| Vec::new()).collect();
        let mut seeds = vec![self.seeds.first(); experiments];
        loop {
            let done: Vec<_> = outcomes.iter().map(|found| found.len() as u32).collect();
            let mut simulations = self.simulations(machines, &done, &seeds);
            simulations.iter_mut().for_each(|(_, settings)| settings.accounted = how.accounted);
            if simulations.is_empty() {
                return Ok(outcomes);
            }
            *spent += simulations.iter().map(|(place, _)| place.touches_of(all)).sum::<u64>();
            let found = run_new(how, program, progress, &simulations, self.seeds)?;
            let mut found = found.into_iter();
            for (all, (done, seeds)) in outcomes.iter_mut().zip(done.iter().zip(&seeds)) {
                all.extend(found.by_ref().take((seeds - done) as usize));
            }
            seeds = self.more_seeds(machines, &outcomes, *spent, &each, progress);
        }
    }

    /// What `take` takes of each outcome, in the order of [`Self::simulate`], the seeds of one
    /// experiment together: as many for each as [`Seeds::first`] says. The outcomes have no
    /// account.
    pub(crate) fn outcomes<R: Send>(
        &self,
        program: &Program,
        progress: &dyn Progress,
        take: impl Fn(&Settings, Outcome) -> R + Sync,
    ) -> Result<Vec<R>, LabError> {
        let experiments = self.machines.len() * self.schedulers.len();
        let seeds = vec![self.seeds.first(); experiments];
        let machines = self.places(program)?;
        let mut simulations = self.simulations(&machines, &vec![0; experiments], &seeds);
        simulations.iter_mut().for_each(|(_, settings)| settings.accounted = false);
        let take = |(_, settings): &Simulation<'_>, outcome| take(settings, outcome);
        run(threads(), program, progress, &simulations, self.seeds, take)
    }

    /// What there is for each experiment, those of one machine together.
    fn per_machine<'a, T>(&self, all: &'a [T]) -> std::slice::Chunks<'a, T> {
        all.chunks(self.schedulers.len().max(1))
    }

    fn places(&self, program: &Program) -> Result<Vec<Place<'_>>, LabError> {
        let sampling = match self.sampling {
            // No interval would tell how good a sample is.
            Sampling::Auto if self.seeds.first() < 2 => Sampling::Off,
            sampling => sampling,
        };
        let place = |machine| {
            let groups = sampling.groups(program, machine)?;
            Ok(Place { machine, bounds: Bounds::of(program, machine), groups })
        };
        self.machines.iter().map(place).collect()
    }

    /// Every experiment's simulations with the seeds after the first `done` up to `seeds`, those of
    /// one experiment together.
    fn simulations<'a>(
        &self,
        machines: &[Place<'a>],
        done: &[u32],
        seeds: &[u32],
    ) -> Vec<Simulation<'a>> {
        let experiments = machines.iter().flat_map(|machine| {
            self.schedulers.iter().map(move |scheduler| (*machine, *scheduler))
        });
        let ranges =
            done.iter().zip(seeds).map(|(done, seeds)| u64::from(*done) + 1..=u64::from(*seeds));
        let each = experiments.zip(ranges).flat_map(|((machine, scheduler), seeds)| {
            seeds.map(move |seed| (machine, self.settings(machine.machine, scheduler, seed)))
        });
        each.collect()
    }

    /// The number of seeds that each experiment needs, by what `outcomes` show; as many as there
    /// are where none needs more or more are too many: touches were `spent`, and a further
    /// simulation of `each` experiment takes so many.
    fn more_seeds(
        &self,
        machines: &[Place<'_>],
        outcomes: &[Vec<Outcome>],
        spent: u64,
        each: &[u64],
        progress: &dyn Progress,
    ) -> Vec<u32> {
        let so_far: Vec<_> = outcomes.iter().map(|found| found.len() as u32).collect();
        let Seeds::Enough { budget } = self.seeds else { return so_far };
        let intervals: Vec<_> = self.per_machine(outcomes).flat_map(against_first).collect();
        let is_wide = |interval: &Option<Interval>| interval.is_some_and(|i| !i.is_narrow());
        let rough = machines.iter().zip(self.per_machine(outcomes)).flat_map(|(place, found)| {
            let auto = self.sampling == Sampling::Auto;
            found.iter().map(move |outcomes| if auto { place.roughness(outcomes) } else { 0.0 })
        });
        let rough: Vec<f64> = rough.collect();
        let needs: Vec<_> = (so_far.iter().zip(&intervals).zip(&rough))
            .map(|((seeds, interval), rough)| (*seeds, *rough > 1.0 || is_wide(interval)))
            .collect();
        let next: Vec<_> = self.per_machine(&needs).flat_map(seeds::next).collect();
        let given = seeds::within(&so_far, next.clone(), each, self.seeds.left(spent));
        if given == so_far && next != so_far {
            let wide = intervals.iter().flatten().filter(|i| !i.is_narrow());
            let widest = wide.map(|i| 100.0 * i.half()).max_by(f64::total_cmp);
            let why = widest.map(|widest| format!("the widest interval is ±{widest:.1} %"));
            let why = why.unwrap_or_else(|| {
                let roughest = rough.iter().copied().fold(0.0, f64::max);
                let off = 100.0 * Sampled::BAR * roughest;
                format!("a sample's figure is off by up to ±{off:.1} %")
            });
            progress.note(&format!("no further seeds within a budget of {budget} touches: {why}"));
        }
        given
    }

    fn summaries(
        &self,
        program: &Program,
        machines: &[Place<'_>],
        outcomes: &[Vec<Outcome>],
    ) -> Vec<Summary> {
        let of = |place: &Place<'_>, outcomes: &[Vec<Outcome>]| -> Vec<Summary> {
            let (machine, one_in) = (place.machine, place.groups.map(LineGroups::count));
            let each = self.schedulers.iter().zip(outcomes).filter_map(|(scheduler, outcomes)| {
                let settings = self.settings(machine, *scheduler, 1);
                Summary::of(program, machine, &settings, one_in, outcomes)
            });
            let mut all: Vec<_> = each.collect();
            let Some(first) = all.first().cloned() else { return all };
            for summary in &mut all {
                summary.ratio = summary.time_against(&first);
                summary.misses_ratio = summary.misses_against(&first);
            }
            all
        };
        let of_each = machines.iter().zip(self.per_machine(outcomes));
        of_each.flat_map(|(place, outcomes)| of(place, outcomes)).collect()
    }
}

/// The interval of each scheduler's time over that of the first, which has none.
fn against_first(outcomes: &[Vec<Outcome>]) -> Vec<Option<Interval>> {
    let first = &outcomes[0];
    let pairs = |own: &Vec<Outcome>| {
        Interval::of(first.iter().zip(own).map(|(base, own)| (base.time.0, own.time.0)))
    };
    std::iter::once(None).chain(outcomes[1..].iter().map(pairs)).collect()
}

/// The outcomes of `simulations`: those among `results`, which get the others as they end.
fn run_new(
    how: &How<'_>,
    program: &Program,
    progress: &dyn Progress,
    simulations: &[Simulation<'_>],
    seeds: Seeds,
) -> Result<Vec<Outcome>, LabError> {
    let results = how.results;
    let find = |(place, settings): &Simulation<'_>| {
        results.and_then(|results| results.find(place.machine, settings, place.groups))
    };
    let found: Vec<_> = simulations.iter().map(find).collect();
    let new = simulations.iter().zip(&found).filter(|(_, found)| found.is_none());
    let new: Vec<Simulation<'_>> = new.map(|(simulation, _)| simulation.clone()).collect();
    let keep = |(place, settings): &Simulation<'_>, outcome: Outcome| {
        if let Some(results) = results {
            results.keep(place.machine, settings, place.groups, &outcome);
        }
        outcome
    };
    let ran = match new.is_empty() {
        true => Vec::new(),
        false => run(how.threads, program, progress, &new, seeds, keep)?,
    };
    let mut ran = ran.into_iter();
    Ok(found.into_iter().filter_map(|found| found.or_else(|| ran.next())).collect())
}

/// What `take` takes of the outcome of each of `simulations`.
fn run<R: Send>(
    threads: NonZeroUsize,
    program: &Program,
    progress: &dyn Progress,
    simulations: &[Simulation<'_>],
    seeds: Seeds,
    take: impl Fn(&Simulation<'_>, Outcome) -> R + Sync,
) -> Result<Vec<R>, LabError> {
    let mut machines: Vec<_> =
        simulations.iter().map(|(place, _)| &place.machine.name[..]).collect();
    machines.dedup();
    let machines = match &machines[..] {
        [machine] => (*machine).to_owned(),
        machines => format!("{} machines", machines.len()),
    };
    let title = format!("{} on {machines}", program.meta().name);
    let needed = simulations.iter().map(|(place, settings)| (place.groups, settings.seed));
    let samples = Samples::of(program, needed, seeds.last());
    let all = program.total_touches();
    let touches_of = |(place, settings): &Simulation<'_>| {
        let sample = samples.get(place.groups, settings.seed);
        sample.map_or(all, |sample| sample.total_touches(program))
    };
    let touches = simulations.iter().map(touches_of).sum();
    progress.simulating(&title, simulations.len(), touches);
    // A touch costs about as much on every machine with as many levels to look into.
    let weight =
        |(place, _): &Simulation<'_>| place.touches_of(all) * place.machine.levels().len() as u64;
    let run = |simulation: &Simulation<'_>| {
        let (place, settings) = simulation;
        let Place { machine, bounds, groups } = place;
        let sample = samples.get(*groups, settings.seed);
        let advance = |touches| progress.advance(touches);
        let outcome = befit_sim::run_within(program, sample, machine, settings, *bounds, &advance);
        let outcome = outcome.map_err(|why| {
            let (Settings { scheduler, seed, .. }, machine) = (settings, &machine.name);
            LabError::Failed(format!("{scheduler} on {machine} with seed {seed}: {why}"))
        })?;
        Ok::<_, LabError>(take(simulation, outcome))
    };
    let outcomes = parallel::map(simulations, threads, weight, run)?;
    progress.finished();
    Ok(outcomes)
}

#[cfg(test)]
mod tests;
