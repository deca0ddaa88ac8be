//! `befit sizes`: record a program, measure its tasks, print what they declare, or what was learned
//! of them, beside what they touch.

use std::path::PathBuf;

use befit_lab::{GivenSizes, LearnedSizes, Sizes};
use befit_machine::Machine;
use befit_report::{learned_page, render_learned, render_sizes, sizes_page};
use befit_sched::Options;
use clap::Args;

use crate::{
    fail::Failure,
    learn,
    options::{positive, sigma},
    output::{OutputArgs, PageArgs, Written},
    record::SourceArgs,
};

const EXAMPLES: &str = "\
Examples:
  befit sizes rrm --n 1000000
  befit sizes quicksort --shrink 64 --machine epyc-9654
  befit sizes --manifest-path ../mine/Cargo.toml --bin mine -- input.txt
  befit sizes rrm --n 4000000 --learned rrm.sizes
  befit sizes rrm --html sizes.html

Tasks are named by their paths: which child of which, from the root down, counted from 0 in the \
order of forks.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SizesArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// The machine whose caches tasks are to befit, named as for `befit compare`
    #[arg(long, value_name = "MACHINE", default_value = "xeon-7560", value_parser = Machine::find)]
    machine: Machine,
    /// Dilation, above 0 and at most 1: a task befits a cache of size M if it is no larger than
    /// sigma x M
    #[arg(long, default_value_t = Options::default().sigma, value_parser = sigma)]
    sigma: f64,
    /// How many of the worst tasks of either kind are shown
    // With 0 the table and the page would say that no task has a wrong size.
    #[arg(long, value_name = "COUNT", default_value = "10", value_parser = positive)]
    worst: u32,
    /// A model K times smaller: the machine's caches, and a kernel's size and cut-offs, divided by
    /// K [default: as for `befit compare`]
    #[arg(long, value_name = "K", value_parser = positive)]
    shrink: Option<u32>,
    /// Compare the sizes that this file of `befit learn` tells, site by site, instead of those that
    /// the tasks declare
    #[arg(long, value_name = "FILE", conflicts_with = "worst")]
    learned: Option<PathBuf>,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl SizesArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let shrink = self.shrink.unwrap_or_else(|| self.source.usual_shrink());
        let source = self.source.source(shrink)?;
        let machine = self.machine.shrunk(shrink).map_err(Failure::usage)?;
        let table = self.learned.as_deref().map(learn::table).transpose()?;
        self.output.write(|display, format| {
            let page = self.page.open(display)?;
            let program = befit_lab::record_uncalibrated(&source, self.source.fresh, display)?;
            if let Some(table) = table {
                let sizes = LearnedSizes::of(&program, &table, &machine, self.sigma, display);
                let results = render_learned(&sizes, format)?;
                return Ok(Written::of(results).and_page(page, || learned_page(&sizes)));
            }
            let worst = self.worst as usize;
            let sizes = Sizes::of(&program, &machine, self.sigma, worst, display);
            let results = render_sizes(&sizes, format)?;
            Ok(Written::of(results).and_page(page, || match GivenSizes::usual(&program) {
                GivenSizes::Declared => sizes_page(&sizes, false),
                learned => {
                    let program = learned.give(program, display);
                    let sizes = Sizes::of(&program, &machine, self.sigma, worst, display);
                    sizes_page(&sizes, true)
                }
            }))
        })
    }
}
