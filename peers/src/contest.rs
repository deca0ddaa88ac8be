//! Runs the runtimes in turn, each time in a process of its own, and gathers the times.
//!
//! A runtime may leave the machine in another state than it found it: a clock that has gone up, a
//! full cache of files. So the order changes from round to round ([`order`]).
//!
//! There are three reasons for a process per run. Pools that idle are not silent: some spin, some
//! have threads that wake by the clock. Memory lies elsewhere each time, so no runtime profits or
//! suffers from its place throughout. And the runtimes in C++ are processes anyway.

use std::{
    env,
    ffi::{OsStr, OsString},
    io,
    path::PathBuf,
    process::{Command, Stdio},
};

use clap::ValueEnum;
use serde::Serialize;

use crate::{Error, cpp, program::Program, runtime::RuntimeKind};

/// A program to time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimedRun {
    pub(crate) program: Program,
    pub(crate) n: usize,
    /// Threads of the runtime.
    pub(crate) threads: usize,
    /// Whether befit pins them, if its scheduler does not decide.
    pub(crate) pin: Option<Pin>,
}

/// Whether befit pins its threads, as [`befit::Pin`] and `BEFIT_PIN` have it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Pin {
    /// as the other runtimes
    Never,
    /// under each scheduler, if the pool has a thread for each CPU of the process
    Auto,
}

impl Pin {
    /// As users type it, and as befit reads it.
    fn name(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Auto => "auto",
        }
    }
}

/// What holds for all figures of a document.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Conditions {
    /// False of a build like cargo's `dev`, in which each crate is optimised differently.
    pub(crate) optimised: bool,
    pub(crate) pin: Option<Pin>,
}

impl Conditions {
    /// Those of this build.
    pub(crate) fn of_this_build(pin: Option<Pin>) -> Self {
        Self { optimised: !cfg!(debug_assertions), pin }
    }

    /// The end of a table's title.
    pub(crate) fn note(self) -> String {
        let pin = self.pin.map(|pin| format!("; befit's threads pinned: {}", pin.name()));
        let meaningless = "; not optimised: times mean nothing";
        pin.unwrap_or_default() + if self.optimised { "" } else { meaningless }
    }
}

/// The outcome of one runtime.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Entry {
    pub(crate) runtime: RuntimeKind,
    /// Its times, or why there are none.
    pub(crate) outcome: Result<Spread, NoTimes>,
}

/// Why a runtime has no times.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum NoTimes {
    /// It is not here.
    NotBuilt(String),
    /// A run of it failed.
    Failed(String),
}

/// The outcome of all runtimes.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Results {
    pub(crate) program: String,
    pub(crate) n: usize,
    pub(crate) threads: usize,
    pub(crate) repeats: usize,
    pub(crate) conditions: Conditions,
    /// In the order asked for.
    pub(crate) entries: Vec<Entry>,
}

impl Results {
    /// What failed, if anything did, on one line.
    pub(crate) fn failure(&self) -> Option<Error> {
        let reason = |entry| match entry {
            &Entry { outcome: Err(NoTimes::Failed(ref reason)), .. } => Some(reason.as_str()),
            _ => None,
        };
        failure(self.entries.iter().filter_map(reason))
    }
}

/// One line of the reasons why something failed, if there are any: the first of them.
pub(crate) fn failure<'r>(mut reasons: impl Iterator<Item = &'r str>) -> Option<Error> {
    let first = reasons.next()?;
    Some(Error::Failed(match reasons.count() {
        0 => first.to_owned(),
        others => format!("{first}; {others} more failed"),
    }))
}

