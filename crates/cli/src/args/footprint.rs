//! `befit footprint`.

use std::{num::NonZeroU32, path::PathBuf};

use befit_machine::Machine;
use clap::Args;

use super::{OutputArgs, SourceArgs, values};

const EXAMPLES: &str = "\
Examples:
  befit footprint array-abc --n 1
  befit footprint bst:lookups=random --machine xeon-7560 --level 2 --tasks 32 --html bst.html
  befit footprint --manifest-path ../mine/Cargo.toml --bin mine --format csv -- input.txt

For each ordered pair of tasks that fork nothing: how the second finds the frames of a cache right after the first.
docs/footprint.md explains the six numbers.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct FootprintArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// The machine, named as for `befit compare`
    #[arg(long, value_name = "MACHINE", default_value = "gems-sparc", value_parser = values::machine)]
    pub(crate) machine: Machine,
    /// The cache, by its level; the innermost if none is given
    #[arg(long, value_name = "L", value_parser = clap::value_parser!(u8).range(1..))]
    pub(crate) level: Option<u8>,
    /// How many tasks, evenly spread over the program
    #[arg(long, value_name = "K", default_value = "12", value_parser = values::seeds)]
    pub(crate) tasks: NonZeroU32,
    /// A page with heat maps to write as well; it needs no network and appears whole or not at all.
    /// What draws it is built at the first time
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
