//! The command line.

use std::{ffi::OsString, num::NonZero, thread};

use clap::{Parser, ValueEnum, error::ErrorKind};

use crate::{
    Error,
    contest::TimedRun,
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
    /// Runs of each runtime, in turn: A B C A B C …
    #[arg(long, default_value = "7")]
    repeats: NonZero<usize>,
    /// Names from the list below, separated by commas [default: those that differ on the program]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    runtimes: Vec<RuntimeKind>,
    /// How to print the results
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// Run it once on this runtime, in this process, and print the seconds: for profilers
    #[arg(long, value_name = "RUNTIME", conflicts_with_all = ["runtimes", "repeats", "format"])]
    once: Option<RuntimeKind>,
}

fn after_help() -> String {
    let line = |p: &Program| format!("  {:<10} {} [n = {}]\n", p.name(), p.about(), p.default_n());
    let programs: String = Program::value_variants().iter().map(line).collect();
    format!("Programs:\n{programs}\nRuntimes: {}", RuntimeKind::names())
}

/// Reads the command line, the program's name included.
///
/// # Errors
/// [`Error::Arguments`].
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, Error> {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(e) if e.kind() == ErrorKind::DisplayHelp => {
            return Ok(Command::Help(e.render().to_string()));
        }
        Err(e) => return Err(Error::Arguments(one_line(&e.render().to_string()))),
    };
    let Arguments { program, n, threads, repeats, runtimes, format, once } = arguments;
    let threads = threads.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZero::get);
    let run = TimedRun { program, n: n.unwrap_or(program.default_n()), threads };
    Ok(match once {
        Some(runtime) => Command::Once { run, runtime },
        None => {
            let runtimes = if runtimes.is_empty() { RuntimeKind::usual(program) } else { runtimes };
            Command::Compare { run, runtimes, repeats: repeats.get(), format }
        }
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
    fn help_lists_every_program_and_runtime() {
        let Ok(Command::Help(help)) = parsed("--help") else { panic!() };
        assert!(Program::value_variants().iter().all(|p| help.contains(&p.name())));
        assert!(RuntimeKind::all().iter().all(|r| help.contains(&r.to_string())));
    }
}
