//! `befit reproduce`: a paper's experiments, repeated.

use befit_lab::reproduce::Request;
use befit_report::{render_reproduction, reproduction_page};

use crate::{
    args::ReproduceArgs,
    fail::Failure,
    output::{Destination, PageFile},
    progress::Display,
};

pub(super) fn run(args: ReproduceArgs) -> Result<(), Failure> {
    let destination = Destination::open(args.output.output.as_deref())?;
    let request =
        Request { study: args.study, quick: args.quick, machine: args.machine, seeds: args.seeds };
    let display = Display::new();
    let page = PageFile::open(args.html.as_deref(), &display)?;
    let reproduction = request.run(&display)?;
    drop(display);
    if let Some(page) = page {
        page.write(&reproduction_page(&reproduction))?;
    }
    destination.write(
        &render_reproduction(&reproduction, super::format(args.output.format))
            .map_err(Failure::other)?,
    )
}