/// The order of `count` runtimes in a round, as indices. It is rotated and reversed from round to
/// round, A B C, C B A, B C A, A C B …: none always runs after the same one.
pub(crate) fn order(count: usize, round: usize) -> Vec<usize> {
    let mut order: Vec<_> = (0..count).collect();
    order.rotate_left(round / 2 % count.max(1));
    if round % 2 == 1 {
        order.reverse();
    }
    order
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
/// [`Error::Size`]; the first [`Error::Arguments`]. A runtime that cannot be built or that fails is
/// no error but an entry that says so.
pub(crate) fn hold(
    timed: TimedRun,
    runtimes: &[RuntimeKind],
    repeats: usize,
) -> Result<Results, Error> {
    timed.program.check(timed.n)?;
    let own = own_program()?;
    let mut runs: Vec<_> = cpp::prepare(runtimes, &own)
        .into_iter()
        .map(|ready| ready.map(|program| (program, Vec::new())).map_err(NoTimes::NotBuilt))
        .collect();
    for round in 0..repeats {
        for at in order(runtimes.len(), round) {
            let Ok((program, seconds)) = &mut runs[at] else { continue };
            let command = command(program, runtimes[at], timed);
            let number = |printed: &str| printed.trim().parse().ok();
            match its_own(run_process(command, &runtimes[at].to_string(), number))? {
                Ok(time) => seconds.push(time),
                Err(reason) => runs[at] = Err(NoTimes::Failed(reason)),
            }
        }
    }
    let entries = runtimes.iter().zip(runs).map(|(runtime, runs)| {
        let not_run = || NoTimes::Failed("it was not run".to_owned());
        let spread = |seconds| Spread::of(seconds).ok_or_else(not_run);
        Entry { runtime: *runtime, outcome: runs.and_then(|(_, seconds)| spread(seconds)) }
    });
    let TimedRun { program, n, threads, pin } = timed;
    let (program, conditions) = (program.name(), Conditions::of_this_build(pin));
    Ok(Results { program, n, threads, repeats, conditions, entries: entries.collect() })
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
    set_pin(&mut command, runtime, timed.pin);
    command
}

/// Has befit pin its threads, if `command` runs it, as `pin` says.
pub(crate) fn set_pin(command: &mut Command, runtime: RuntimeKind, pin: Option<Pin>) {
    if let (RuntimeKind::Befit(_), Some(pin)) = (runtime, pin) {
        command.env("BEFIT_PIN", pin.name());
    }
}

/// The path of this program.
///
/// # Errors
/// [`Error::Failed`].
pub(crate) fn own_program() -> Result<PathBuf, Error> {
    std::env::current_exe().map_err(|e| not_started("this program", &e))
}

/// Tells a failure of the one runtime that was run, which leaves the others' times as they are,
/// from an error of the command line.
pub(crate) fn its_own<T>(run: Result<T, Error>) -> Result<Result<T, String>, Error> {
    match run {
        Ok(read) => Ok(Ok(read)),
        Err(Error::Failed(reason)) => Ok(Err(reason)),
        Err(error) => Err(error),
    }
}

/// How the names of variables begin that change what a runtime does. A run has none that the
/// caller happens to have: every runtime has its defaults.
const SETTINGS: [&str; 5] = ["OMP_", "KMP_", "GOMP_", "RAYON_", "BEFIT_"];

/// Takes from a process those of the caller's variables, of these `names`, that are [`SETTINGS`],
/// but for those that `command` sets itself.
fn without_settings(command: &mut Command, names: impl Iterator<Item = OsString>) {
    let is_setting = |name: &OsStr| {
        let name = name.as_encoded_bytes();
        SETTINGS.iter().any(|begin| name.starts_with(begin.as_bytes()))
    };
    let own: Vec<OsString> = command.get_envs().map(|(name, _)| name.to_owned()).collect();
    for name in names.filter(|name| is_setting(name) && !own.contains(name)) {
        command.env_remove(name);
    }
}

/// Runs `command`, which runs `what`, without the caller's settings of runtimes, and returns what
/// it prints, as `read` reads it.
///
/// # Errors
/// [`Error::Failed`]; [`Error::Arguments`] if the program cannot be run so on any runtime.
pub(crate) fn run_process<T>(
    mut command: Command,
    what: &str,
    read: impl FnOnce(&str) -> Option<T>,
) -> Result<T, Error> {
    without_settings(&mut command, env::vars_os().map(|(name, _)| name));
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
    fn no_runtime_always_runs_after_the_same_one() {
        for count in 2..7 {
            let rounds: Vec<Vec<usize>> = (0..4).map(|round| order(count, round)).collect();
            for round in &rounds {
                let mut sorted = round.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, Vec::from_iter(0..count));
            }
            let all = rounds.concat();
            for runtime in 0..count {
                let mut before: Vec<_> =
                    all.windows(2).filter(|pair| pair[1] == runtime).map(|pair| pair[0]).collect();
                before.sort_unstable();
                before.dedup();
                assert!(before.len() > 1, "{runtime} of {count} after {before:?}");
            }
        }
        assert_eq!(order(0, 3), Vec::<usize>::new());
    }

    #[test]
    fn regression_no_run_has_the_caller_s_settings_of_a_runtime() {
        let mut command = Command::new("peers");
        command.env("OMP_NUM_THREADS", "2");
        let caller =
            ["PATH", "OMP_NUM_THREADS", "OMP_PROC_BIND", "KMP_BLOCKTIME", "GOMP_SPINCOUNT"]
                .into_iter()
                .chain(["RAYON_NUM_THREADS", "BEFIT_SCHEDULER", "MY_OMP_X", "BEFITTING"]);
        without_settings(&mut command, caller.map(OsString::from));
        let removed = command.get_envs().filter(|(_, value)| value.is_none());
        let removed: Vec<_> = removed.map(|(name, _)| name.to_owned()).collect();
        let expected = ["BEFIT_SCHEDULER", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "OMP_PROC_BIND"];
        assert_eq!(removed[..4], expected);
        assert_eq!(removed[4..], ["RAYON_NUM_THREADS"]);
        let kept = (OsStr::new("OMP_NUM_THREADS"), Some(OsStr::new("2")));
        assert!(command.get_envs().any(|set| set == kept));
    }

    #[test]
    fn only_befit_s_runs_are_pinned_by_choice() {
        let of = |runtime: &str, pin| {
            let run = TimedRun { program: Program::Fib, n: 1, threads: 1, pin };
            let mut command = command(&"peers".into(), runtime.parse().unwrap(), run);
            without_settings(&mut command, [OsString::from("BEFIT_PIN")].into_iter());
            let pin = command.get_envs().find(|(name, _)| *name == "BEFIT_PIN");
            pin.and_then(|(_, value)| value).map(OsStr::to_owned)
        };
        assert_eq!(of("befit-sb", Some(Pin::Never)), Some("never".into()));
        assert_eq!(of("befit-ws", Some(Pin::Auto)), Some("auto".into()));
        for (runtime, pin) in [("befit-sb", None), ("rayon", Some(Pin::Auto))] {
            assert_eq!(of(runtime, pin), None);
        }
    }

    #[test]
    fn the_median_is_a_time_that_a_run_had() {
        let spread = |times: &[f64]| Spread::of(times.to_vec());
        assert_eq!(spread(&[3.0, 1.0, 2.0]), Some(Spread { min: 1.0, median: 2.0, max: 3.0 }));
        assert_eq!(spread(&[4.0, 1.0, 2.0, 3.0]), Some(Spread { min: 1.0, median: 2.0, max: 4.0 }));
        assert_eq!(spread(&[]), None);
    }
}
