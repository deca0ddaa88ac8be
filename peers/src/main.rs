//! Times the same fork-join programs on befit and on other runtimes, side by side.
//!
//! ```text
//! cargo run --release -p peers -- fib --threads 2
//! ```
//! `docs/peers.md` describes the measurement. The command starts a process for each run
//! ([`contest`]), which builds one runtime and runs one program on it. Programs are written once,
//! over the trait [`runtime::Runtime`]; those in C++ are a project of their own ([`cpp`]).

mod args;
mod bundle;
mod contest;
mod cpp;
mod idle;
mod program;
mod report;
mod runtime;

use std::{
    io::{self, Write},
    process::ExitCode,
};

use crate::args::Command;

/// A failure, as one line.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The command line cannot be read, or asks for something impossible.
    #[error("{0}")]
    Arguments(String),
    /// A program cannot have this size.
    #[error("{program}: n = {n} cannot be; {rule}")]
    Size { program: String, n: usize, rule: &'static str },
    /// The input does not fit in memory.
    #[error("there is not enough memory for n = {0}; give a smaller --n")]
    Memory(usize),
    /// The runtime, or the program, has a defect.
    #[error("wrong result: {0}")]
    WrongResult(String),
    /// A runtime cannot be set up, or a process of its own cannot be started or failed.
    #[error("{0}")]
    Failed(String),
    /// The output cannot be written.
    #[error("cannot write the output: {0}")]
    Output(io::Error),
}

impl Error {
    /// True if another command line helps.
    pub(crate) fn is_usage(&self) -> bool {
        matches!(self, Self::Arguments(_) | Self::Size { .. } | Self::Memory(_))
    }
}

fn main() -> ExitCode {
    match args::parse(std::env::args_os()).and_then(run) {
        Ok(Outcome { text, failure }) => match io::stdout().write_all(text.as_bytes()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => fail(&Error::Output(error)),
            _ => failure.map_or(ExitCode::SUCCESS, |failure| fail(&failure)),
        },
        Err(error) => fail(&error),
    }
}

/// What a command has to print, and what failed though there is something to print.
struct Outcome {
    text: String,
    failure: Option<Error>,
}

fn run(command: Command) -> Result<Outcome, Error> {
    let text = match command {
        Command::Help(text) => text,
        Command::Once { run, runtime } => {
            let sizes = [run.program.warm_up_n(), run.n];
            let time = runtime.run(run.program, &sizes, run.threads)?;
            format!("{}\n", time.as_secs_f64())
        }
        Command::Compare { run, runtimes, repeats, format } => {
            let results = contest::hold(run, &runtimes, repeats)?;
            let text = report::render(&results, format);
            return Ok(Outcome { text, failure: results.failure() });
        }
        Command::IdleOnce { workload, runtime, threads, calls } => {
            idle::once(workload, runtime, threads, calls)?
        }
        Command::Bundle { folder } => bundle::write(&folder)?,
        Command::Threads => format!("{}\n", args::usable_threads()),
        Command::Idle { plan, format } => {
            let measured = idle::hold(&plan)?;
            let text = idle::render(&measured, format);
            return Ok(Outcome { text, failure: measured.failure() });
        }
    };
    Ok(Outcome { text, failure: None })
}

fn fail(error: &Error) -> ExitCode {
    eprintln!("peers: {error}");
    ExitCode::from(if error.is_usage() { 2 } else { 1 })
}
