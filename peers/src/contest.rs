//! Runs the runtimes in turn, A B C A B C …, each time in a process of its own, and gathers the
//! times.
//!
//! A process of its own, because pools that idle are not silent (some spin, some have threads that
//! wake by the clock), because memory lies elsewhere each time, which no runtime then profits or
//! suffers from throughout, and because those in C++ are processes anyway.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
};

use crate::{cpp, error::Error, once::Job, runtime::RuntimeKind};

/// What came of one runtime.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Entry {
    /// Its name.
    pub(crate) runtime: RuntimeKind,
    /// Its times, or why there are none.
    pub(crate) outcome: Result<Spread, String>,
}

/// What came of all runtimes.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Results {
    /// The program's name.
    pub(crate) program: &'static str,
    /// The size of its input.
    pub(crate) n: usize,
    /// The threads of each runtime.
    pub(crate) threads: usize,
    /// How often each ran.
    pub(crate) repeats: usize,
    /// In the order asked for.
    pub(crate) entries: Vec<Entry>,
}

/// Seconds of several runs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Spread {
    /// The shortest.
    pub(crate) min: f64,
    /// The one in the middle; of an even number the lower of the two.
    pub(crate) median: f64,
    /// The longest.
    pub(crate) max: f64,
}

impl Spread {
    /// `None` of no times. Time O(n log n).
    fn of(mut seconds: Vec<f64>) -> Option<Self> {
        seconds.sort_by(f64::total_cmp);
        let (&min, &max) = (seconds.first()?, seconds.last()?);
        Some(Self { min, median: seconds[(seconds.len() - 1) / 2], max })
    }
}

/// Runs `job` on each of `runtimes` `repeats` times.
///
/// # Errors
/// The first of [`Error::Start`], [`Error::Child`] and [`Error::Arguments`]. A runtime that cannot
/// be built is no error but an entry that says so.
pub(crate) fn hold(job: Job, runtimes: &[RuntimeKind], repeats: usize) -> Result<Results, Error> {
    let own = std::env::current_exe()
        .map_err(|source| Error::Start { what: "this program".to_owned(), source })?;
    let ready: Vec<Result<PathBuf, String>> = cpp::prepare(runtimes, &own);
    let mut seconds = vec![Vec::new(); runtimes.len()];
    for _ in 0..repeats {
        for ((runtime, program), seconds) in runtimes.iter().zip(&ready).zip(&mut seconds) {
            if let Ok(program) = program {
                seconds.push(run(command(program, *runtime, job), *runtime)?);
            }
        }
    }
    let outcome = |ready: Result<PathBuf, String>, seconds| {
        ready.and_then(|_| Spread::of(seconds).ok_or_else(|| "it was not run".to_owned()))
    };
    let entries = runtimes.iter().zip(ready).zip(seconds);
    let entries = entries.map(|((runtime, ready), seconds)| Entry {
        runtime: *runtime,
        outcome: outcome(ready, seconds),
    });
    let Job { program, n, threads } = job;
    Ok(Results { program: program.name(), n, threads, repeats, entries: entries.collect() })
}

/// The process that runs `job` on `runtime`.
fn command(program: &PathBuf, runtime: RuntimeKind, job: Job) -> Command {
    let mut command = Command::new(program);
    let (n, threads) = (job.n.to_string(), job.threads.to_string());
    match runtime {
        RuntimeKind::Cpp(_) => {
            let warm_up = job.program.warm_up_n().to_string();
            command.args([job.program.name(), &n, &threads, &warm_up])
        }
        _ => command.args([
            job.program.name(),
            "--n",
            &n,
            "--threads",
            &threads,
            "--once",
            &runtime.to_string(),
        ]),
    };
    command
}

/// Runs it; the seconds that it prints.
fn run(mut command: Command, runtime: RuntimeKind) -> Result<f64, Error> {
    let runtime = runtime.to_string();
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|source| Error::Start { what: runtime.clone(), source })?;
    let printed = String::from_utf8_lossy(&output.stdout);
    match printed.trim().parse() {
        Ok(seconds) if output.status.success() => Ok(seconds),
        _ => {
            let said = String::from_utf8_lossy(&output.stderr);
            let message = said.lines().next().unwrap_or("it said nothing");
            let message = message.strip_prefix("peers: ").unwrap_or(message).to_owned();
            // The program cannot be run so on any runtime.
            if output.status.code() == Some(2) {
                return Err(Error::Arguments(message));
            }
            Err(Error::Child { runtime, status: output.status, message })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_a_time_that_a_run_had() {
        let spread = |times: &[f64]| Spread::of(times.to_vec());
        assert_eq!(spread(&[3.0, 1.0, 2.0]), Some(Spread { min: 1.0, median: 2.0, max: 3.0 }));
        assert_eq!(spread(&[4.0, 1.0, 2.0, 3.0]), Some(Spread { min: 1.0, median: 2.0, max: 4.0 }));
        assert_eq!(spread(&[]), None);
    }
}
