//! Predicts the times of programs on this machine, and measures them.
//!
//! ```text
//! program ──record──► simulate the machine's first T workers ──► predicted ──┐
//!     │                                                                      ├─► ratio, verdict
//!     └──build, run natively, all T and schedulers in turn ───► measured ────┘
//! ```
//!
//! First a short calibration tells which figures of the machine are not those of this one. Where
//! predictions are far off, [`Suspect`] tells which figure of the machine, changed, brings
//! most of them within range.

mod result;
mod suspect;
#[cfg(test)]
mod tests;

use std::num::NonZeroU32;

use befit_calibrate::{Effort, is_near};
use befit_machine::{Cycles, Machine, WorkerId};
use befit_program::Program;
use befit_sched::{OptionChoices, SchedulerKind};
use befit_sim::{Costs, Settings};

pub use befit_calibrate::Contradiction;
pub use result::{LearntWork, Millis, Verdict, Verified, VerifyMachine, VerifyResult};
pub use suspect::Suspect;

use crate::{
    Interrupt, LabError, Measuring, NativePlan, Progress, Source, Spread,
    native::NativeProgram,
    parallel::{self, threads},
    quiet::Quiet,
    recording::{record, record_uncalibrated},
    summary::first_word,
};

/// What to verify, and how.
#[derive(Clone, PartialEq, Debug)]
pub struct VerifyPlan {
    /// The programs.
    pub programs: Vec<VerifyProgram>,
    /// The numbers of threads of a pool. The first is the one that speed-ups refer to.
    pub threads: Vec<NonZeroU32>,
    /// The policies.
    pub schedulers: Vec<SchedulerKind>,
    /// How often each runs natively.
    pub repeats: NonZeroU32,
    /// The number of seeds that are simulated: 1, 2, … up to it.
    pub seeds: NonZeroU32,
    /// The options that are set on the policies.
    pub options: OptionChoices,
    /// What stands for this machine in simulations.
    pub machine: Machine,
    /// The machine as the user named it.
    pub asked: String,
    /// Records again, whatever was recorded before.
    pub fresh: bool,
    /// How many looks at this machine may find it another than the one that was described, before
    /// runs of a program on it count, too.
    pub patience: u32,
    /// Where ratios are not good, looks for a figure of the machine that explains it.
    pub suspects: bool,
}

/// A program to verify.
#[derive(Clone, PartialEq, Debug)]
pub struct VerifyProgram {
    /// The program.
    pub source: Source,
    /// Another run of the same program, from which the work of its strands is learnt. What is
    /// verified then has no part in the prediction but its task tree and its accesses.
    pub learn: Source,
}

impl VerifyProgram {
    /// The recording with the work learnt from the other run, and how much of it that covers.
    fn recording(
        &self,
        fresh: bool,
        progress: &dyn Progress,
    ) -> Result<(Program, LearntWork), LabError> {
        let same = self.learn == self.source;
        let learnt = record(&self.learn, fresh, progress)?;
        let (from, calibrated) = (learnt.meta().name.clone(), learnt.work_run().is_some());
        if same {
            let share = if calibrated { 1.0 } else { 0.0 };
            return Ok((learnt, LearntWork { from, share, assumed: !calibrated, same }));
        }
        let recording = record_uncalibrated(&self.source, fresh, progress)?;
        let (recording, share) = recording.with_work_of(&learnt);
        Ok((recording, LearntWork { from, share, assumed: !calibrated, same }))
    }
}

/// The prediction of one program with one number of threads under one scheduler.
struct Prediction {
    threads: NonZeroU32,
    scheduler: SchedulerKind,
    time: Spread<Cycles>,
}

