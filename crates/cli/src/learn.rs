//! `befit learn`: record a program, or read recordings of it, and write what they tell of its
//! tasks' sizes.

use std::path::{Path, PathBuf};

use befit_sched::sizes::SizeTable;
use clap::Args;

use crate::{
    fail::Failure,
    output::{Destination, print},
    progress::Display,
    record::{SourceArgs, load},
};

const EXAMPLES: &str = "\
Examples:
  befit learn --manifest-path ../mine/Cargo.toml --bin mine -o mine.sizes -- input.txt
  befit learn rrm --n 1000000 -o rrm.sizes
  befit learn small.befit --with large.befit -o mine.sizes

Recordings of inputs of different sizes tell how tasks grow with the input; of one recording that \
is a guess. In place of a kernel a file that `befit record` wrote may stand: a name with a dot or \
a slash.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LearnArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// A further recording of the same program, of an input of another size; may be repeated
    #[arg(long = "with", value_name = "FILE")]
    more: Vec<PathBuf>,
    /// The file to write; it appears whole or not at all [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl LearnArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let file = self.source.named_file()?;
        let source = file.is_none().then(|| self.source.source(1)).transpose()?;
        let files = self.more.iter().map(PathBuf::as_path).chain(file);
        let mut programs: Vec<_> = files.map(load).collect::<Result<_, _>>()?;
        let destination = Destination::open(self.output.as_deref())?;
        let display = Display::new();
        if let Some(source) = &source {
            programs.push(self.source.record(source, &display)?);
        }
        let table = befit_lab::learn(&programs.iter().collect::<Vec<_>>(), &display);
        drop(display);
        if table.sites().is_empty() {
            return Err(Failure::other(
                "nothing was learned: no task of the recording tells where it was forked; record \
                 the program again",
            ));
        }
        destination.write(&table.to_string())?;
        let Some(path) = &self.output else { return Ok(()) };
        let (sites, path) = (table.sites().len(), path.display());
        print(&format!("{path}: sizes of the tasks of {sites} sites\n"))
    }
}

/// The table of sizes in a file.
pub(crate) fn table(file: &Path) -> Result<SizeTable, Failure> {
    SizeTable::load(file).map_err(|e| Failure::usage(format!("sizes {}: {e}", file.display())))
}
