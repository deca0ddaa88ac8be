//! `befit footprint`: what tasks leave in a cache for one another.

use std::num::{NonZeroU8, NonZeroU32};

use befit_lab::LabError;
use befit_machine::{Level, Machine};
use befit_report::{footprint_page, render_footprint};
use befit_sim::footprint::{Pairs, Tasks};
use clap::Args;

use crate::{
    fail::Failure,
    options::count,
    output::{OutputArgs, PageArgs, Written},
    record::SourceArgs,
};

const EXAMPLES: &str = "\
Examples:
  befit footprint array-abc --n 1
  befit footprint bst:lookups=random --machine xeon-7560 --level 2 --tasks 32 --html bst.html
  befit footprint --manifest-path ../mine/Cargo.toml --bin mine --format csv -- input.txt

For each ordered pair of tasks that fork nothing: how the second finds the frames of a cache \
right after the first. docs/footprint.md explains the six numbers.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct FootprintArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// The machine, named as for `befit compare`
    #[arg(long, value_name = "MACHINE", default_value = "gems-sparc", value_parser = Machine::find)]
    machine: Machine,
    /// The cache, by its level; the innermost if none is given
    #[arg(long, value_name = "L", value_parser = count::<NonZeroU8>)]
    level: Option<NonZeroU8>,
    /// How many tasks, evenly spread over the program
    #[arg(long, value_name = "K", default_value = "12", value_parser = count::<NonZeroU32>)]
    tasks: NonZeroU32,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl FootprintArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let source = self.source.source(1)?;
        let level = self.level.map(|level| Level(level.get()));
        Pairs::check(&self.machine, level).map_err(LabError::from)?;
        self.output.write(|display, format| {
            let page = self.page.open(display)?;
            let program = befit_lab::record_all_lines(&source, self.source.fresh, display)?;
            let tasks = Tasks::of(&program);
            let pairs = Pairs::of(&tasks, &self.machine, level, self.tasks.get() as usize);
            let pairs = pairs.map_err(LabError::from)?;
            let results = render_footprint(&pairs, format)?;
            Ok(Written::of(results).and_page(page, || footprint_page(&pairs)))
        })
    }
}
