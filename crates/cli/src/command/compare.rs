//! `befit compare`: record, simulate, print.

use befit_report::render;

use crate::{args::CompareArgs, fail::Failure, output::Destination, progress::Display};

pub(super) fn run(args: CompareArgs) -> Result<(), Failure> {
    let source = args.source.source();
    source.check()?;
    let destination = Destination::open(args.output.output.as_deref())?;
    let display = Display::new();
    let program = befit_lab::record(&source, args.source.fresh, &display)?;
    let results = super::plan(args.plan).simulate(&program, &display)?;
    drop(display);
    destination.write(&render(&results, super::format(args.output.format)).map_err(Failure::other)?)
}
