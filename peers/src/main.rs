//! Times the same fork-join programs on befit and on other runtimes, side by side.
//!
//! ```text
//! cargo run --release -p peers -- fib --threads 2
//! ```
//! `docs/peers.md` describes the measurement. The command starts a process for each run
//! ([`contest`]), which builds one runtime and runs one program on it. Programs are written once,
//! over the trait [`runtime::Runtime`]; those in C++ are a project of their own ([`cpp`]).

mod args;
mod contest;
mod cpp;
mod error;
mod program;
mod report;
mod runtime;

use std::{
    io::{self, Write},
    process::ExitCode,
};

use crate::{args::Command, error::Error};

fn main() -> ExitCode {
    match args::parse(std::env::args_os()).and_then(run) {
        Ok(text) => match io::stdout().write_all(text.as_bytes()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => fail(&Error::Output(error)),
            _ => ExitCode::SUCCESS,
        },
        Err(error) => fail(&error),
    }
}

/// The text to print.
fn run(command: Command) -> Result<String, Error> {
    match command {
        Command::Help(text) => Ok(text),
        Command::Once { run, runtime } => {
            let time = runtime.run(run.program, run.n, run.threads)?;
            Ok(format!("{}\n", time.as_secs_f64()))
        }
        Command::Compare { run, runtimes, repeats, format } => {
            let results = contest::hold(run, &runtimes, repeats)?;
            Ok(report::render(&results, format))
        }
    }
}

fn fail(error: &Error) -> ExitCode {
    eprintln!("peers: {error}");
    ExitCode::from(if error.is_usage() { 2 } else { 1 })
}
