//! `befit learn`: record a program, or read recordings of it, and write what they tell of its
//! tasks' sizes.

use std::path::{Path, PathBuf};

use befit_program::Program;
use befit_sched::sizes::SizeTable;
use clap::Args;

use crate::{
    fail::Failure,
    output::{Destination, print},
    progress::Display,
    record::SourceArgs,
};

const EXAMPLES: &str = "\
Examples:
  befit learn --manifest-path ../mine/Cargo.toml --bin mine -o mine.sizes -- input.txt
  befit learn rrm --n 1000000 -o rrm.sizes
  befit learn small.befit large.befit -o mine.sizes

Recordings of inputs of different sizes, the smallest first, tell how tasks grow with the input; of
one recording that is a guess. A name with a dot or a slash is that of a recording.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LearnArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Recordings of the same program that `befit record` wrote; the first stands where a kernel
    /// would
    #[arg(value_name = "FILE")]
    more: Vec<PathBuf>,
    /// The file to write; it appears whole or not at all [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl LearnArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let programs = self.programs()?;
        let destination = Destination::open(self.output.as_deref())?;
        let display = Display::new();
        let programs = match programs {
            Some(programs) => programs,
            None => vec![self.source.record(&self.source.source(1), &display)?],
        };
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

    /// The recordings that were named; none where a program is to be recorded.
    fn programs(&self) -> Result<Option<Vec<Program>>, Failure> {
        let Some(first) = self.source.named_file() else {
            if let Some(file) = self.more.first() {
                return Err(Failure::usage(format!(
                    "{} stands behind a program; learn from a program, or from files that befit \
                     record wrote",
                    file.display()
                )));
            }
            self.source.source(1).check()?;
            return Ok(None);
        };
        let files = std::iter::once(first).chain(self.more.iter().map(PathBuf::as_path));
        files.map(recording).collect::<Result<_, _>>().map(Some)
    }
}

fn recording(file: &Path) -> Result<Program, Failure> {
    Program::load(file)
        .map_err(|e| Failure::usage(format!("cannot read the recording {}: {e}", file.display())))
}

/// The table of sizes in a file.
pub(crate) fn table(file: &Path) -> Result<SizeTable, Failure> {
    SizeTable::load(file).map_err(|e| Failure::usage(format!("sizes {}: {e}", file.display())))
}
