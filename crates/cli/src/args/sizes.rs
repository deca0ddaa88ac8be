//! `befit sizes`.

use befit_machine::Machine;
use clap::Args;

use super::{OutputArgs, SourceArgs, values};

const EXAMPLES: &str = "\
Examples:
  befit sizes rrm --n 1000000
  befit sizes quicksort --shrink 64 --machine epyc-9654
  befit sizes --manifest-path ../mine/Cargo.toml --bin mine -- input.txt

Tasks are named by their paths: which child of which, from the root down, counted from 0 in the order of forks.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SizesArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// The machine whose caches tasks are to befit, named as for `befit compare`
    #[arg(long, value_name = "MACHINE", default_value = "xeon-7560", value_parser = values::machine)]
    pub(crate) machine: Machine,
    /// Dilation, above 0 and up to 1: a task befits a cache of size M if it is no larger than sigma
    /// x M
    #[arg(long, default_value = "0.5", value_parser = values::share)]
    pub(crate) sigma: f64,
    /// How many of the worst tasks of either kind are shown
    #[arg(long, value_name = "COUNT", default_value = "10")]
    pub(crate) worst: usize,
    /// A model K times smaller: the machine's caches, and a kernel's size and cut-offs, divided by
    /// K [default: as for `befit compare`]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) shrink: Option<u32>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
