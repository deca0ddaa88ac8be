//! `befit footprint`: what tasks leave in a cache for one another.

use befit_lab::LabError;
use befit_machine::Level;
use befit_report::{footprint_page, render_footprint};
use befit_sim::footprint::{Pairs, Tasks};

use crate::{
    args::FootprintArgs,
    fail::Failure,
    output::{Destination, PageFile},
    progress::Display,
};

pub(super) fn run(args: FootprintArgs) -> Result<(), Failure> {
    let source = args.source.source(1);
    source.check()?;
    let level = args.level.map(Level);
    Pairs::check(&args.machine, level).map_err(LabError::from)?;
    let destination = Destination::open(args.output.output.as_deref())?;
    let display = Display::new();
    let page = PageFile::open(args.html.as_deref(), &display)?;
    let program = befit_lab::record_all_lines(&source, args.source.fresh, &display)?;
    let tasks = Tasks::of(&program);
    let pairs = Pairs::of(&tasks, &args.machine, level, args.tasks.get() as usize);
    let pairs = pairs.map_err(LabError::from)?;
    drop(display);
    if let Some(page) = page {
        page.write(&footprint_page(&pairs))?;
    }
    destination.write(
        &render_footprint(&pairs, super::format(args.output.format)).map_err(Failure::other)?,
    )
}
