//! The `befit` command: reads the command line, lets `befit-lab` work, prints what `befit-report`
//! makes of it. Each command is a file with its arguments and its run.
//!
//! Exit codes: 0 when all went well, 2 when what was asked for cannot be, 1 when something else
//! went wrong, 130 when it was interrupted. Every error is one line on stderr that begins with
//! `befit: `.

mod calibrate;
mod compare;
mod fail;
mod footprint;
mod learn;
mod matrix;
mod options;
mod output;
mod progress;
mod record;
mod reproduce;
mod run;
mod sizes;
mod verify;

use std::process::ExitCode;

use befit_machine::Machine;
use clap::{Args, Parser, Subcommand};

use crate::{
    calibrate::CalibrateArgs,
    compare::{CompareArgs, SimArgs},
    fail::Failure,
    footprint::FootprintArgs,
    learn::LearnArgs,
    matrix::MatrixArgs,
    output::print,
    record::RecordArgs,
    reproduce::ReproduceArgs,
    run::RunArgs,
    sizes::SizesArgs,
    verify::VerifyArgs,
};

const EXAMPLES: &str = "\
Examples:
  befit compare rrm                           a kernel under four schedulers on a machine of 4 \
sockets x 8 cores
  befit compare --manifest-path ../mine/Cargo.toml --bin mine -- input.txt
                                              a program of yours that uses befit
  befit run rrm                               a kernel on this machine, under four schedulers in \
turn
  befit topo --machine host                   the caches of this machine
  befit reproduce space-bounded --quick       a paper's figures, repeated
  befit list                                  the kernels, machines, schedulers and studies";

/// Shows what each scheduler would do to a parallel program's cache misses and running time, on any
/// machine.
#[derive(Parser, Debug)]
#[command(name = "befit", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Record a program once, simulate it under several schedulers, and print the comparison
    Compare(CompareArgs),
    /// Run a program on this machine under several schedulers, and print where its workers' time
    /// went
    Run(RunArgs),
    /// Measure this machine, so that simulations of it have its times
    Calibrate(CalibrateArgs),
    /// Predict a program's times on this machine, measure them, and print both
    Verify(VerifyArgs),
    /// Record a program into a file
    Record(RecordArgs),
    /// Simulate a recorded program
    Sim(SimArgs),
    /// Simulate many programs on many machines under many schedulers, and print how each scheduler
    /// stands
    Matrix(MatrixArgs),
    /// Repeat a paper's experiments, and print each figure beside what the paper reported
    Reproduce(ReproduceArgs),
    /// Count what tasks leave in a cache for one another
    Footprint(FootprintArgs),
    /// Learn the sizes of a program's tasks from recordings, for schedulers that place by size
    Learn(LearnArgs),
    /// Compare the sizes that a program's tasks declare, or those learned of them, with what they
    /// touch
    Sizes(SizesArgs),
    /// Draw a machine's tree of caches
    Topo(TopoArgs),
    /// List the kernels, machines, schedulers and studies
    List,
}

const TOPO_EXAMPLES: &str = "\
Examples:
  befit topo
  befit topo --machine epyc-9654
  befit topo --machine 'pack:4 l3:1(size=25165824) core:8 l2:1(size=262144) pu:1'";

#[derive(Args, Debug)]
#[command(after_help = TOPO_EXAMPLES)]
struct TopoArgs {
    /// A preset (see `befit list`), `host`, a file that `lstopo FILE.xml` wrote, or an hwloc
    /// synthetic string
    #[arg(long, value_name = "MACHINE", default_value = "host", value_parser = Machine::find)]
    machine: Machine,
}

fn main() -> ExitCode {
    let result = match Cli::try_parse() {
        Ok(cli) => run_command(cli.command),
        Err(message) => fail::from_clap(message),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run_command(command: Command) -> Result<(), Failure> {
    match command {
        Command::Compare(args) => args.run(),
        Command::Run(args) => args.run(),
        Command::Calibrate(args) => args.run(),
        Command::Verify(args) => args.run(),
        Command::Record(args) => args.run(),
        Command::Sim(args) => args.run(),
        Command::Matrix(args) => args.run(),
        Command::Reproduce(args) => args.run(),
        Command::Footprint(args) => args.run(),
        Command::Learn(args) => args.run(),
        Command::Sizes(args) => args.run(),
        Command::Topo(args) => {
            let file = args.machine.calibration();
            let figures = file
                .map(|file| format!("figures measured by befit calibrate: {}\n", file.display()));
            print(&(args.machine.draw() + &figures.unwrap_or_default()))
        }
        Command::List => print(&befit_report::names()),
    }
}
