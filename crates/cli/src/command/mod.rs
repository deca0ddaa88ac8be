//! What each subcommand does.

mod compare;
mod list;
mod record;
mod reproduce;
mod run;
mod sim;
mod topo;

use befit_lab::Plan;
use befit_report::Format;
use befit_sched::Options;

use crate::{
    args::{self, Cli, Command, PlanArgs},
    fail::Failure,
};

/// Does what the command line asks for.
pub(crate) fn run(cli: Cli) -> Result<(), Failure> {
    match cli.command {
        Command::Compare(args) => compare::run(args),
        Command::Run(args) => run::run(args),
        Command::Record(args) => record::run(args),
        Command::Sim(args) => sim::run(args),
        Command::Reproduce(args) => reproduce::run(args),
        Command::Topo(args) => topo::run(args),
        Command::List => list::run(),
    }
}

fn plan(args: PlanArgs) -> Plan {
    let options = Options { sigma: args.sigma, mu: args.mu, ..Options::default() };
    Plan { machines: args.machines, schedulers: args.schedulers, seeds: args.seeds, options }
}

fn format(format: args::Format) -> Format {
    match format {
        args::Format::Table => Format::Table,
        args::Format::Json => Format::Json,
        args::Format::Csv => Format::Csv,
    }
}
