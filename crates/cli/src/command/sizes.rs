//! `befit sizes`: record a program, measure its tasks, print what they declare beside what they
//! touch.

use befit_lab::Sizes;
use befit_report::render_sizes;

use crate::{args::SizesArgs, fail::Failure, output::Destination, progress::Display};

pub(super) fn run(args: SizesArgs) -> Result<(), Failure> {
    let shrink = args.shrink.unwrap_or_else(|| args.source.usual_shrink());
    let source = args.source.source(shrink);
    source.check()?;
    let machine = args.machine.shrunk(shrink).map_err(Failure::usage)?;
    let destination = Destination::open(args.output.output.as_deref())?;
    let display = Display::new();
    let program = befit_lab::record(&source, args.source.fresh, &display)?;
    let sizes = Sizes::of(&program, &machine, args.sigma, args.worst, &display);
    drop(display);
    destination
        .write(&render_sizes(&sizes, super::format(args.output.format)).map_err(Failure::other)?)
}