impl VerifyPlan {
    /// Verifies all programs: builds, records, simulates and runs each in turn, and notes what was
    /// found as soon as it is. `interrupt` ends what it has started; results that are there by then
    /// are returned. A program that fails is among [`Verified::failed`] if another one does not.
    ///
    /// # Errors
    /// When the machine has fewer workers than there are to be threads; when every program fails to
    /// be built, recorded, simulated or run; [`LabError::Interrupted`] before the first result.
    pub fn run(
        &self,
        interrupt: &Interrupt,
        progress: &dyn Progress,
    ) -> Result<Verified, LabError> {
        for program in &self.programs {
            program.source.check()?;
        }
        for threads in &self.threads {
            self.machine.clone().with_workers(threads.get())?;
        }
        let measuring = Measuring::find(progress)?;
        let contradicted = self.contradicted(&measuring, progress);
        let contradicted = unless_raised(interrupt, Ok(contradicted))?;
        // Not what is pretended in the simulation, but this machine.
        let host = Machine::find("host").ok();
        let quiet = host.and_then(|host| Quiet::new(&measuring, &host));
        let (mut results, mut done, mut failed) = (Vec::new(), Vec::new(), Vec::new());
        for program in &self.programs {
            match self.verify(program, &measuring, quiet.as_ref(), interrupt, progress) {
                Ok(found) => {
                    found.iter().for_each(|result| progress.note(&result.line()));
                    results.extend(found);
                    done.push(program);
                }
                Err(LabError::Interrupted) if !results.is_empty() => break,
                Err(LabError::Interrupted) => return Err(LabError::Interrupted),
                Err(error) if self.programs.len() == 1 => return Err(error),
                Err(error) => {
                    progress.note(&error.to_string());
                    failed.push(error);
                }
            }
        }
        if results.is_empty()
            && let Some(error) = failed.pop()
        {
            return Err(error);
        }
        let mut verified = Verified::new(VerifyMachine::of(&self.machine, &self.asked), results);
        verified.contradicted = contradicted;
        verified.failed = failed.iter().map(ToString::to_string).collect();
        let are_good = verified.results.iter().all(|result| result.verdict == Verdict::Good);
        if self.suspects && !are_good && !interrupt.is_raised() {
            match self.suspect(&done, &verified.results, interrupt, progress) {
                Err(LabError::Interrupted) => {}
                suspect => {
                    verified.suspect = suspect?;
                    verified.searched = true;
                }
            }
        }
        Ok(verified)
    }

    /// The figures of the machine that a look at this one contradicts.
    fn contradicted(
        &self,
        measuring: &Measuring,
        progress: &dyn Progress,
    ) -> Option<Vec<Contradiction>> {
        let found = measuring.calibrate(Effort::Quick, progress);
        let note = |why| progress.note(&format!("the machine's figures were not checked: {why}"));
        Some(found.map_err(note).ok()?.contradictions(&self.machine))
    }

    fn verify(
        &self,
        program: &VerifyProgram,
        measuring: &Measuring,
        quiet: Option<&Quiet<'_>>,
        interrupt: &Interrupt,
        progress: &dyn Progress,
    ) -> Result<Vec<VerifyResult>, LabError> {
        let native = unless_raised(interrupt, NativeProgram::build(&program.source, progress))?;
        let recording = program.recording(self.fresh, progress);
        let (recording, work) = unless_raised(interrupt, recording)?;
        let predictions = self.predict(&recording, &self.machine, interrupt, progress)?;
        let plans: Vec<_> = self.threads.iter().map(|threads| self.native(*threads)).collect();
        // The host of a virtual machine may move its processors to where they share no cache, or
        // one core.
        let cycle = 1e3 / f64::from(self.machine.mhz.max(1));
        let last_level = self.machine.cluster(self.machine.last_level(WorkerId(0))).cache;
        let usual = last_level.and_then(|cache| cache.transfer).map(|t| t.0 as f64 * cycle);
        let are_near = |restore: bool| {
            let Some(usual) = usual else { return true };
            measuring.written(&self.machine).is_none_or(|found| is_near(found, usual))
                || (restore && measuring.bring_near(&self.machine, usual))
        };
        let measured = NativePlan::times(
            &plans,
            &native,
            quiet,
            &are_near,
            self.patience,
            interrupt,
            progress,
        )?;
        let mut results = Vec::new();
        for (prediction, times) in predictions.iter().zip(measured) {
            let runs = times.seconds.len();
            let Some(measured) = Spread::of(times.seconds) else { continue };
            let millis = |time: Cycles| time.0 as f64 / f64::from(self.machine.mhz) / 1e3;
            let mut result = VerifyResult::new(
                first_word(native.name()),
                native.name().to_owned(),
                prediction.threads,
                prediction.scheduler,
                prediction.time.map(millis),
                measured.map(|time| time.number() * 1e3),
                work.clone(),
            );
            result.runs = runs;
            result.as_described = times.as_described;
            results.push(result);
        }
        result::speed_up(&mut results);
        Ok(results)
    }

