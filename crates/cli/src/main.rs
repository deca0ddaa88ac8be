//! The `befit` command: reads the command line, lets `befit-lab` work, prints what `befit-report`
//! makes of it. Each command is a file with its arguments and its run.
//!
//! docs/command-line.md has the table of exit codes. Every error is one line on stderr that begins
//! with `befit: `.

mod cache;
mod calibrate;
mod compare;
mod doctor;
mod fail;
mod footprint;
mod learn;
mod manner;
mod matrix;
mod misses;
mod options;
mod output;
mod progress;
mod record;
mod report;
mod reproduce;
mod run;
mod shell;
mod sizes;
mod sweep;
mod verify;

use std::process::ExitCode;

use befit_machine::Machine;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::{
    cache::CacheArgs,
    calibrate::CalibrateArgs,
    compare::{CompareArgs, SimArgs},
    doctor::DoctorArgs,
    fail::Failure,
    footprint::FootprintArgs,
    learn::LearnArgs,
    manner::Manner,
    matrix::MatrixArgs,
    misses::MissesArgs,
    output::print,
    record::RecordArgs,
    report::ReportArgs,
    reproduce::ReproduceArgs,
    run::RunArgs,
    shell::{CompletionsArgs, ManArgs},
    sizes::SizesArgs,
    sweep::SweepArgs,
    verify::VerifyArgs,
};

/// The sources that programs are built with, should those that this was built from be gone.
const SOURCES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sources"));

const EXAMPLES: &str = "\
Examples:
  befit compare rrm                      a kernel, simulated under each scheduler
  befit compare --manifest-path ../mine/Cargo.toml --bin mine -- input.txt
                                         a program of yours
  befit run rrm                          a kernel, run on this machine
  befit topo --machine host              the caches of this machine
  befit reproduce space-bounded --quick  a paper's figures, repeated
  befit list                             kernels, machines, schedulers, studies";

/// Shows what each scheduler would do to a parallel program's cache misses and running time, on any
/// machine.
#[derive(Parser, Debug)]
#[command(name = "befit", version, after_help = EXAMPLES, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    manner: Manner,
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
    /// Print which lines of a program's source, and which of its data, its misses come from
    Misses(MissesArgs),
    /// Record a program into a file
    Record(RecordArgs),
    /// Simulate a recorded program
    Sim(SimArgs),
    /// Simulate many programs on many machines under many schedulers, and print how each scheduler
    /// stands
    Matrix(MatrixArgs),
    /// Simulate every configuration of a grid, one row each, into a Parquet table
    Sweep(SweepArgs),
    /// Put the tables of all shards of a sweep together
    Merge(SweepArgs),
    /// Repeat a paper's experiments, and print each figure beside what the paper reported
    Reproduce(ReproduceArgs),
    /// Count what tasks leave in a cache for one another
    Footprint(FootprintArgs),
    /// Learn the sizes of a program's tasks from recordings, for schedulers that place by size
    Learn(LearnArgs),
    /// Compare the sizes that a program's tasks declare, or those learned of them, with what they
    /// touch
    Sizes(SizesArgs),
    /// Show what came back of a machine that was measured without a checkout
    Report(ReportArgs),
    /// Draw a machine's tree of caches
    Topo(TopoArgs),
    /// List what befit keeps between its runs, with sizes, or clear it
    Cache(CacheArgs),
    /// List the kernels with their settings, the machines, schedulers and studies
    List,
    /// Look whether all is there that befit needs
    Doctor(DoctorArgs),
    /// Write a shell's completions of this command
    Completions(CompletionsArgs),
    /// Write this command's manual pages
    Man(ManArgs),
}

const TOPO_EXAMPLES: &str = "\
Examples:
  befit topo
  befit topo --machine epyc-9654
  befit topo --machine 'pack:4 l3:1(size=25165824) core:8 l2:1(size=262144) pu:1'";

#[derive(Args, Debug)]
#[command(after_help = TOPO_EXAMPLES)]
struct TopoArgs {
    /// A preset (see `befit list`), `host`, a file that `lstopo FILE.xml` or `befit
    /// calibrate -o FILE` wrote, or an hwloc synthetic string
    #[arg(long, value_name = "MACHINE", default_value = "host", value_parser = Machine::find)]
    machine: Machine,
}

fn main() -> ExitCode {
    let result = match parse() {
        Ok(cli) => {
            manner::set(cli.manner);
            befit_lab::carry(SOURCES);
            run_command(cli.command)
        }
        Err(message) => fail::from_clap(message),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Reads the command line.
fn parse() -> Result<Cli, clap::Error> {
    Cli::from_arg_matches(&Cli::command().mut_subcommands(numbers).try_get_matches()?)
}

/// Has `--n -5` be a wrong number, not an unknown option.
fn numbers(command: clap::Command) -> clap::Command {
    command.mut_args(|arg| {
        let takes_value = arg.get_action().takes_values() && !arg.is_positional();
        if takes_value { arg.allow_negative_numbers(true) } else { arg }
    })
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
        Command::Misses(args) => args.run(),
        Command::Sweep(args) => args.run("sweep"),
        Command::Merge(args) => args.run("merge"),
        Command::Reproduce(args) => args.run(),
        Command::Footprint(args) => args.run(),
        Command::Learn(args) => args.run(),
        Command::Sizes(args) => args.run(),
        Command::Report(args) => args.run(),
        Command::Topo(args) => {
            let file = args.machine.calibration();
            let figures = file
                .map(|file| format!("figures measured by befit calibrate: {}\n", file.display()));
            print(&(args.machine.draw() + &figures.unwrap_or_default()))
        }
        Command::Cache(args) => args.run(),
        Command::List => print(&befit_report::names(manner::manner().width())),
        Command::Doctor(args) => args.run(),
        Command::Completions(args) => args.run(Cli::command()),
        Command::Man(args) => args.run(Cli::command()),
    }
}
