//! The command line.

use std::{ffi::OsString, num::NonZero, path::PathBuf, slice, thread};

use clap::{Parser, ValueEnum, error::ErrorKind};

use crate::{
    Error,
    contest::{Pin, TimedRun},
    idle::{Plan, Workload},
    program::{self, Program},
    runtime::RuntimeKind,
};

/// The command line's request.
#[derive(Debug)]
pub(crate) enum Command {
    Help(String),
    /// Run a program once, in this process.
    Once {
        run: TimedRun,
        runtime: RuntimeKind,
    },
    /// Time runtimes side by side.
    Compare {
        run: TimedRun,
        runtimes: Vec<RuntimeKind>,
        repeats: usize,
        format: Format,
    },
    /// Run a workload of an idle pool once, in this process.
    IdleOnce {
        workload: Workload,
        runtime: RuntimeKind,
        threads: usize,
        calls: Option<u32>,
    },
    /// Measure idle pools side by side.
    Idle {
        plan: Plan,
        format: Format,
    },
    /// Write a folder that measures another machine.
    Bundle {
        folder: PathBuf,
    },
    /// Print how many threads runtimes have by default.
    Threads,
}

/// The form of the results.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Table,
    /// For scripts: `befit.peers/1`.
    Json,
}

/// Times the same fork-join program on befit and on other runtimes, side by side.
#[derive(Debug, Parser)]
#[command(name = "peers", after_help = after_help())]
struct Arguments {
    /// What to run; see below
    #[arg(value_parser = program::parse, hide_possible_values = true)]
    program: Program,
    /// Size of its input [default: see below]
    #[arg(long)]
    n: Option<usize>,
    /// Threads of each runtime [default: as many as the process may use]
    #[arg(long)]
    threads: Option<NonZero<usize>>,
    /// Runs of each runtime, in turn: A B C, C B A, B C A …
    #[arg(long, default_value = "7")]
    repeats: NonZero<usize>,
    /// Names from the list below, separated by commas [default: those that differ on the program]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    runtimes: Vec<RuntimeKind>,
    /// Whether befit pins its threads [default: as its scheduler minds places]
    #[arg(long, value_enum, value_name = "WHEN")]
    pin: Option<Pin>,
    /// How to print the results
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// Run it once on this runtime, in this process, and print the seconds: for profilers
    #[arg(
        long,
        value_name = "RUNTIME",
        conflicts_with_all = ["runtimes", "repeats", "format", "pin"]
    )]
    once: Option<RuntimeKind>,
}

/// Measures what idle pools cost: processor time and latency of calls with gaps, in bursts and
/// without gaps.
#[derive(Debug, Parser)]
#[command(name = "peers idle", after_help = after_idle_help())]
struct IdleArguments {
    /// Names from the list below, separated by commas [default: all]
    #[arg(
        long,
        value_enum,
        value_name = "LIST",
        value_delimiter = ',',
        hide_possible_values = true
    )]
    workloads: Vec<Workload>,
    /// Numbers of threads, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "2,8,16,64,256")]
    threads: Vec<NonZero<usize>>,
    /// Runs of each runtime, in turn
    #[arg(long, default_value = "3")]
    repeats: NonZero<usize>,
    /// Names from the list below, separated by commas [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    runtimes: Vec<RuntimeKind>,
    /// Count the instructions of a call, by valgrind
    #[arg(long)]
    instructions: bool,
    /// Whether befit pins its threads [default: as its scheduler minds places]
    #[arg(long, value_enum, value_name = "WHEN")]
    pin: Option<Pin>,
    /// How to print the results
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// Run the first workload once on this runtime, in this process, and print the seconds of the
    /// processor and of the clock per call
    #[arg(
        long,
        value_name = "RUNTIME",
        conflicts_with_all = ["runtimes", "repeats", "format", "pin"]
    )]
    once: Option<RuntimeKind>,
    /// Calls, with --once
    #[arg(long, requires = "once", value_parser = clap::value_parser!(u32).range(1..))]
    calls: Option<u32>,
}

