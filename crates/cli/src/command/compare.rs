//! `befit compare`: record, simulate, print.

use befit_report::render;

use crate::{args::CompareArgs, fail::Failure, output::Destination, progress::Display};

pub(super) fn run(args: CompareArgs) -> Result<(), Failure> {
    let shrink = args.plan.shrink.unwrap_or_else(|| args.source.usual_shrink());
    let source = args.source.source(shrink);
    source.check()?;
    let (plan, costs) = super::plan(args.plan, shrink)?;
    let destination = Destination::open(args.output.output.as_deref())?;
    let display = Display::new();
    let program = befit_lab::record(&source, args.source.fresh, &display)?;
    let results = plan.simulate_at(costs, &program, &display)?;
    drop(display);
    destination.write(&render(&results, super::format(args.output.format)).map_err(Failure::other)?)
}
