//! One run, in a process of its own.

use std::time::Duration;

use crate::{error::Error, program::Program, runtime::RuntimeKind};

/// What to run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    /// The program.
    pub(crate) program: Program,
    /// The size of its input.
    pub(crate) n: usize,
    /// How many threads the runtime has.
    pub(crate) threads: usize,
}

/// Runs a job on a runtime; the seconds that it took.
///
/// # Errors
/// As [`RuntimeKind::run`].
pub(crate) fn run(job: Job, runtime: RuntimeKind) -> Result<f64, Error> {
    runtime.run(job.program, job.n, job.threads).map(|d: Duration| d.as_secs_f64())
}
