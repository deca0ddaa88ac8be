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
    thread,
};

use befit_lab::{LabError, Progress};
use befit_sweep::{Grid, Resume, Shard, Sweep, merge};
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
            Command::Merge(args) => merge(&args.parts, &args.output).map(drop).map_err(Box::from),
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
    let mut sweep = Sweep::open(grid, args.shard, &args.output, resume, &ToStderr)?;
    let cores = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    sweep.run(args.threads.unwrap_or(cores))?;
    let (all, failed) = (sweep.configurations().len(), sweep.failed().len());
    let first = sweep.failed().iter().next().map(|(at, why)| {
        format!("{failed} of {all} simulations failed, the first of them row {at}: {why}")
    });
    sweep.finish()?;
    first.map_or(Ok(()), |first| Err(first.into()))
}

/// Passes on the output of failures while a kernel is recorded.
struct ToStderr;

impl Progress for ToStderr {
    fn build_failed(&self, said: &str) {
        let _ = io::stderr().write_all(said.as_bytes());
    }

    fn said(&self, text: &str) {
        let _ = io::stderr().write_all(text.as_bytes());
    }
}

fn print(text: &str) -> ExitCode {
    match io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "befit: {}", text.lines().collect::<Vec<_>>().join(" "));
}

#[cfg(test)]
mod tests {
    use super::*;

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
