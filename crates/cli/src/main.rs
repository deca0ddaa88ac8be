//! The `befit` command: reads the command line, lets `befit-lab` work, prints what `befit-report`
//! makes of it.
//!
//! Exit codes: 0 when all went well, 2 when what was asked for cannot be, 1 when something else
//! went wrong, 130 when it was interrupted. Every error is one line on stderr that begins with
//! `befit: `.

mod args;
mod command;
mod fail;
mod output;
mod progress;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let result = match args::Cli::try_parse() {
        Ok(cli) => command::run(cli),
        Err(message) => fail::from_clap(message),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
