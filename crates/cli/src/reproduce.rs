//! `befit reproduce`: a paper's experiments, repeated.

use std::num::NonZeroU32;

use befit_lab::reproduce::{Request, Study};
use befit_machine::Machine;
use befit_report::{render_reproduction, reproduction_page};
use clap::Args;

use crate::{
    fail::Failure,
    options::count,
    output::{OutputArgs, PageArgs, Written},
};

const EXAMPLES: &str = "\
Examples:
  befit reproduce space-bounded --quick
  befit reproduce space-bounded --html study.html --format json --output study.json
  befit reproduce space-bounded --machine epyc-9654

Each figure stands beside what the paper reported, with a verdict; one that is out of range says \
why.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReproduceArgs {
    /// The study (see `befit list`)
    study: Study,
    /// Minutes instead of up to an hour: smaller inputs, fewer seeds
    #[arg(long)]
    quick: bool,
    /// Another machine than the paper's, named as for `befit compare`
    #[arg(long, value_name = "MACHINE", value_parser = Machine::find)]
    machine: Option<Machine>,
    /// How many seeds, if not the study's own choice
    #[arg(long, value_name = "K", value_parser = count::<NonZeroU32>)]
    seeds: Option<NonZeroU32>,
    /// Do not time the kernels' operations in a build without instrumentation: they then take what
    /// the machine says (`operation=`), and the figures do not depend on the machine at hand
    #[arg(long)]
    no_work: bool,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl ReproduceArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let Self { study, quick, machine, seeds, no_work, page: html, output } = self;
        output.write(|display, format| {
            let page = html.open(display)?;
            let reproduction =
                Request { study, quick, machine, seeds, work: !no_work }.run(display)?;
            let results = render_reproduction(&reproduction, format)?;
            Ok(Written::of(results).and_page(page, || reproduction_page(&reproduction)))
        })
    }
}
