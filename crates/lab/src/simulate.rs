//! Simulates every scheduler on every machine with every seed.

use std::num::NonZeroU32;

use befit_machine::Machine;
use befit_program::Program;
use befit_sched::{Options, SchedulerKind};
use befit_sim::{Costs, Outcome, Settings};

use crate::{
    LabError, Progress, Summary,
    parallel::{self, threads},
};

/// The machines, schedulers and seeds to simulate a program with.
#[derive(Clone, PartialEq, Debug)]
pub struct SimulationPlan {
    /// The machines.
    pub machines: Vec<Machine>,
    /// The policies; the first is the baseline of tables.
    pub schedulers: Vec<SchedulerKind>,
    /// The number of seeds: 1, 2, … up to it.
    pub seeds: NonZeroU32,
    /// The policies' options.
    pub options: Options,
    /// The costs of scheduling: [`Costs::shrunk`] for a model of a large run.
    pub costs: Costs,
}

impl SimulationPlan {
    /// Simulates `program` as planned, on as many threads as this process may use cores. The
    /// results are ordered by machine, then by scheduler, as the plan names them, and do not depend
    /// on the number of threads.
    ///
    /// Takes time linear in the program's line touches × machines × schedulers × seeds.
    ///
    /// # Errors
    /// When a simulation fails; of several failures, the first in the order of results.
    pub fn simulate(
        &self,
        program: &Program,
        progress: &dyn Progress,
    ) -> Result<Vec<Summary>, LabError> {
        let outcomes = self.outcomes(program, progress, |_, outcome| outcome)?;
        let seeds = self.seeds.get() as usize;
        let simulations = self.simulations();
        let seeds_of_each = simulations.chunks(seeds).zip(outcomes.chunks(seeds));
        let summaries = seeds_of_each.filter_map(|(simulations, outcomes)| {
            let (machine, settings) = &simulations[0];
            Summary::of(&program.meta().name, machine, settings, outcomes)
        });
        Ok(summaries.collect())
    }

    /// What `take` takes of each outcome, in the order of [`Self::simulate`], the seeds of one
    /// experiment together.
    pub(crate) fn outcomes<R: Send>(
        &self,
        program: &Program,
        progress: &dyn Progress,
        take: impl Fn(&Settings, Outcome) -> R + Sync,
    ) -> Result<Vec<R>, LabError> {
        let simulations = self.simulations();
        let machines = match &self.machines[..] {
            [machine] => machine.name.clone(),
            machines => format!("{} machines", machines.len()),
        };
        let title = format!("{} on {machines}", program.meta().name);
        let touches = program.total_touches() * simulations.len() as u64;
        progress.simulating(&title, simulations.len(), touches);
        // A touch costs about as much on every machine with as many levels to look into.
        let weight = |(machine, _): &(&Machine, Settings)| machine.levels().len() as u64;
        let run = |(machine, settings): &(&Machine, Settings)| {
            let advance = |touches| progress.advance(touches);
            let outcome = befit_sim::run(program, machine, settings, &advance).map_err(|why| {
                let (Settings { scheduler, seed, .. }, machine) = (settings, &machine.name);
                LabError::Failed(format!("{scheduler} on {machine} with seed {seed}: {why}"))
            })?;
            Ok::<_, LabError>(take(settings, outcome))
        };
        let outcomes = parallel::map(&simulations, threads(), weight, run)?;
        progress.finished();
        Ok(outcomes)
    }

    /// Every simulation, the seeds of one experiment together.
    fn simulations(&self) -> Vec<(&Machine, Settings)> {
        let mut simulations = Vec::new();
        for machine in &self.machines {
            for &scheduler in &self.schedulers {
                simulations.extend((1..=self.seeds.get()).map(|seed| {
                    let seed = u64::from(seed);
                    let (options, costs) = (self.options, self.costs);
                    (machine, Settings { scheduler, options, seed, costs })
                }));
            }
        }
        simulations
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::{Silent, testing};

    fn plan(seeds: u32) -> SimulationPlan {
        SimulationPlan {
            machines: vec![testing::machine(1), testing::machine(2)],
            schedulers: vec![SchedulerKind::Sb, SchedulerKind::Ws],
            seeds: NonZeroU32::new(seeds).unwrap(),
            options: Options::default(),
            costs: Costs::default(),
        }
    }

    #[test]
    fn results_come_by_machine_then_by_scheduler_as_the_plan_names_them() {
        let results = plan(2).simulate(&testing::program(), &Silent).unwrap();
        let order: Vec<_> = results.iter().map(|r| (r.workers, r.scheduler)).collect();
        let (sb, ws) = (SchedulerKind::Sb, SchedulerKind::Ws);
        assert_eq!(order, [(2, sb), (2, ws), (4, sb), (4, ws)]);
        assert!(results.iter().all(|r| r.seeds == 2 && r.command == "walks --n 8"));
    }

    #[test]
    fn the_same_plan_gives_the_same_results() {
        let run = || plan(3).simulate(&testing::program(), &Silent).unwrap();
        assert_eq!(run(), run());
    }

    #[test]
    fn progress_reaches_its_end() {
        #[derive(Default)]
        struct Count {
            announced: AtomicU64,
            done: AtomicU64,
        }
        impl Progress for Count {
            fn simulating(&self, what: &str, runs: usize, touches: u64) {
                assert_eq!((what, runs), ("walks --n 8 on 2 machines", 12));
                self.announced.store(touches, Ordering::Relaxed);
            }
            fn advance(&self, touches: u64) {
                self.done.fetch_add(touches, Ordering::Relaxed);
            }
        }
        let count = Count::default();
        plan(3).simulate(&testing::program(), &count).unwrap();
        assert_eq!(count.announced.into_inner(), count.done.into_inner());
    }

    #[test]
    fn worker_time_of_one_seed_sums_to_time_times_workers() {
        for result in plan(1).simulate(&testing::program(), &Silent).unwrap() {
            let t = result.worker_time;
            let parts = [t.active, t.add, t.get, t.done, t.idle];
            let sum: u64 = parts.iter().map(|p| p.median.0).sum();
            assert_eq!(sum, result.time.median.0 * u64::from(result.workers));
        }
    }
}
