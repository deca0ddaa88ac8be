//! Runs programs on this machine's own threads, under each scheduler in turn, and puts their
//! workers' counts together.
//!
//! ```text
//! A B C A B C …  each run is a process; BEFIT_SCHEDULER and its like set its scheduler
//!    │ └─ BEFIT_STATS ──► statistics of its workers ───────┐
//!    └─── befit-counters ─► counts from its exec on ───────┴──► medians
//! ```
//!
//! The schedulers take turns, so that a disturbance of the machine disturbs them all alike.

mod child;
mod interrupt;
mod limit;
mod stats;
mod summary;
#[cfg(test)]
mod tests;
mod times;

use std::{
    collections::BTreeSet,
    env,
    ffi::OsString,
    fs::File,
    num::NonZeroU32,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use befit_counters::Event;
use befit_machine::Level;
use befit_record::Build;
use befit_sched::{OptionChoices, SchedulerKind};
use serde::{Serialize, Serializer};

pub use interrupt::Interrupt;
pub use limit::check_threads;
pub use stats::{
    ClusterFigures, NativeTrace, PoolTrace, WorkerFigures, WorkerSummary, WorkerTrace,
};
#[doc(hidden)]
pub use summary::summary_of;
pub use summary::{
    AutoSummary, ClusterSummary, CountsSummary, Measured, NativeSummary, TiersSummary,
};

use crate::{KernelSource, LabError, Progress, Source, recording};

/// A program to run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NativeSource {
    /// A kernel of befit's own.
    Kernel(KernelSource),
    /// Any program that uses befit, as it is.
    Command {
        /// The file to start.
        program: OsString,
        /// Its arguments.
        arguments: Vec<OsString>,
    },
}

/// How to run it. A setting that is `None` is left to the program and to the environment as it is.
#[derive(Clone, PartialEq, Debug)]
pub struct NativePlan {
    /// The policies, in this order in each round; the first is the baseline of tables.
    pub schedulers: Vec<SchedulerKind>,
    /// How often each runs.
    pub repeats: NonZeroU32,
    /// Threads of a pool.
    pub threads: Option<NonZeroU32>,
    /// The machine to schedule on, as [`befit_machine::Machine::find`] takes it.
    pub machine: Option<String>,
    /// Whether threads are pinned, as `BEFIT_PIN` has it: `auto`, `always` or `never`. It is `auto`
    /// under all schedulers where neither this nor the environment says anything.
    pub pin: Option<String>,
    /// The options that are set on the policies.
    pub options: OptionChoices,
    /// The program's output goes to stderr, instead of nowhere.
    pub show_output: bool,
    /// After the others one run of each is traced.
    pub trace: bool,
}

/// The results of all runs; serialised, the document `befit.run/2` (docs/json.md) without its
/// version.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct NativeResults {
    /// One for each scheduler, as asked for.
    #[serde(rename = "results")]
    pub summaries: Vec<NativeSummary>,
    /// How each quantity was counted.
    #[serde(serialize_with = "by_quantity")]
    pub events: Vec<Event>,
    /// A line for each quantity that was not counted, with the reason.
    pub not_counted: Vec<String>,
    /// What a reader of the figures should know: a line each.
    pub notes: Vec<String>,
    /// One run of each scheduler that was traced, and is in none of the figures; none if that was
    /// not asked for.
    #[serde(skip)]
    pub traces: Vec<NativeTrace>,
}

impl NativeResults {
    /// Puts the summaries of all schedulers together: each gets its ratio to the first.
    pub fn new(
        mut summaries: Vec<NativeSummary>,
        events: Vec<Event>,
        not_counted: Vec<String>,
        notes: Vec<String>,
    ) -> Self {
        let first = summaries.first().map_or(0.0, |first| first.time.median.number());
        // JSON has no infinity: nothing is compared with no time.
        for summary in summaries.iter_mut().filter(|_| first > 0.0) {
            summary.ratio = summary.time.median.number() / first;
        }
        Self { summaries, events, not_counted, notes, traces: Vec::new() }
    }
}

impl NativeSource {
    /// Checks as much as can be checked without building or running anything.
    ///
    /// # Errors
    /// Those for which [`LabError::is_usage`] holds: an unknown kernel, a size that it cannot have.
    pub fn check(&self) -> Result<(), LabError> {
        match self {
            Self::Kernel(kernel) => recording::native_kernel(kernel).map(drop),
            Self::Command { .. } => Ok(()),
        }
    }
}

