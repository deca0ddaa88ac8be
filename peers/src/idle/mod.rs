//! What idle pools cost: processor time and latency of calls with gaps, in bursts and without
//! gaps, as threads become more.
//!
//! As in [`crate::contest`], each run is a process of its own, and the runtimes take turns, in an
//! order that changes.

mod report;
mod workload;

use std::{
    path::Path,
    process::{Command, Stdio},
};

use serde::Serialize;

pub(crate) use self::{
    report::render,
    workload::{Sample, Workload},
};
use crate::{
    Error,
    contest::{self, Conditions, Pin, Spread, its_own, order, own_program, run_process, set_pin},
    runtime::RuntimeKind,
};

/// What is to be run.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Plan {
    pub(crate) workloads: Vec<Workload>,
    pub(crate) runtimes: Vec<RuntimeKind>,
    pub(crate) threads: Vec<usize>,
    pub(crate) repeats: usize,
    /// By valgrind, which takes long.
    pub(crate) count_instructions: bool,
    /// Whether befit pins its threads, if its scheduler does not decide.
    pub(crate) pin: Option<Pin>,
}

impl Plan {
    /// # Errors
    /// [`Error::Arguments`] for what cannot be run at all, however long it takes to come to it.
    fn check(&self) -> Result<(), Error> {
        let pools = RuntimeKind::with_pools();
        if let Some(other) = self.runtimes.iter().find(|runtime| !pools.contains(runtime)) {
            return Err(other.has_no_pool());
        }
        let runs = || {
            let mut valgrind = Command::new("valgrind");
            valgrind
                .arg("--version")
                .stdin(Stdio::null())
                .output()
                .is_ok_and(|o| o.status.success())
        };
        if self.count_instructions && !runs() {
            return Err(Error::Arguments(
                "--instructions needs valgrind, which does not run".into(),
            ));
        }
        Ok(())
    }
}

/// One workload on one runtime with so many threads.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct IdleRow {
    pub(crate) workload: String,
    pub(crate) runtime: String,
    pub(crate) threads: usize,
    /// Calls of each run.
    pub(crate) calls: u32,
    pub(crate) repeats: usize,
    /// Of a call.
    pub(crate) cpu_seconds: Spread,
    /// From a call to its return, of `wake` to its begin; each run's is the median of its calls.
    pub(crate) seconds: Spread,
    /// Of a call, if they were counted.
    pub(crate) instructions: Option<u64>,
}

/// One workload on one runtime with so many threads, of which a run failed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct IdleFailure {
    pub(crate) workload: String,
    pub(crate) runtime: String,
    pub(crate) threads: usize,
    pub(crate) reason: String,
}

/// What a plan came to.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Measured {
    pub(crate) conditions: Conditions,
    pub(crate) rows: Vec<IdleRow>,
    pub(crate) failed: Vec<IdleFailure>,
}

impl Measured {
    /// What failed, if anything did, on one line.
    pub(crate) fn failure(&self) -> Option<Error> {
        contest::failure(self.failed.iter().map(|failure| failure.reason.as_str()))
    }
}

