//! `befit reproduce`.

use std::{num::NonZeroU32, path::PathBuf};

use befit_lab::reproduce::Study;
use befit_machine::Machine;
use clap::Args;

use super::{OutputArgs, values};

const EXAMPLES: &str = "\
Examples:
  befit reproduce space-bounded --quick
  befit reproduce space-bounded --html study.html --format json --output study.json
  befit reproduce space-bounded --machine epyc-9654

Each figure stands beside what the paper reported, with a verdict; one that is out of range says why.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReproduceArgs {
    /// The study (see `befit list`)
    pub(crate) study: Study,
    /// Minutes instead of up to an hour: smaller inputs, fewer seeds
    #[arg(long)]
    pub(crate) quick: bool,
    /// Another machine than the paper's, named as for `befit compare`
    #[arg(long, value_name = "MACHINE", value_parser = values::machine)]
    pub(crate) machine: Option<Machine>,
    /// How many seeds, if not the study's own choice
    #[arg(long, value_name = "K", value_parser = values::seeds)]
    pub(crate) seeds: Option<NonZeroU32>,
    /// A page with plots to write as well; it needs no network and appears whole or not at all.
    /// What draws it is built at the first time
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
