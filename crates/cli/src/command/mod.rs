//! What each subcommand does.

mod compare;
mod footprint;
mod list;
mod record;
mod reproduce;
mod run;
mod sim;
mod sizes;
mod topo;

use befit_lab::SimulationPlan;
use befit_machine::{Machine, MachineError};
use befit_report::Format;
use befit_sched::Options;
use befit_sim::Costs;

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
        Command::Footprint(args) => footprint::run(args),
        Command::Sizes(args) => sizes::run(args),
        Command::Topo(args) => topo::run(args),
        Command::List => list::run(),
    }
}

/// What to simulate, and at what costs, as a model `shrink` times smaller.
fn plan(args: PlanArgs, shrink: u32) -> Result<(SimulationPlan, Costs), Failure> {
    let options = Options {
        sigma: args.sigma,
        mu: args.mu,
        counting: args.counting,
        branching: args.branching,
        boundary: args.boundary,
        ..Options::default()
    };
    let vary = |mut machine: Machine| {
        if let Some(sockets) = args.sockets {
            machine = machine.with_sockets(sockets)?;
        }
        if let Some(cores) = args.cores {
            machine = machine.with_cores(cores)?;
        }
        if let Some(percent) = args.bandwidth {
            machine = machine.with_bandwidth(percent)?;
        }
        machine.shrunk(shrink)
    };
    let machines: Result<_, MachineError> = args.machines.into_iter().map(vary).collect();
    let machines = machines.map_err(Failure::usage)?;
    let plan = SimulationPlan { machines, schedulers: args.schedulers, seeds: args.seeds, options };
    Ok((plan, Costs::default().shrunk(shrink)))
}

fn format(format: args::Format) -> Format {
    match format {
        args::Format::Table => Format::Table,
        args::Format::Json => Format::Json,
        args::Format::Csv => Format::Csv,
    }
}
