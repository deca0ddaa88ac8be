//! The times of a program's pools, where the machine is the one that was described.

use std::{process::Command, thread, time::Duration};

use befit_sched::SchedulerKind;

use super::{NativePlan, NativeProgram, child};
use crate::{Interrupt, LabError, Progress, Seconds, quiet::Quiet};

/// What follows a look at the machine that found it another than the one that was described.
const PAUSE: Duration = Duration::from_millis(30);

/// The times of runs that count.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct NativeTimes {
    pub(crate) seconds: Vec<Seconds>,
    /// The machine was the one that was described, before and after them.
    pub(crate) as_described: bool,
}

impl NativeTimes {
    /// Of runs and whether the machine was the described one: those in which it was, if any.
    fn of(runs: Vec<(Seconds, bool)>) -> Self {
        let as_described = runs.iter().any(|(_, holds)| *holds);
        let counting = runs.into_iter().filter(|(_, holds)| *holds == as_described);
        Self { seconds: counting.map(|(seconds, _)| seconds).collect(), as_described }
    }
}

/// A time without that of some pool would be held against a prediction of all.
fn unmeasured(program: &str) -> LabError {
    let why = "a pool of it measures no time, as the program asks for by `timed(false)`";
    LabError::Failed(format!("{program}: {why}"))
}

impl NativePlan {
    /// The times of the pools of `program` under each of `plans`, which differ in their threads,
    /// and each of their schedulers: all take turns. The result is ordered by plan, then by
    /// scheduler, with a time for each repeat of the first plan.
    ///
    /// A run counts if the machine is the one that was described, before and after it: `quiet`, and
    /// for several threads with neighbours that `are_near`, which sees to that if it is told `true`
    /// and it can. The run is put off, or repeated, until that is so, or until `patience` looks in
    /// all have found the machine to be another. After that those count that were put off with
    /// success, and if there are none, all.
    ///
    /// # Errors
    /// As [`NativePlan::run`].
    pub(crate) fn times(
        plans: &[Self],
        program: &NativeProgram,
        quiet: Option<&Quiet<'_>>,
        are_near: &dyn Fn(bool) -> bool,
        patience: u32,
        interrupt: &Interrupt,
        progress: &dyn Progress,
    ) -> Result<Vec<NativeTimes>, LabError> {
        let mut spare = patience;
        interrupt.runs_begin();
        let folder = tempfile::tempdir().map_err(LabError::no_temporary_file)?;
        child::room(folder.path())?;
        let each: Vec<_> =
            plans.iter().flat_map(|plan| plan.schedulers.iter().map(move |s| (plan, *s))).collect();
        let repeats = plans.first().map_or(0, |plan| plan.repeats.get() as usize);
        progress.running(&program.name, each.len() * repeats);
        let mut times: Vec<Vec<(Seconds, bool)>> = vec![Vec::new(); each.len()];
        for _ in 0..repeats {
            for ((plan, scheduler), times) in each.iter().zip(&mut times) {
                let child = plan.child(program, *scheduler);
                let threads = plan.threads.map_or(1, |threads| threads.get() as usize);
                let is_alone = threads == 1;
                let time = loop {
                    let before = quiet.is_none_or(|quiet| quiet.before(threads))
                        && (is_alone || are_near(true));
                    if before || spare == 0 {
                        let mut command = plan.timed_command(program, *scheduler);
                        if let Some(quiet) = quiet {
                            quiet.place(&mut command);
                        }
                        let run = child.run(&mut command, folder.path(), interrupt, progress)?;
                        let holds = before
                            && quiet.is_none_or(|quiet| quiet.after(threads))
                            && (is_alone || are_near(false));
                        if holds || spare == 0 {
                            let spans = run.pools.iter().map(|pool| pool.span_seconds);
                            let all = spans.sum::<Option<Seconds>>();
                            break (all.ok_or_else(|| unmeasured(&program.name))?, holds);
                        }
                    }
                    if interrupt.is_raised() {
                        return Err(LabError::Interrupted);
                    }
                    spare -= 1;
                    thread::sleep(PAUSE);
                };
                times.push(time);
                progress.advance(1);
            }
        }
        progress.finished();
        let times: Vec<NativeTimes> = times.into_iter().map(NativeTimes::of).collect();
        let count = |as_described| {
            let times = times.iter().filter(|times| times.as_described == as_described);
            times.map(|times| times.seconds.len()).sum::<usize>()
        };
        let (good, all) = (count(true), each.len() * repeats);
        if good < all {
            progress.note(&format!(
                "{}: in {} of {all} runs cores were slower, or handed lines over slower, than the \
                 machine's figures say, as beside other guests of a virtual machine's host; {}",
                program.name,
                all - good,
                match count(false) {
                    0 => "those do not count".to_owned(),
                    bad => format!("{bad} of them count, as there were no others"),
                }
            ));
        }
        Ok(times)
    }

    /// A run that is only timed.
    fn timed_command(&self, program: &NativeProgram, scheduler: SchedulerKind) -> Command {
        let mut command = self.command(program, scheduler);
        // Not where it goes: what would measure that would be measured.
        command.env("BEFIT_TIMES", "span");
        // What predicts these times knows nothing of the user's environment. An empty variable
        // counts as none.
        command.envs([("BEFIT_AUTO", ""), ("BEFIT_SIZES", "")]);
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native;

    #[test]
    fn runs_that_are_timed_take_neither_sizes_nor_measurements_from_the_environment() {
        let plan = native::tests::plan(&["auto"], 1);
        let command = plan.timed_command(&native::tests::program(), SchedulerKind::Auto);
        for (name, value) in [("BEFIT_TIMES", "span"), ("BEFIT_AUTO", ""), ("BEFIT_SIZES", "")] {
            assert_eq!(native::tests::variable(&command, name), Some(value.to_owned()), "{name}");
        }
    }

    #[test]
    fn runs_on_another_machine_count_only_if_there_are_no_others() {
        let seconds = |runs: &[(f64, bool)]| {
            let runs = runs.iter().map(|(seconds, holds)| (Seconds::from(*seconds), *holds));
            let times = NativeTimes::of(runs.collect());
            (times.seconds.iter().map(|s| s.number()).collect::<Vec<_>>(), times.as_described)
        };
        assert_eq!(seconds(&[(1.0, true), (9.0, false), (2.0, true)]), (vec![1.0, 2.0], true));
        assert_eq!(seconds(&[(8.0, false), (9.0, false)]), (vec![8.0, 9.0], false));
    }
}
