//! A closer look at a program on a machine, for people: how its time changes with the number of
//! workers, and what one run under each scheduler was like.

use std::num::NonZeroUsize;

use befit_machine::{Cycles, Machine};
use befit_program::Program;
use befit_sched::SchedulerKind;
use befit_sim::{Bounds, Trace, run_traced};

use crate::{LabError, Progress, SimulationPlan, parallel};

/// Machines of more workers than this are simulated with every second power of two.
const MANY: u32 = 32;

/// A program on one machine, with one seed.
#[derive(Clone, PartialEq, Debug)]
pub struct Look {
    /// The machine.
    pub machine: Machine,
    /// For each scheduler the running time, in cycles, with the machine's first workers only: each
    /// number of them, ascending from 1 to all.
    pub speed: Vec<(SchedulerKind, Vec<(u32, u64)>)>,
    /// What the run with all workers was like.
    pub runs: Vec<Looked>,
}

/// One run.
#[derive(Clone, PartialEq, Debug)]
pub struct Looked {
    /// The policy.
    pub scheduler: SchedulerKind,
    /// The running time.
    pub time: Cycles,
    /// Who ran what when.
    pub trace: Trace,
}

/// The numbers of workers to simulate.
fn counts(workers: u32, fewer: bool) -> Vec<u32> {
    if !fewer {
        return vec![workers];
    }
    let step: u32 = if workers > MANY { 4 } else { 2 };
    let powers = (0..).map(|power| step.pow(power)).take_while(|count| *count < workers);
    powers.chain([workers]).collect()
}

impl SimulationPlan {
    /// Looks at `program` on each machine of the plan, with all numbers of workers or, unless
    /// `fewer` is set, with all workers only. The plan's seeds, and a sample of lines, are not
    /// used: each simulation has seed 1 and all lines.
    ///
    /// Takes time linear in the program's line touches × machines × schedulers × some six numbers
    /// of workers.
    ///
    /// # Errors
    /// When a simulation fails.
    pub fn look(
        &self,
        program: &Program,
        fewer: bool,
        progress: &dyn Progress,
    ) -> Result<Vec<Look>, LabError> {
        let mut jobs = Vec::new();
        for machine in &self.machines {
            for count in counts(machine.workers().len() as u32, fewer) {
                let smaller = machine.clone().with_workers(count)?;
                let bounds = Bounds::of(program, &smaller);
                for scheduler in &self.schedulers {
                    jobs.push((smaller.clone(), bounds, *scheduler, count));
                }
            }
        }
        let touches = program.total_touches();
        let what = format!("{} with one seed, to look at", program.meta().name);
        progress.simulating(&what, jobs.len(), touches * jobs.len() as u64);
        let threads = parallel::threads();
        let found = self.all(program, &jobs, threads, progress)?;
        progress.finished();
        let mut found = jobs.iter().zip(found);
        let looks = self.machines.iter().map(|machine| {
            let all = machine.workers().len() as u32;
            let mut look = Look {
                machine: machine.clone(),
                speed: self.schedulers.iter().map(|kind| (*kind, Vec::new())).collect(),
                runs: Vec::new(),
            };
            let own = counts(all, fewer).len() * self.schedulers.len();
            for ((_, _, scheduler, count), run) in found.by_ref().take(own) {
                let of = look.speed.iter_mut().find(|(kind, _)| kind == scheduler);
                of.into_iter().for_each(|(_, times)| times.push((*count, run.time.0)));
                if *count == all {
                    look.runs.push(run);
                }
            }
            look
        });
        Ok(looks.collect())
    }

    fn all(
        &self,
        program: &Program,
        jobs: &[(Machine, Bounds, SchedulerKind, u32)],
        threads: NonZeroUsize,
        progress: &dyn Progress,
    ) -> Result<Vec<Looked>, LabError> {
        parallel::map(
            jobs,
            threads,
            |job| u64::from(job.3),
            |(machine, bounds, kind, _)| {
                let settings = self.settings(machine, *kind, 1);
                let advance = |touches| progress.advance(touches);
                let run = run_traced(program, machine, &settings, *bounds, &advance);
                let (outcome, trace) = run.map_err(|error| {
                    LabError::Failed(format!("cannot simulate {kind} on {}: {error}", machine.name))
                })?;
                Ok(Looked { scheduler: *kind, time: outcome.time, trace })
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use befit_sched::Options;

    use super::*;
    use crate::{Sampling, Seeds, Silent, testing};

    #[test]
    fn machines_are_looked_at_with_powers_of_two_of_their_workers_and_all_of_them() {
        assert_eq!(counts(1, true), [1]);
        assert_eq!(counts(12, true), [1, 2, 4, 8, 12]);
        assert_eq!(counts(32, true), [1, 2, 4, 8, 16, 32]);
        assert_eq!(counts(192, true), [1, 4, 16, 64, 192]);
        assert_eq!(counts(192, false), [192]);
    }

    #[test]
    fn each_run_is_as_long_as_without_a_look_and_all_of_it_is_traced() {
        let schedulers = vec![SchedulerKind::Ws, SchedulerKind::Sb];
        let plan = SimulationPlan {
            machines: vec![testing::machine(1), testing::machine(2)],
            schedulers: schedulers.clone(),
            seeds: Seeds::Fixed(NonZeroU32::MIN),
            options: Options::default(),
            shrink: 1,
            sampling: Sampling::Off,
        };
        let program = testing::program();
        let looks = plan.look(&program, true, &Silent).unwrap();
        let results = plan.simulate(&program, &Silent).unwrap();
        for (look, results) in looks.iter().zip(results.chunks(2)) {
            for (run, result) in look.runs.iter().zip(results) {
                assert_eq!((run.scheduler, run.time), (result.scheduler, result.time.median));
                let misses: u64 = run.trace.misses.iter().map(|lines| lines.0).sum();
                let levels: u64 = result.levels.iter().map(|l| l.misses.median.0).sum();
                assert_eq!(misses, levels + result.memory_reads.median.0);
                assert_eq!(run.trace.steals.len() as u64, result.steals.median);
                assert!(run.trace.stays.iter().all(|stay| stay.begin <= stay.end));
                let busy: u64 = run.trace.stays.iter().map(|s| s.end.0 - s.begin.0).sum();
                let active = result.worker_time.active.median.0;
                assert!(busy >= active, "{busy} {active}");
            }
            assert_eq!(look.speed.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), schedulers);
            let last = look.speed[0].1.last().unwrap();
            assert_eq!(last.0 as usize, look.machine.workers().len());
        }
    }
}
