//! `befit-sweep`: runs sweeps and merges their shards, without Python. `befit sweep` and
//! `befit merge` build it when they are first used.
//!
//! Exit codes are those of `befit`: 2 when what was asked for cannot be, 1 when something else went
//! wrong, a simulation, say. Every error is one line on stderr.

use std::{
    error::Error,
    io::{self, Write},
    num::NonZeroUsize,
    path::PathBuf,
    process::ExitCode,
    sync::{Mutex, PoisonError},
    thread,
};

use befit_lab::{LabError, Progress, building_line, timing_line};
use befit_sweep::{Grid, Resume, Shard, Sweep};
use clap::{Args, Parser, Subcommand};

/// Many simulations into one table, one row each.
#[derive(Parser, Debug)]
#[command(name = "befit", bin_name = "befit", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Simulate every configuration of a grid, one row each, into a Parquet table
    Sweep(SweepArgs),
    /// Put the tables of all shards of a sweep together
    Merge(MergeArgs),
}

const SWEEP_EXAMPLES: &str = "\
Examples:
  befit sweep grid.toml -o results.parquet
  befit sweep grid.toml --shard 2/7 -o part-2.parquet

grid.toml has an axis a line, each with one value or a list of them:
  program = ['rrm --n 1000000', 'mine.befit']   # kernels, or files of `befit record`
  machine = ['xeon-7560', 'epyc-9654']
  scheduler = ['ws', 'sb']
  sigma = [0.25, 0.5]
  seed = '1..20'

A sweep that was stopped goes on where it was when it is started again (docs/sweeps.md).";

#[derive(Args, Debug)]
#[command(after_help = SWEEP_EXAMPLES)]
struct SweepArgs {
    /// The grid: a TOML file
    grid: PathBuf,
    /// The table to write, a Parquet file; until it is complete, what is done is kept in the folder
    /// FILE.sweep
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Only the I-th of N equal parts; `befit merge` puts them together
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Begin anew, even where a part is done
    #[arg(long)]
    fresh: bool,
    /// So many simulations at a time [default: as many as this process may use cores]
    #[arg(long, value_name = "COUNT")]
    threads: Option<NonZeroUsize>,
}

#[derive(Args, Debug)]
struct MergeArgs {
    /// The tables of all shards
    #[arg(required = true)]
    parts: Vec<PathBuf>,
    /// The table to write; the same bytes as of the whole sweep in one go
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

fn main() -> ExitCode {
    let done = match Cli::try_parse() {
        Ok(cli) => match cli.command {
            Command::Sweep(args) => sweep(&args),
            Command::Merge(args) => merge(&args),
        },
        Err(error) if !error.use_stderr() => return print(&error.render().to_string()),
        Err(error) => {
            complain(&befit_lab::one_line(&error.render().to_string()));
            return ExitCode::from(2);
        }
    };
    let Err(error) = done else { return ExitCode::SUCCESS };
    complain(&error.to_string());
    let usage = error.downcast_ref::<LabError>().is_some_and(LabError::is_usage);
    ExitCode::from(if usage { 2 } else { 1 })
}

fn sweep(args: &SweepArgs) -> Result<(), Box<dyn Error>> {
    let grid = Grid::load(&args.grid)?;
    let resume = if args.fresh { Resume::Anew } else { Resume::GoOn };
    let mut sweep = Sweep::open(grid, args.shard, &args.output, resume, &Told::by(io::stderr()))?;
    let cores = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    sweep.run(args.threads.unwrap_or(cores))?;
    let (all, failed) = (sweep.configurations().len(), sweep.failed().len());
    let first = sweep.failed().iter().next().map(|(at, why)| (*at, why.as_str()));
    let outcome = all_succeeded(failed, all, first);
    sweep.finish()?;
    outcome
}

fn merge(args: &MergeArgs) -> Result<(), Box<dyn Error>> {
    let merged = befit_sweep::merge(&args.parts, &args.output)?;
    let first = merged.first_failed.as_ref().map(|(at, why)| (*at, why.as_str()));
    all_succeeded(merged.failed, merged.rows, first)
}

/// An error if any of `all` simulations failed: how many, and the row of the first with its reason.
fn all_succeeded(
    failed: usize,
    all: usize,
    first: Option<(usize, &str)>,
) -> Result<(), Box<dyn Error>> {
    let Some((at, why)) = first else { return Ok(()) };
    Err(format!("{failed} of {all} simulations failed, the first of them row {at}: {why}").into())
}

/// Tells what happens while a kernel is recorded, which takes minutes, in lines as those of the
/// command `befit`, and passes on the output of failures.
struct Told<W>(Mutex<W>);

impl<W: Write> Told<W> {
    fn by(writer: W) -> Self {
        Self(Mutex::new(writer))
    }

    fn line(&self, text: &str) {
        complain_to(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), text);
    }