/// Runs all of `plan`, interleaved.
///
/// # Errors
/// As [`Plan::check`]; the first [`Error::Arguments`] of a run.
pub(crate) fn hold(plan: &Plan) -> Result<Measured, Error> {
    plan.check()?;
    let own = own_program()?;
    let conditions = Conditions::of_this_build(plan.pin);
    let mut measured = Measured { conditions, rows: Vec::new(), failed: Vec::new() };
    let mut rounds = 0..;
    for (&workload, &threads) in
        plan.workloads.iter().flat_map(|w| plan.threads.iter().map(move |t| (w, t)))
    {
        let mut samples = vec![Ok((Vec::new(), Vec::new())); plan.runtimes.len()];
        for round in rounds.by_ref().take(plan.repeats) {
            for at in order(plan.runtimes.len(), round) {
                let Ok((cpu, wall)) = &mut samples[at] else { continue };
                let runtime = plan.runtimes[at];
                let mut command = Command::new(&own);
                command.args(once_arguments(workload, runtime, threads, workload.calls()));
                set_pin(&mut command, runtime, plan.pin);
                match its_own(run_process(command, &runtime.to_string(), numbers))? {
                    Ok([of_cpu, of_wall]) => {
                        cpu.push(of_cpu);
                        wall.push(of_wall);
                    }
                    Err(reason) => samples[at] = Err(reason),
                }
            }
        }
        for (&runtime, samples) in plan.runtimes.iter().zip(samples) {
            let mut fails = |reason| {
                let (workload, runtime) = (workload.name(), runtime.to_string());
                measured.failed.push(IdleFailure { workload, runtime, threads, reason });
            };
            let (cpu, wall) = match samples {
                Ok(samples) => samples,
                Err(reason) => {
                    fails(reason);
                    continue;
                }
            };
            let count = || its_own(instructions(&own, workload, runtime, threads, plan.pin));
            let counted = plan.count_instructions.then(count).transpose()?.transpose();
            let spread = |seconds| Spread::of(seconds).expect("it was run");
            measured.rows.push(IdleRow {
                workload: workload.name(),
                runtime: runtime.to_string(),
                threads,
                calls: workload.calls(),
                repeats: plan.repeats,
                cpu_seconds: spread(cpu),
                seconds: spread(wall),
                instructions: counted.unwrap_or_else(|reason| {
                    fails(reason);
                    None
                }),
            });
        }
    }
    Ok(measured)
}

/// The arguments of a process that makes `calls` calls.
fn once_arguments(
    workload: Workload,
    runtime: RuntimeKind,
    threads: usize,
    calls: u32,
) -> [String; 9] {
    let [idle, once, workloads, of, number] =
        ["idle", "--once", "--workloads", "--threads", "--calls"].map(str::to_owned);
    let (runtime, workload) = (runtime.to_string(), workload.name());
    [idle, once, runtime, workloads, workload, of, threads.to_string(), number, calls.to_string()]
}

/// The two numbers that such a process prints.
fn numbers(printed: &str) -> Option<[f64; 2]> {
    let numbers: Option<Vec<_>> = printed.split_whitespace().map(|n| n.parse().ok()).collect();
    numbers?.try_into().ok()
}

/// Calls whose instructions are counted, and calls before them that make the threads start.
const COUNTED: [u32; 2] = [10, 50];

/// The instructions of a call, counted by valgrind, which runs one thread at a time: the difference
/// of two processes, of few and of more calls.
fn instructions(
    own: &Path,
    workload: Workload,
    runtime: RuntimeKind,
    threads: usize,
    pin: Option<Pin>,
) -> Result<u64, Error> {
    let mut counted = COUNTED.iter().map(|calls| {
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--log-fd=1"]);
        command.arg(own).args(once_arguments(workload, runtime, threads, *calls));
        set_pin(&mut command, runtime, pin);
        run_process(command, "valgrind", |printed| {
            let line = printed.lines().find_map(|line| line.split_once("Collected :"))?;
            line.1.trim().parse::<u64>().ok()
        })
    });
    let mut next = || counted.next().expect("two runs");
    let (few, more) = (next()?, next()?);
    Ok(more.saturating_sub(few) / u64::from(COUNTED[1] - COUNTED[0]))
}

/// Runs it in this process; returns seconds of the processor and of the clock per call.
///
/// # Errors
/// As [`RuntimeKind::idle`].
pub(crate) fn once(
    workload: Workload,
    runtime: RuntimeKind,
    threads: usize,
    calls: Option<u32>,
) -> Result<String, Error> {
    let sample = runtime.idle(workload, threads, calls.unwrap_or(workload.calls()))?;
    Ok(format!("{} {}\n", sample.cpu.as_secs_f64(), sample.wall.as_secs_f64()))
}
