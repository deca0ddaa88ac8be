//! `befit misses`: record a program, or read a recording, simulate one run, and print which lines
//! of its source its misses come from.

use std::path::PathBuf;

use befit_lab::{GivenSizes, Sampling, Seeds, SimulationPlan};
use befit_machine::Machine;
use befit_report::{callgrind, render_misses};
use befit_sched::SchedulerKind;
use clap::Args;

use crate::{
    fail::Failure,
    options::{OptionArgs, positive, whole},
    output::{Destination, OutputArgs, Written},
    record::{SourceArgs, load},
};

const EXAMPLES: &str = "\
Examples:
  befit misses rrm --n 1000000
  befit misses --manifest-path ../mine/Cargo.toml --machine epyc-9654 -- input.txt
  befit misses mine.befit --sched sb --callgrind callgrind.out.mine

Lines are those of the program's own source. Lines of libraries count for the line that called \
them. Data is told apart by where large blocks of memory were taken. docs/misses.md explains the \
columns.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MissesArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// The machine, named as for `befit compare`
    #[arg(long, value_name = "MACHINE", default_value = "xeon-7560", value_parser = Machine::find)]
    machine: Machine,
    /// The scheduler
    #[arg(long = "sched", value_name = "SCHEDULER", default_value = "ws")]
    scheduler: SchedulerKind,
    #[command(flatten)]
    options: OptionArgs,
    /// The sizes that the scheduler sees, as for `befit compare`
    #[arg(long, value_name = "SIZES", value_parser = GivenSizes::find)]
    sizes: Option<GivenSizes>,
    /// So many lines are shown; the others are added up
    #[arg(long, value_name = "COUNT", default_value = "20", value_parser = whole::<usize>)]
    rows: usize,
    /// A model K times smaller: the machine's caches, and a kernel's size and cut-offs, divided by
    /// K [default: as for `befit compare`]
    #[arg(long, value_name = "K", value_parser = positive)]
    shrink: Option<u32>,
    /// A file to write the lines to as well, in callgrind's format, which KCachegrind opens; it
    /// appears whole or not at all
    #[arg(long, value_name = "FILE")]
    callgrind: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

impl MissesArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let file = self.source.named_file()?;
        let usual = || if file.is_some() { 1 } else { self.source.usual_shrink() };
        let shrink = self.shrink.unwrap_or_else(usual);
        let source = match file {
            Some(_) => None,
            None => Some(self.source.source(shrink)?),
        };
        let plan = SimulationPlan {
            machines: vec![self.machine.shrunk(shrink).map_err(Failure::usage)?],
            schedulers: vec![self.scheduler],
            seeds: Seeds::default(),
            options: self.options.0.options(),
            shrink,
            sampling: Sampling::Off,
        };
        self.output.write(|display, format| {
            let profile = self.callgrind.as_deref().map(|file| Destination::open(Some(file)));
            let profile = profile.transpose()?;
            let program = match (file, &source) {
                (Some(file), _) => load(file)?,
                (None, Some(source)) => self.source.record_lines(source, display)?,
                (None, None) => return Err(Failure::no_program("--manifest-path Cargo.toml")),
            };
            let sizes = self.sizes.clone().unwrap_or_else(|| GivenSizes::usual(&program));
            let program = sizes.give(program, display);
            let misses = plan.misses(&program, display)?;
            let written = Written::of(render_misses(&misses, self.rows, format)?);
            let Some(file) = profile else { return Ok(written) };
            Ok(written.and(move || file.write(&callgrind(&misses))))
        })
    }
}