/// A program that is ready to start, and its name.
pub(crate) struct NativeProgram {
    program: PathBuf,
    arguments: Vec<OsString>,
    /// As one would type it.
    name: String,
    measured: Measured,
    /// The file that it reads as standard input.
    stdin: Option<PathBuf>,
}

impl NativeProgram {
    /// Builds the program of `source` without instrumentation. A crate must use befit, or rayon
    /// with befit's rayon-core patched in.
    pub(crate) fn build(source: &Source, progress: &dyn Progress) -> Result<Self, LabError> {
        let (what, (build, arguments)) = match source {
            Source::Kernel(kernel) => {
                ("befit's kernels".to_owned(), recording::native_kernel(kernel)?)
            }
            Source::Crate(own) => {
                let build = Build { plain: true, ..source.crate_build() };
                (build.target.to_string(), (build, own.arguments.clone()))
            }
        };
        progress.building(&what, false);
        let program = recording::build(&build, progress)?;
        let name = match source {
            Source::Kernel(_) => arguments.join(" "),
            Source::Crate(_) => recording::command_line(&program, &arguments),
        };
        let arguments = arguments.into_iter().map(OsString::from).collect();
        let stdin = match source {
            Source::Crate(own) => own.stdin.clone(),
            Source::Kernel(_) => None,
        };
        Ok(Self { program, arguments, name, measured: Measured::Pools, stdin })
    }

    /// As one would type it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl NativePlan {
    /// Runs `source` as planned: builds it first, if it is a kernel. `interrupt` ends it early, and
    /// whatever it has started.
    ///
    /// Takes as long as cargo does, then schedulers × repeats times as long as the program.
    ///
    /// # Errors
    /// As [`NativeSource::check`]; when the program cannot be built or started, or fails, or leaves
    /// no statistics; [`LabError::Interrupted`].
    pub fn run(
        &self,
        source: &NativeSource,
        interrupt: &Interrupt,
        progress: &dyn Progress,
    ) -> Result<NativeResults, LabError> {
        self.threads.map_or(Ok(()), check_threads)?;
        let prepared = self.prepare(source, progress);
        interrupt.check()?;
        let program = prepared?;
        interrupt.runs_begin();
        let folder = tempfile::tempdir().map_err(LabError::no_temporary_file)?;
        child::room(folder.path())?;
        let rounds = self.repeats.get() as usize + usize::from(self.trace);
        progress.running(&program.name, self.schedulers.len() * rounds);
        let mut runs = vec![Vec::new(); self.schedulers.len()];
        let (mut events, mut not_counted) = (Vec::new(), BTreeSet::new());
        for _ in 0..self.repeats.get() {
            for (scheduler, runs) in self.schedulers.iter().zip(&mut runs) {
                let mut command = self.command(&program, *scheduler);
                let child = self.child(&program, *scheduler);
                let run = child.run(&mut command, folder.path(), interrupt, progress)?;
                events.clone_from(&run.events);
                not_counted.extend(run.not_counted.iter().cloned());
                runs.push(run);
                progress.advance(1);
            }
        }
        let traces = match self.trace {
            true => self.traces(&program, folder.path(), interrupt, progress)?,
            false => Vec::new(),
        };
        progress.finished();
        let mut notes = notes(&self.schedulers, &runs);
        notes.extend(traces.iter().filter_map(NativeTrace::note));
        let summaries = self.schedulers.iter().zip(runs);
        let summaries = summaries.filter_map(|(scheduler, runs)| {
            NativeSummary::of(&program.name, *scheduler, program.measured, &runs)
        });
        let not_counted = not_counted.into_iter().collect();
        let results = NativeResults::new(summaries.collect(), events, not_counted, notes);
        Ok(NativeResults { traces, ..results })
    }

    /// Runs the program once more under each scheduler, traced.
    fn traces(
        &self,
        program: &NativeProgram,
        folder: &Path,
        interrupt: &Interrupt,
        progress: &dyn Progress,
    ) -> Result<Vec<NativeTrace>, LabError> {
        let trace = |scheduler: &SchedulerKind| {
            let mut command = self.command(program, *scheduler);
            command.env("BEFIT_TIMES", "trace");
            let child = self.child(program, *scheduler);
            let run = child.run(&mut command, folder, interrupt, progress)?;
            progress.advance(1);
            let machine = run.pools.first().map_or_else(String::new, |pool| pool.machine.clone());
            let pools = run.pools.into_iter().filter_map(|pool| pool.trace).collect();
            Ok(NativeTrace { scheduler: *scheduler, machine, pools })
        };
        self.schedulers.iter().map(trace).collect()
    }