    /// The native runs with so many threads. No option is left to the environment, of which the
    /// simulation knows nothing.
    fn native(&self, threads: NonZeroU32) -> NativePlan {
        NativePlan {
            schedulers: self.schedulers.clone(),
            repeats: self.repeats,
            threads: Some(threads),
            // The pool sees the machine that it is on, whatever is pretended in the simulation.
            machine: Some("host".to_owned()),
            pin: None,
            options: OptionChoices::from(self.options.options()),
            show_output: false,
            trace: false,
        }
    }

    /// The times of `program` on the first workers of `machine`: by number of threads, then by
    /// scheduler.
    fn predict(
        &self,
        program: &Program,
        machine: &Machine,
        interrupt: &Interrupt,
        progress: &dyn Progress,
    ) -> Result<Vec<Prediction>, LabError> {
        let mut jobs = Vec::new();
        for threads in &self.threads {
            let machine = machine.clone().with_workers(threads.get())?;
            for scheduler in &self.schedulers {
                let seeds = 1..=u64::from(self.seeds.get());
                jobs.extend(seeds.map(|seed| (*threads, machine.clone(), *scheduler, seed)));
            }
        }
        let title = format!("{} on {}", program.meta().name, machine.name);
        progress.simulating(&title, jobs.len(), program.total_touches() * jobs.len() as u64);
        let run = |(_, machine, scheduler, seed): &(_, Machine, SchedulerKind, u64)| {
            interrupt.check()?;
            simulate(program, machine, *scheduler, *seed, &self.options, progress)
        };
        let times = parallel::map(&jobs, threads(), |_| 1, run)?;
        progress.finished();
        let seeds = self.seeds.get() as usize;
        let predictions =
            jobs.chunks(seeds).zip(times.chunks(seeds)).filter_map(|(jobs, times)| {
                let (threads, _, scheduler, _) = &jobs[0];
                let time = Spread::of(times.iter().copied())?;
                Some(Prediction { threads: *threads, scheduler: *scheduler, time })
            });
        Ok(predictions.collect())
    }

    /// Simulates every program again, with each figure of the machine changed, on the first number
    /// of threads and under the first scheduler.
    fn suspect(
        &self,
        done: &[&VerifyProgram],
        results: &[VerifyResult],
        interrupt: &Interrupt,
        progress: &dyn Progress,
    ) -> Result<Option<Suspect>, LabError> {
        let (Some(threads), Some(scheduler)) = (self.threads.first(), self.schedulers.first())
        else {
            return Ok(None);
        };
        let each = self.threads.len() * self.schedulers.len();
        let mut programs = Vec::new();
        for (program, results) in done.iter().zip(results.chunks(each)) {
            // It was recorded before: this reads it. Recordings of all programs at once may not fit
            // in memory.
            let recording = program.recording(false, &crate::Silent);
            let (recording, _) = unless_raised(interrupt, recording)?;
            let of = |machine: &Machine| {
                interrupt.check()?;
                let machine = machine.clone().with_workers(threads.get())?;
                simulate(&recording, &machine, *scheduler, 1, &self.options, progress)
            };
            let measured = results[0].measured.median;
            programs.push(suspect::ratios(&self.machine, measured, of, |runs| {
                let title = format!("{} with figures varied", recording.meta().name);
                progress.simulating(&title, runs, recording.total_touches() * runs as u64);
            })?);
            progress.finished();
        }
        Ok(Suspect::of(&programs))
    }
}

/// One simulation's time.
fn simulate(
    program: &Program,
    machine: &Machine,
    scheduler: SchedulerKind,
    seed: u64,
    options: &OptionChoices,
    progress: &dyn Progress,
) -> Result<Cycles, LabError> {
    let settings = Settings {
        options: options.options(),
        costs: Costs::of(&machine.prices),
        prepared: true,
        accounted: false,
        ..Settings::new(scheduler, seed)
    };
    let outcome = befit_sim::run(program, machine, &settings, &|touches| progress.advance(touches));
    let failed = |why| LabError::Failed(format!("{scheduler} on {}: {why}", machine.name));
    Ok(outcome.map_err(failed)?.time)
}

/// What was asked to end outweighs what came of it.
fn unless_raised<T>(interrupt: &Interrupt, result: Result<T, LabError>) -> Result<T, LabError> {
    interrupt.check()?;
    result
}