    fn pass_on(&self, text: &str) {
        let mut writer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = writer.write_all(text.as_bytes());
    }
}

impl<W: Write + Send> Progress for Told<W> {
    fn building(&self, what: &str, instrumented: bool) {
        self.line(&building_line(what, instrumented));
    }

    fn build_failed(&self, said: &str) {
        self.pass_on(&format!("{said}\n"));
    }

    fn said(&self, text: &str) {
        self.pass_on(text);
    }

    fn recording(&self, what: &str, _shown: bool) {
        self.line(&format!("recording {what}"));
    }

    fn timing(&self, what: &str, whole: bool, number: usize, _of: usize) {
        // One line for all runs.
        if number == 1 {
            self.line(&timing_line(what, whole));
        }
    }

    fn note(&self, text: &str) {
        self.line(text);
    }
}

fn print(text: &str) -> ExitCode {
    match io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn complain(text: &str) {
    complain_to(&mut io::stderr(), text);
}

fn complain_to(writer: &mut impl Write, text: &str) {
    let _ = writeln!(writer, "befit: {}", text.lines().collect::<Vec<_>>().join(" "));
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use befit_lab::Silent;
    use befit_machine::Bytes;
    use befit_program::{Meta, ProgramBuilder};
    use serde_json::json;

    use super::*;

    #[test]
    fn regression_notes_and_stages_of_a_recording_are_told() {
        let told = Told::by(Vec::new());
        let progress: &dyn Progress = &told;
        progress.building("rrm", true);
        progress.recording("rrm --n 5", false);
        for number in 1..=3 {
            progress.timing("rrm --n 5", false, number, 3);
        }
        progress.note("rrm --n 5: the recording is\nuncalibrated");
        progress.said("as it is\n");
        assert_eq!(
            String::from_utf8(told.0.into_inner().unwrap()).unwrap(),
            "befit: building rrm with instrumentation\n\
             befit: recording rrm --n 5\n\
             befit: timing rrm --n 5 without instrumentation, strand by strand\n\
             befit: rrm --n 5: the recording is uncalibrated\n\
             as it is\n"
        );
    }

    /// A shard of a sweep of four seeds, of which those of these numbers failed.
    fn shard(folder: &Path, shard: &str, failed: &[usize]) -> PathBuf {
        let grid = json!({
            "program": folder.join("work.befit"),
            "machine": "l3:2 core:2 l1:1 pu:1",
            "scheduler": "ws",
            "seed": "1..4",
        });
        let path = folder.join(format!("{}.parquet", &shard[..1]));
        let grid = Grid::from_json(&grid).unwrap();
        let shard = Some(shard.parse().unwrap());
        let mut sweep = Sweep::open(grid, shard, &path, Resume::GoOn, &Silent).unwrap();
        failed.iter().for_each(|at| sweep.fail(*at, "lost"));
        sweep.run(NonZeroUsize::MIN).unwrap();
        sweep.finish().unwrap();
        path
    }

    #[test]
    fn regression_merged_shards_with_failures_are_written_and_told() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let meta = Meta { name: "work".into(), line_size: Bytes(64), filter: 2 };
        let mut builder = ProgramBuilder::new(meta);
        builder.work(100, 0, 0);
        builder.finish().unwrap().save(folder.join("work.befit")).unwrap();
        let output = folder.join("merged.parquet");
        let merged = |failed: &[usize]| {
            let parts = vec![shard(folder, "1/2", &[]), shard(folder, "2/2", failed)];
            merge(&MergeArgs { parts, output: output.clone() }).map_err(|error| error.to_string())
        };
        // The second shard has rows 1 and 3 of the table.
        let why = "2 of 4 simulations failed, the first of them row 1: lost";
        assert_eq!(merged(&[0, 1]), Err(why.to_owned()));
        assert!(fs::metadata(&output).unwrap().len() > 0);
        // Those that failed are tried again.
        assert_eq!(merged(&[]), Ok(()));
    }

    #[test]
    fn an_argument_that_is_missing_or_unknown_is_told_by_its_name() {
        let said = |words: &[&str]| {
            let error = Cli::try_parse_from([&["befit"], words].concat()).unwrap_err();
            befit_lab::one_line(&error.render().to_string())
        };
        assert_eq!(
            said(&["sweep", "grid.toml"]),
            "the following required arguments were not provided: --output <FILE>; try '--help'"
        );
        let merge = said(&["merge"]);
        assert!(merge.contains("--output <FILE>") && merge.contains("<PARTS>"), "{merge}");
        let unknown = said(&["sweep", "grid.toml", "-o", "a", "--shad", "1/2"]);
        assert!(unknown.contains("'--shad'") && unknown.contains("'--shard'"), "{unknown}");
        for line in [merge, unknown] {
            assert!(line.lines().count() == 1 && !line.contains("Usage"), "{line}");
        }
    }
}
