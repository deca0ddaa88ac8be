//! `befit record`: record a program into a file, and say what is in it. The program is a kernel of
//! ours, or a crate of the user's.

use std::{
    num::NonZeroU64,
    path::{Path, PathBuf},
};

use befit_lab::{KernelSource, Source, names_file};
use befit_program::Program;
use clap::Args;

use crate::{
    fail::Failure,
    options::{BinaryArgs, count, positive, whole},
    output::{Destination, print},
    progress::Display,
};

/// The recording in `file`, which the user named.
pub(crate) fn load(file: &Path) -> Result<Program, Failure> {
    Program::load(file)
        .map_err(|e| Failure::usage(format!("cannot read the recording {}: {e}", file.display())))
}

/// Which program to record.
#[derive(Args, Debug)]
#[group(skip)]
pub(crate) struct SourceArgs {
    /// A kernel (see `befit list`)
    #[arg(conflicts_with_all = ["manifest_path", "package", "bin", "example", "features"])]
    #[arg(conflicts_with_all = ["no_default_features", "profile", "target_dir", "stdin", "inputs"])]
    kernel: Option<String>,
    /// The kernel's size, as it counts it: elements, say
    #[arg(long, value_name = "N", conflicts_with = "manifest_path")]
    #[arg(value_parser = count::<NonZeroU64>)]
    n: Option<NonZeroU64>,
    /// The seed of whatever is random in the kernel's input [default: 1]
    #[arg(long, value_name = "X", conflicts_with = "manifest_path", value_parser = whole::<u64>)]
    data_seed: Option<u64>,
    /// Record a crate of yours that uses befit or rayon: its Cargo.toml
    #[arg(long, value_name = "PATH")]
    manifest_path: Option<PathBuf>,
    #[command(flatten)]
    binary: BinaryArgs,
    /// Record again, though the same binary was recorded with the same arguments before (its input
    /// may have changed)
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Do not time the program's operations in a build without instrumentation: they then take
    /// what the machine says (`operation=`)
    #[arg(long)]
    no_work: bool,
    /// What to start your program with
    #[arg(last = true, value_name = "ARGS", conflicts_with = "kernel")]
    arguments: Vec<String>,
}

impl SourceArgs {
    /// By how much a model of it is shrunk where nobody said.
    pub(crate) fn usual_shrink(&self) -> u32 {
        match (&self.kernel, self.n) {
            (Some(name), None) => befit_lab::usual_shrink(name),
            _ => 1,
        }
    }

    /// The file that was named instead of a kernel, where a command takes either. What says how to
    /// record does not go with it.
    pub(crate) fn named_file(&self) -> Result<Option<&Path>, Failure> {
        let Some(name) = self.kernel.as_deref().filter(|name| names_file(name)) else {
            return Ok(None);
        };
        let given = [
            ("--n", self.n.is_some()),
            ("--data-seed", self.data_seed.is_some()),
            ("--fresh", self.fresh),
            ("--no-work", self.no_work),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            None => Ok(Some(Path::new(name))),
            Some((option, _)) => Err(Failure::usage(format!(
                "{name} is a recording, so {option} has no meaning: it says how to record"
            ))),
        }
    }

    /// Records `source`, with its work unless that was refused.
    pub(crate) fn record(
        &self,
        source: &Source,
        progress: &Display,
    ) -> Result<Program, befit_lab::LabError> {
        if self.no_work {
            return befit_lab::record_uncalibrated(source, self.fresh, progress);
        }
        befit_lab::record(source, self.fresh, progress)
    }

    /// The same, with the lines of the source that touch and take memory.
    pub(crate) fn record_lines(
        &self,
        source: &Source,
        progress: &Display,
    ) -> Result<Program, befit_lab::LabError> {
        befit_lab::record_spots(source, !self.no_work, self.fresh, progress)
    }

    /// What was asked for, as a kernel's model if it is to be shrunk.
    pub(crate) fn source(&self, shrink: u32) -> Result<Source, Failure> {
        let source = match (&self.manifest_path, &self.kernel) {
            (Some(manifest), _) => {
                self.binary.clone().source(manifest.clone(), self.arguments.clone())
            }
            (None, Some(name)) => Source::Kernel(KernelSource {
                name: name.clone(),
                n: self.n.map(NonZeroU64::get),
                seed: self.data_seed,
                shrink,
            }),
            (None, None) => return Err(Failure::no_program("--manifest-path path/to/Cargo.toml")),
        };
        source.check()?;
        Ok(source)
    }
}

const EXAMPLES: &str = "\
Examples:
  befit record rrm --n 1000000 -o rrm.befit
  befit record --manifest-path ../mine/Cargo.toml --example mine -o mine.befit -- input.txt";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RecordArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Record a kernel K times smaller, with cut-offs K times smaller; give `befit sim` the same
    #[arg(long, value_name = "K", default_value = "1", conflicts_with = "manifest_path")]
    #[arg(value_parser = positive)]
    shrink: u32,
    /// With the lines of the source that touch data, and that take memory, for `befit misses`: a
    /// larger recording
    #[arg(long)]
    lines: bool,
    /// The file to write; it appears whole or not at all
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

impl RecordArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let source = self.source.source(self.shrink)?;
        // That the file cannot be written is said now, and not after the recording.
        drop(Destination::open(Some(&self.output))?);
        let display = Display::new();
        let program = if self.lines {
            self.source.record_lines(&source, &display)?
        } else {
            self.source.record(&source, &display)?
        };
        drop(display);
        program.save(&self.output).map_err(Failure::other)?;
        let bytes = self.output.metadata().map_err(Failure::other)?.len();
        print(&befit_report::recording(&program, bytes))
    }
}