    fn child<'a>(&self, program: &'a NativeProgram, scheduler: SchedulerKind) -> child::Child<'a> {
        let (name, show) = (&*program.name, self.show_output);
        child::Child { name, scheduler: scheduler.name(), show }
    }

    fn prepare(
        &self,
        source: &NativeSource,
        progress: &dyn Progress,
    ) -> Result<NativeProgram, LabError> {
        match source {
            NativeSource::Kernel(kernel) => {
                NativeProgram::build(&Source::Kernel(kernel.clone()), progress)
            }
            NativeSource::Command { program, arguments } => {
                let words =
                    std::iter::once(program).chain(arguments).map(|word| word.to_string_lossy());
                let name = words.collect::<Vec<_>>().join(" ");
                let (program, arguments) = (PathBuf::from(program), arguments.clone());
                let measured = Measured::Process;
                Ok(NativeProgram { program, arguments, name, measured, stdin: None })
            }
        }
    }

    fn command(&self, program: &NativeProgram, scheduler: SchedulerKind) -> Command {
        let mut command = Command::new(&program.program);
        // That the file can be read was checked.
        let stdin = program.stdin.as_ref().and_then(|file| File::open(file).ok());
        command.stdin(stdin.map_or_else(Stdio::null, Stdio::from));
        command.args(&program.arguments).env("BEFIT_SCHEDULER", scheduler.name());
        let mut set = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                command.env(name, value);
            }
        };
        set("BEFIT_THREADS", self.threads.map(|threads| threads.to_string()));
        set("BEFIT_MACHINE", self.machine.clone());
        // Whatever the user's environment has pools measure: the summary needs where time goes, and
        // a trace only where there is to be one.
        set("BEFIT_TIMES", Some("phases".to_owned()));
        // Under all schedulers alike, whatever a pool would choose for each.
        let usual = || env::var_os("BEFIT_PIN").is_none().then(|| "auto".to_owned());
        set("BEFIT_PIN", self.pin.clone().or_else(usual));
        command.envs(self.options.chosen().map(|(option, value)| (option.variable, value)));
        command
    }
}

/// Serialises how each quantity was counted.
fn by_quantity<S: Serializer>(events: &[Event], to: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Row {
        quantity: String,
        event: &'static str,
        level: Option<Level>,
    }
    to.collect_seq(events.iter().map(|event| Row {
        quantity: event.quantity.to_string(),
        event: event.name,
        level: event.level,
    }))
}

impl NativeTrace {
    /// What a reader of the trace should know.
    fn note(&self) -> Option<String> {
        let scheduler = self.scheduler;
        if self.pools.is_empty() {
            return Some(format!(
                "under {scheduler} no pool measures time: it is not in the trace"
            ));
        }
        let workers = self.pools.iter().flat_map(|pool| &pool.workers);
        let full: Vec<_> = workers.filter(|worker| worker.left_out > 0).collect();
        let left_out: u64 = full.iter().map(|worker| worker.left_out).sum();
        let kept = full.iter().map(|worker| worker.phases.len() + worker.steals.len()).max()?;
        Some(format!(
            "the trace of {scheduler} lacks the last {left_out} changes of phase and steals: it \
             keeps {kept} of each worker"
        ))
    }
}

/// Remarks for the user on how the program was run.
fn notes(schedulers: &[SchedulerKind], runs: &[Vec<child::NativeRun>]) -> Vec<String> {
    let mut notes = BTreeSet::new();
    for (asked, runs) in schedulers.iter().zip(runs) {
        for pool in runs.iter().flat_map(|run| &run.pools) {
            if pool.scheduler != asked.name() {
                notes.insert(format!(
                    "the program builds a pool of its own choice under {}: \
                     there --sched has no effect",
                    pool.scheduler
                ));
            }
            if pool.span_seconds.is_none() {
                notes.insert(
                    "the program has a pool measure no time (timed(false)); it is missing below"
                        .to_owned(),
                );
            }
        }
        if runs.iter().any(|run| run.pools_left_out > 0) {
            notes.insert(
                "the program builds very many pools; only the first thousand are counted"
                    .to_owned(),
            );
        }
    }
    notes.into_iter().collect()
}
