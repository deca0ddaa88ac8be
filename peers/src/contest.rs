//! Runs the runtimes in turn, A B C A B C …, each time in a process of its own, and gathers the
//! times.
//!
//! There are three reasons for a process per run. Pools that idle are not silent: some spin, some
//! have threads that wake by the clock. Memory lies elsewhere each time, so no runtime profits or
//! suffers from its place throughout. And the runtimes in C++ are processes anyway.

use std::{
    io,
    path::PathBuf,
    process::{Command, Stdio},
};

use serde::Serialize;

use crate::{Error, cpp, program::Program, runtime::RuntimeKind};

/// A program to time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimedRun {
    pub(crate) program: Program,
    pub(crate) n: usize,
    /// Threads of the runtime.
    pub(crate) threads: usize,
}

/// The outcome of one runtime.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Entry {
    pub(crate) runtime: RuntimeKind,
    /// Its times, or why there are none.
    pub(crate) outcome: Result<Spread, String>,
}

/// The outcome of all runtimes.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Results {
    pub(crate) program: String,
    pub(crate) n: usize,
    pub(crate) threads: usize,
    pub(crate) repeats: usize,
    /// In the order asked for.
    pub(crate) entries: Vec<Entry>,
}

/// Seconds of several runs; the median of an even number is the lower of the two in the middle.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub(crate) struct Spread {
    pub(crate) min: f64,
    pub(crate) median: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// `None` of no times. Time O(n log n).
    pub(crate) fn of(mut seconds: Vec<f64>) -> Option<Self> {
        seconds.sort_by(f64::total_cmp);
        let (&min, &max) = (seconds.first()?, seconds.last()?);
        Some(Self { min, median: seconds[(seconds.len() - 1) / 2], max })
    }
}

/// Runs `timed` on each of `runtimes` `repeats` times.
///
/// # Errors
/// [`Error::Size`]; the first [`Error::Failed`] or [`Error::Arguments`]. A runtime that cannot be
/// built is no error but an entry that says so.
pub(crate) fn hold(
    timed: TimedRun,
    runtimes: &[RuntimeKind],
    repeats: usize,
) -> Result<Results, Error> {
    timed.program.check(timed.n)?;
    let own = own_program()?;
    let ready: Vec<Result<PathBuf, String>> = cpp::prepare(runtimes, &own);
    let mut seconds = vec![Vec::new(); runtimes.len()];
    for _ in 0..repeats {
        for ((runtime, program), seconds) in runtimes.iter().zip(&ready).zip(&mut seconds) {
            if let Ok(program) = program {
                let command = command(program, *runtime, timed);
                let number = |printed: &str| printed.trim().parse().ok();
                seconds.push(run_process(command, &runtime.to_string(), number)?);
            }
        }
    }
    let entries = runtimes.iter().zip(ready).zip(seconds).map(|((runtime, ready), seconds)| {
        let spread = || Spread::of(seconds).ok_or_else(|| "it was not run".to_owned());
        Entry { runtime: *runtime, outcome: ready.and_then(|_| spread()) }
    });
    let TimedRun { program, n, threads } = timed;
    Ok(Results { program: program.name(), n, threads, repeats, entries: entries.collect() })
}

/// The process that runs `timed` on `runtime`.
fn command(program: &PathBuf, runtime: RuntimeKind, timed: TimedRun) -> Command {
    let mut command = Command::new(program);
    let (name, n, threads) = (timed.program.name(), timed.n.to_string(), timed.threads.to_string());
    let (warm_up, once) = (timed.program.warm_up_n().to_string(), runtime.to_string());
    match runtime {
        RuntimeKind::Cpp(_) => command.args([&name, &n, &threads, &warm_up]),
        _ => command.args([&name, "--n", &n, "--threads", &threads, "--once", &once]),
    };
    command
}

/// The path of this program.
///
/// # Errors
/// [`Error::Failed`].
pub(crate) fn own_program() -> Result<PathBuf, Error> {
    std::env::current_exe().map_err(|e| not_started("this program", &e))
}

/// Runs `command`, which runs `what`, and returns what it prints, as `read` reads it.
///
/// # Errors
/// [`Error::Failed`]; [`Error::Arguments`] if the program cannot be run so on any runtime.
pub(crate) fn run_process<T>(
    mut command: Command,
    what: &str,
    read: impl FnOnce(&str) -> Option<T>,
) -> Result<T, Error> {
    let output = command.stdin(Stdio::null()).output().map_err(|e| not_started(what, &e))?;
    let printed = String::from_utf8_lossy(&output.stdout);
    match read(&printed) {
        Some(read) if output.status.success() => Ok(read),
        _ => {
            let said = String::from_utf8_lossy(&output.stderr);
            let message = said.lines().next().unwrap_or("it said nothing");
            let message = message.strip_prefix("peers: ").unwrap_or(message).to_owned();
            if output.status.code() == Some(2) {
                return Err(Error::Arguments(message));
            }
            Err(Error::Failed(format!("{what} failed ({}): {message}", output.status)))
        }
    }
}

fn not_started(what: &str, error: &io::Error) -> Error {
    Error::Failed(format!("cannot start {what}: {error}"))
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
