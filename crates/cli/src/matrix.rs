//! `befit matrix`: programs × machines × schedulers.

use std::{num::NonZeroU32, path::PathBuf};

use befit_lab::{DataSize, MatrixPlan, MatrixProgram, Source};
use befit_machine::Machine;
use befit_report::{matrix_page, render_matrix};
use befit_sched::SchedulerKind;
use clap::Args;

use crate::{
    fail::Failure,
    options::{BinaryArgs, OptionArgs, count, distinct},
    output::{OutputArgs, PageArgs, Written},
};

const EXAMPLES: &str = "\
Examples:
  befit matrix --quick
  befit matrix --html matrix.html --format json --output matrix.json
  befit matrix --programs rrm,samplesort --machine epyc-9654 --sched pws,sb
  befit matrix --quick --programs quicksort --data below,at,above
  befit matrix --manifest-path ../mine/Cargo.toml --bin mine -- input.txt

Each scheduler is compared with ws. Programs run at sizes below, at and above what the last-level \
caches hold together, on models of the machines that are small enough to simulate \
(docs/matrix.md). Results are kept with the recordings as they come: a matrix that was stopped \
goes on where it was.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MatrixArgs {
    /// Minutes instead of hours: fewer programs and machines, one size, smaller models, two seeds
    #[arg(long)]
    quick: bool,
    /// The programs, separated by commas: names, `designed` (those that our own policy was designed
    /// on), `apart` (those kept apart), or `all` [default: all; of the short matrix seven]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    programs: Vec<String>,
    /// How large their data are, against what all last-level caches of a machine hold: `below`,
    /// `at`, `above`, separated by commas, or `fixed` for programs with hardly any [default: all;
    /// of the short matrix `at`, and `fixed` where a program has no other]
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "manifest_path")]
    data: Vec<DataSize>,
    /// Instead of them a crate of yours that uses befit or rayon, on the machines as they are: its
    /// Cargo.toml
    #[arg(long, value_name = "PATH", conflicts_with = "programs")]
    manifest_path: Option<PathBuf>,
    #[command(flatten)]
    binary: BinaryArgs,
    /// A machine, named as for `befit compare`; may be repeated [default: those of the matrix]
    #[arg(long = "machine", value_name = "MACHINE", value_parser = Machine::find)]
    machines: Vec<Machine>,
    /// The schedulers that are compared with ws, separated by commas
    #[arg(long = "sched", value_name = "LIST", value_delimiter = ',')]
    #[arg(default_value = "pws,sb,cats-s,auto")]
    schedulers: Vec<SchedulerKind>,
    #[command(flatten)]
    options: OptionArgs,
    /// So many seeds for every scheduler, 2 at least [default: 3 to 20, until the 95 % interval of
    /// its time against ws is at most 2 points wide, or a quarter of the difference]
    #[arg(long, value_name = "K", value_parser = seeds)]
    seeds: Option<NonZeroU32>,
    /// Record programs again, though the same binary was recorded with the same arguments before
    /// (its input may have changed)
    #[arg(long)]
    fresh: bool,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    output: OutputArgs,
    /// What to start your program with
    #[arg(last = true, value_name = "ARGS", requires = "manifest_path")]
    arguments: Vec<String>,
}

/// One seed has no interval.
fn seeds(text: &str) -> Result<NonZeroU32, String> {
    match count(text) {
        Ok(seeds) if seeds > NonZeroU32::MIN => Ok(seeds),
        _ => Err("a whole number from 2 up is needed".to_owned()),
    }
}

impl MatrixArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let Self { manifest_path, binary, arguments, .. } = self;
        let own = manifest_path.map(|manifest| binary.source(manifest, arguments));
        own.iter().try_for_each(Source::check)?;
        distinct(&self.machines)?;
        let programs = match own {
            Some(_) => Vec::new(),
            None => MatrixProgram::choose(&self.programs, self.quick)?,
        };
        let plan = MatrixPlan {
            quick: self.quick,
            programs,
            sizes: self.data,
            own,
            machines: self.machines,
            schedulers: self.schedulers,
            seeds: self.seeds,
            options: self.options.0.options(),
            fresh: self.fresh,
        };
        let html = self.page;
        self.output.write(|display, format| {
            let page = html.open(display)?;
            let matrix = plan.run(display)?;
            let results = render_matrix(&matrix, format)?;
            Ok(Written::of(results).and_page(page, || matrix_page(&matrix)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_is_too_few() {
        assert_eq!(seeds("2"), Ok(NonZeroU32::new(2).unwrap()));
        for bad in ["0", "1", "x"] {
            assert!(seeds(bad).is_err(), "{bad}");
        }
    }
}