/// Writes a folder of static programs that measures a machine without Rust and without a network.
#[derive(Debug, Parser)]
#[command(name = "peers bundle")]
struct BundleArguments {
    /// A folder that is new or empty
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Prints how many threads runtimes have by default: as many as the process may use.
#[derive(Debug, Parser)]
#[command(name = "peers threads")]
struct ThreadsArguments {}

fn after_idle_help() -> String {
    let line = |w: &Workload| format!("  {:<10} {}\n", w.name(), w.about());
    let workloads: String = Workload::value_variants().iter().map(line).collect();
    format!("Workloads:\n{workloads}\nRuntimes: {}", names(&RuntimeKind::with_pools()))
}

fn names(runtimes: &[RuntimeKind]) -> String {
    runtimes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn after_help() -> String {
    let line = |p: &Program| format!("  {:<10} {} [n = {}]\n", p.name(), p.about(), p.default_n());
    let programs: String = Program::value_variants().iter().map(line).collect();
    let others = "  idle       what idle pools cost: see `peers idle --help`\n  \
        bundle     a folder that measures another machine: see `peers bundle --help`\n  \
        threads    how many threads runtimes have by default\n";
    format!(
        "Programs:\n{programs}\nOther measurements:\n{others}\nRuntimes: {}",
        RuntimeKind::names()
    )
}

/// Reads the command line, the program's name included.
///
/// # Errors
/// [`Error::Arguments`].
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, Error> {
    let arguments: Vec<_> = arguments.into_iter().collect();
    match arguments.get(1).and_then(|word| word.to_str()) {
        Some("idle") => return parsed(&arguments[1..], idle),
        Some("bundle") => {
            return parsed(&arguments[1..], |BundleArguments { folder }| Command::Bundle {
                folder,
            });
        }
        Some("threads") => {
            return parsed(&arguments[1..], |ThreadsArguments {}| Command::Threads);
        }
        _ => {}
    }
    let command = parsed(&arguments, |arguments: Arguments| {
        let Arguments { program, n, threads, repeats, runtimes, pin, format, once } = arguments;
        let threads = threads.map_or_else(usable_threads, NonZero::get);
        let run = TimedRun { program, n: n.unwrap_or(program.default_n()), threads, pin };
        match once {
            Some(runtime) => Command::Once { run, runtime },
            None => {
                let usual = || RuntimeKind::usual(program);
                let runtimes = if runtimes.is_empty() { usual() } else { runtimes };
                Command::Compare { run, runtimes, repeats: repeats.get(), format }
            }
        }
    })?;
    let (run, runtimes) = match &command {
        Command::Once { run, runtime } => (run, slice::from_ref(runtime)),
        Command::Compare { run, runtimes, .. } => (run, runtimes.as_slice()),
        _ => return Ok(command),
    };
    runtimes.iter().try_for_each(|runtime| runtime.check(run.program))?;
    Ok(command)
}

/// As many as the process may use, by its CPUs and by its share of them.
pub(crate) fn usable_threads() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

fn parsed<A: Parser>(
    words: &[OsString],
    command: impl FnOnce(A) -> Command,
) -> Result<Command, Error> {
    match A::try_parse_from(words) {
        Ok(arguments) => Ok(command(arguments)),
        Err(e) if e.kind() == ErrorKind::DisplayHelp => Ok(Command::Help(e.render().to_string())),
        Err(e) => Err(Error::Arguments(one_line(&e.render().to_string()))),
    }
}

fn idle(arguments: IdleArguments) -> Command {
    let all = || Workload::value_variants().to_vec();
    let IdleArguments { workloads, runtimes, .. } = arguments;
    let workloads = if workloads.is_empty() { all() } else { workloads };
    let threads: Vec<_> = arguments.threads.into_iter().map(NonZero::get).collect();
    if let Some(runtime) = arguments.once {
        let (workload, threads) = (workloads[0], threads[0]);
        return Command::IdleOnce { workload, runtime, threads, calls: arguments.calls };
    }
    let runtimes = if runtimes.is_empty() { RuntimeKind::with_pools() } else { runtimes };
    let (repeats, count_instructions) = (arguments.repeats.get(), arguments.instructions);
    let plan = Plan {
        workloads: distinct(workloads),
        runtimes: distinct(runtimes),
        threads: distinct(threads),
        repeats,
        count_instructions,
        pin: arguments.pin,
    };
    Command::Idle { plan, format: arguments.format }
}

/// The first of equal ones, in their order.
fn distinct<T: PartialEq>(all: Vec<T>) -> Vec<T> {
    all.into_iter().fold(Vec::new(), |mut kept, one| {
        if !kept.contains(&one) {
            kept.push(one);
        }
        kept
    })
}

/// The first paragraph of clap's message, without line breaks.
fn one_line(message: &str) -> String {
    let paragraph = message.split("\n\n").next().unwrap_or(message);
    let text = paragraph.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    format!("{}; try '--help'", text.strip_prefix("error: ").unwrap_or(&text))
}

#[cfg(test)]
mod tests {
    use befit::SchedulerKind;

    use super::*;

    fn parsed(line: &str) -> Result<Command, String> {
        let words = std::iter::once("peers").chain(line.split_whitespace());
        parse(words.map(OsString::from)).map_err(|e| e.to_string())
    }

    #[test]
    fn a_program_alone_has_its_size_and_its_usual_runtimes() {
        let Ok(Command::Compare { run, runtimes, repeats, format }) = parsed("skynet --threads 3")
        else {
            panic!()
        };
        assert_eq!((run.program, run.n, run.threads), (Program::Skynet, 1_000_000, 3));
        assert_eq!((repeats, format), (7, Format::Table));
        let usual = [RuntimeKind::RayonIter, RuntimeKind::Chili];
        assert!(usual.iter().all(|kind| runtimes.contains(kind)));
    }

    #[test]
    fn the_message_for_an_unknown_name_lists_the_known_ones() {
        for (line, unknown, known) in [
            ("fab", "unknown program 'fab'", "fib, fib-sized, fib-task, fib-100ns"),
            ("fib --runtimes rayon,raion", "unknown runtime 'raion'", "serial, befit-ws"),
        ] {
            let error = parsed(line).unwrap_err();
            assert!(error.contains(unknown) && error.contains(known), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn numbers_that_cannot_be_are_refused() {
        let numbers = ["fib --threads 0", "fib --repeats 0", "fib --n x"];
        for line in numbers.into_iter().chain(["fib --once rayon --runtimes rayon", ""]) {
            assert!(parsed(line).is_err(), "{line}");
        }
    }

    #[test]
    fn idle_pools_have_their_own_line() {
        let Ok(Command::Idle { plan, .. }) = parsed("idle --threads 2,64 --workloads join,burst")
        else {
            panic!()
        };
        assert_eq!((plan.threads, plan.repeats), (vec![2, 64], 3));
        assert_eq!(plan.workloads, [Workload::Join, Workload::Burst]);
        assert!(plan.runtimes.len() > SchedulerKind::ALL.len());
        for line in ["idle --threads 0", "idle --workloads nap", "idle --calls 3", "bundle"] {
            assert!(parsed(line).is_err(), "{line}");
        }
        let Ok(Command::Bundle { folder }) = parsed("bundle out") else { panic!() };
        assert_eq!(folder, PathBuf::from("out"));
    }

    #[test]
    fn idle_pools_that_are_named_twice_are_measured_once() {
        let line = "idle --threads 2,8,2 --workloads join,wake,join --runtimes rayon,chili,rayon";
        let Ok(Command::Idle { plan, .. }) = parsed(line) else { panic!() };
        assert_eq!(plan.threads, [2, 8]);
        assert_eq!(plan.workloads, [Workload::Join, Workload::Wake]);
        assert_eq!(plan.runtimes, [RuntimeKind::Rayon, RuntimeKind::Chili]);
    }

    #[test]
    fn befit_s_threads_are_pinned_as_the_command_line_says() {
        for (words, pin) in
            [("", None), ("--pin never", Some(Pin::Never)), ("--pin auto", Some(Pin::Auto))]
        {
            let Ok(Command::Compare { run, .. }) = parsed(&format!("fib {words}")) else {
                panic!()
            };
            assert_eq!(run.pin, pin);
            let Ok(Command::Idle { plan, .. }) = parsed(&format!("idle {words}")) else { panic!() };
            assert_eq!(plan.pin, pin);
        }
        for line in ["fib --pin", "fib --pin yes", "fib --pin auto --once rayon"] {
            assert!(parsed(line).is_err(), "{line}");
        }
        assert!(parsed("idle --pin auto --once rayon").is_err());
    }

    #[test]
    fn regression_chili_which_has_no_scopes_is_refused_under_spawn() {
        for words in ["--runtimes rayon,chili", "--once chili"] {
            let error = parsed(&format!("spawn {words}")).unwrap_err();
            assert_eq!(error, "chili has no scopes; leave it out of spawn");
        }
        let Ok(Command::Compare { runtimes, .. }) = parsed("spawn") else { panic!() };
        assert!(!runtimes.contains(&RuntimeKind::Chili));
    }

    #[test]
    fn help_lists_every_program_and_runtime() {
        let Ok(Command::Help(help)) = parsed("--help") else { panic!() };
        assert!(Program::value_variants().iter().all(|p| help.contains(&p.name())));
        assert!(RuntimeKind::all().iter().all(|r| help.contains(&r.to_string())));
    }
}
