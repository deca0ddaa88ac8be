//! `befit sim`: simulate a recorded program, print.

use befit_program::Program;
use befit_report::render;

use crate::{args::SimArgs, fail::Failure, output::Destination, progress::Display};

pub(super) fn run(args: SimArgs) -> Result<(), Failure> {
    let shrink = args.plan.shrink.unwrap_or(1);
    let (plan, costs) = super::plan(args.plan, shrink)?;
    let program = Program::load(&args.file).map_err(|e| {
        Failure::other(format!("cannot read the recording {}: {e}", args.file.display()))
    })?;
    let destination = Destination::open(args.output.output.as_deref())?;
    let display = Display::new();
    let results = plan.simulate_at(costs, &program, &display)?;
    drop(display);
    destination.write(&render(&results, super::format(args.output.format)).map_err(Failure::other)?)
}
