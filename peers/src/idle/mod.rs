//! What idle pools cost: processor time and latency of calls with gaps, in bursts and without
//! gaps, as threads become more.
//!
//! As in [`contest`](crate::contest), each run is a process of its own, and the runtimes take
//! turns.

mod report;
mod workload;

use std::{path::Path, process::Command};

use serde::Serialize;

pub(crate) use self::{
    report::render,
    workload::{Sample, Workload},
};
use crate::{
    Error,
    contest::{Spread, own_program, run_process},
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

/// Runs all of `plan`, interleaved.
///
/// # Errors
/// The first [`Error::Failed`].
pub(crate) fn hold(plan: &Plan) -> Result<Vec<IdleRow>, Error> {
    let own = own_program()?;
    let mut rows = Vec::new();
    for (&workload, &threads) in
        plan.workloads.iter().flat_map(|w| plan.threads.iter().map(move |t| (w, t)))
    {
        let mut samples = vec![(Vec::new(), Vec::new()); plan.runtimes.len()];
        for _ in 0..plan.repeats {
            for (runtime, (cpu, wall)) in plan.runtimes.iter().zip(&mut samples) {
                let mut command = Command::new(&own);
                command.args(once_arguments(workload, *runtime, threads, workload.calls()));
                let [of_cpu, of_wall] = run_process(command, &runtime.to_string(), numbers)?;
                cpu.push(of_cpu);
                wall.push(of_wall);
            }
        }
        for (runtime, (cpu, wall)) in plan.runtimes.iter().zip(samples) {
            let spread = |seconds| Spread::of(seconds).expect("it was run");
            let count = || instructions(&own, workload, *runtime, threads);
            rows.push(IdleRow {
                workload: workload.name(),
                runtime: runtime.to_string(),
                threads,
                calls: workload.calls(),
                repeats: plan.repeats,
                cpu_seconds: spread(cpu),
                seconds: spread(wall),
                instructions: plan.count_instructions.then(count).transpose()?,
            });
        }
    }
    Ok(rows)
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
) -> Result<u64, Error> {
    let mut counted = COUNTED.iter().map(|calls| {
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--log-fd=1"]);
        command.arg(own).args(once_arguments(workload, runtime, threads, *calls));
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
