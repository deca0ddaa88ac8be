//! Simulates every scheduler on every machine with every seed.

use std::num::NonZeroU32;

use befit_machine::Machine;
use befit_program::Program;
use befit_sched::{Options, SchedulerKind};
use befit_sim::{Costs, Settings};

use crate::{
    Experiment, LabError, Progress, Summary,
    parallel::{self, threads},
};

/// What to simulate a program on.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// The machines.
    pub machines: Vec<Machine>,
    /// The policies; the first is the baseline of tables.
    pub schedulers: Vec<SchedulerKind>,
    /// How many seeds: 1, 2, … up to this number.
    pub seeds: NonZeroU32,
    /// What is set on the policies.
    pub options: Options,
}

/// One simulation to run, as indices into the plan.
struct Job {
    machine: usize,
    scheduler: usize,
    seed: u32,
}

impl Plan {
    /// Simulates `program` as planned, on as many threads as this process may use cores. The results are ordered by machine, then
    /// by scheduler, as the plan names them, and do not depend on the number of threads.
    ///
    /// Takes time linear in the program's line touches × machines × schedulers × seeds.
    ///
    /// # Errors
    /// When a simulation fails; of several failures, the first in the order of results.
    pub fn simulate(&self, program: &Program, progress: &dyn Progress) -> Result<Vec<Summary>, LabError> {
        let jobs = self.jobs();
        let touches = program.total_touches();
        progress.simulating(jobs.len(), touches * jobs.len() as u64);
        // A touch costs about as much on every machine with as many levels to look into.
        let weight = |job: &Job| self.machines[job.machine].levels().len() as u64;
        let run = |job: &Job| {
            let machine = &self.machines[job.machine];
            let scheduler = self.schedulers[job.scheduler];
            let settings =
                Settings { scheduler, options: self.options, seed: u64::from(job.seed), costs: Costs::default() };
            befit_sim::run(program, machine, &settings, &|touches| progress.advance(touches)).map_err(|source| {
                LabError::Simulation { machine: machine.name.clone(), scheduler: scheduler.name(), seed: job.seed, source }
            })
        };
        let outcomes = parallel::map(&jobs, threads(), weight, run)?;
        progress.simulated();
        let seeds = self.seeds.get() as usize;
        let summaries = jobs.chunks(seeds).zip(outcomes.chunks(seeds)).filter_map(|(jobs, outcomes)| {
            let experiment = Experiment {
                command: &program.meta().name,
                machine: &self.machines[jobs[0].machine],
                scheduler: self.schedulers[jobs[0].scheduler],
                options: self.options,
            };
            Summary::of(experiment, outcomes)
        });
        Ok(summaries.collect())
    }

    /// Every simulation, the seeds of one experiment together.
    fn jobs(&self) -> Vec<Job> {
        let mut jobs = Vec::new();
        for machine in 0..self.machines.len() {
            for scheduler in 0..self.schedulers.len() {
                jobs.extend((1..=self.seeds.get()).map(|seed| Job { machine, scheduler, seed }));
            }
        }
        jobs
    }
}
