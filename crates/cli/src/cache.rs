//! `befit cache`: lists and clears what befit keeps between its runs.

use std::{path::PathBuf, time::SystemTime};

use befit_lab::{Kept, KeptKind};
use befit_machine::Bytes;
use clap::{Args, ValueEnum};

use crate::{fail::Failure, options::whole, output::print};

const EXAMPLES: &str = "\
Examples:
  befit cache
  befit cache --clear results
  befit cache --most 2
  befit cache --target-dir ../mine/target --clear all

All of it can be made again: clearing it costs time only.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CacheArgs {
    /// Remove all of a kind
    #[arg(long, value_name = "KIND")]
    clear: Option<Clear>,
    /// Remove recordings and results, those that were used longest ago first, until the rest has no
    /// more than so many GiB
    #[arg(long, value_name = "GIB", value_parser = whole::<u32>, conflicts_with = "clear")]
    most: Option<u32>,
    /// The target folder of a crate of yours [default: what is kept of befit's own kernels];
    /// without effect where the variable BEFIT_CACHE names a folder
    #[arg(long, value_name = "FOLDER")]
    target_dir: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum, Debug)]
enum Clear {
    /// Recordings of programs
    Recordings,
    /// What simulations have found, and what tasks touch
    Results,
    /// Programs built with instrumentation, or to be timed
    Builds,
    /// All of these
    All,
}

impl CacheArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let cache = Kept::open(self.target_dir.as_deref())?;
        let removed = match (self.clear, self.most) {
            (Some(Clear::All), _) => cache.clear(&KeptKind::ALL)?,
            (Some(Clear::Recordings), _) => cache.clear(&[KeptKind::Recordings])?,
            (Some(Clear::Results), _) => cache.clear(&[KeptKind::Results])?,
            (Some(Clear::Builds), _) => cache.clear(&[KeptKind::Builds])?,
            (None, Some(most)) => cache.bound(Bytes(u64::from(most) << 30))?,
            (None, None) => {
                let things = cache.things()?;
                return print(&befit_report::kept(cache.folder(), &things, SystemTime::now()));
            }
        };
        print(&befit_report::cleared(&removed))
    }
}
