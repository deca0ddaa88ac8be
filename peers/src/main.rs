//! Times the same fork-join programs on befit and on other runtimes, side by side.
//!
//! ```text
//! cargo run --release -p peers -- fib --threads 2
//! ```
//! `docs/peers.md` says what is measured and how. The command asks for each run in a process of its
//! own ([`contest`]), which builds one runtime and runs one program on it ([`once`]). Programs are
//! written once, over the trait [`runtime::Runtime`]; those in C++ are a project of their own
//! ([`cpp`]).

mod args;
mod contest;
mod cpp;
mod error;
mod once;
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

/// What there is to print.
fn run(command: Command) -> Result<String, Error> {
    match command {
        Command::Help(text) => Ok(text),
        Command::Once { job, runtime } => {
            once::run(job, runtime).map(|seconds| format!("{seconds}\n"))
        }
        Command::Compare { job, runtimes, repeats, format } => {
            let results = contest::hold(job, &runtimes, repeats)?;
            Ok(report::render(&results, format))
        }
    }
}

fn fail(error: &Error) -> ExitCode {
    eprintln!("peers: {error}");
    ExitCode::from(if error.is_usage() { 2 } else { 1 })
}
