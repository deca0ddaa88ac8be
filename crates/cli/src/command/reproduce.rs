//! `befit reproduce`: a paper's experiments, repeated.

use befit_lab::{Drawer, reproduce::Request};
use befit_report::{render_reproduction, reproduction_page};

use crate::{args::ReproduceArgs, fail::Failure, output::Destination, progress::Display};

pub(super) fn run(args: ReproduceArgs) -> Result<(), Failure> {
    let destination = Destination::open(args.output.output.as_deref())?;
    let page = args.html.as_deref().map(|path| Destination::open(Some(path))).transpose()?;
    let request = Request { study: args.study, quick: args.quick, machine: args.machine, seeds: args.seeds };
    let display = Display::new();
    let drawer = page.is_some().then(|| Drawer::build(&display)).transpose()?;
    let reproduction = request.run(&display)?;
    drop(display);
    if let (Some(page), Some(drawer)) = (page, drawer) {
        page.write(&drawer.draw(&reproduction_page(&reproduction))?)?;
    }
    destination.write(&render_reproduction(&reproduction, super::format(args.output.format)).map_err(Failure::other)?)
}
