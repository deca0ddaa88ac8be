//! The command line, as clap sees it.

mod footprint;
mod reproduce;
mod run;
mod sizes;
mod source;
mod values;

use std::path::PathBuf;

use befit_machine::Machine;
use befit_sched::{Counting, SchedulerKind};
use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use footprint::FootprintArgs;
pub(crate) use reproduce::ReproduceArgs;
pub(crate) use run::RunArgs;
pub(crate) use sizes::SizesArgs;
pub(crate) use source::SourceArgs;

/// Shows what each scheduler would do to a parallel program's cache misses and running time, on any
/// machine.
#[derive(Parser, Debug)]
#[command(name = "befit", version, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  befit compare rrm                           a kernel under four schedulers on a machine of 4 sockets x 8 cores
  befit compare --manifest-path ../mine/Cargo.toml --bin mine -- input.txt
                                              a program of yours that uses befit
  befit run rrm                               a kernel on this machine, under four schedulers in turn
  befit topo --machine host                   the caches of this machine
  befit reproduce space-bounded --quick       a paper's figures, repeated
  befit list                                  the kernels, machines, schedulers and studies";

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Record a program once, simulate it under several schedulers, and print the comparison
    Compare(CompareArgs),
    /// Run a program on this machine under several schedulers, and print where its workers' time
    /// went
    Run(RunArgs),
    /// Record a program into a file
    Record(RecordArgs),
    /// Simulate a recorded program
    Sim(SimArgs),
    /// Repeat a paper's experiments, and print each figure beside what the paper reported
    Reproduce(ReproduceArgs),
    /// Count what tasks leave in a cache for one another
    Footprint(FootprintArgs),
    /// Compare the sizes that a program's tasks declare with what they touch
    Sizes(SizesArgs),
    /// Draw a machine's tree of caches
    Topo(TopoArgs),
    /// List the kernels, machines, schedulers and studies
    List,
}

const COMPARE_EXAMPLES: &str = "\
Examples:
  befit compare rrm
  befit compare rgm --n 1000000 --machine epyc-7742 --machine host --sched ws,sb-d
  befit compare rrm --machine 'pack:2 l3:1(size=16777216) core:8 l2:1(size=1048576) pu:1'
  befit compare rrm --seeds 10 --format json --output rrm.json
  befit compare quicksort --bandwidth 25 --cores 4 --shrink 64
  befit compare --manifest-path ../mine/Cargo.toml --bin mine -- input.txt

Each scheduler is compared with the first of the list. Seeds are 1, 2, … up to --seeds; figures are medians over
them. Recordings are kept under the target folder (or in $BEFIT_CACHE) and used again.";

#[derive(Args, Debug)]
#[command(after_help = COMPARE_EXAMPLES)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) plan: PlanArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

const RECORD_EXAMPLES: &str = "\
Examples:
  befit record rrm --n 1000000 -o rrm.befit
  befit record --manifest-path ../mine/Cargo.toml --example mine -o mine.befit -- input.txt";

#[derive(Args, Debug)]
#[command(after_help = RECORD_EXAMPLES)]
pub(crate) struct RecordArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// Record a kernel K times smaller, with cut-offs K times smaller; give `befit sim` the same
    #[arg(long, value_name = "K", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) shrink: u32,
    /// The file to write; it appears whole or not at all
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

const SIM_EXAMPLES: &str = "\
Examples:
  befit sim rrm.befit
  befit sim rrm.befit --machine epyc-9654 --sched pws,sb --format csv";

#[derive(Args, Debug)]
#[command(after_help = SIM_EXAMPLES)]
pub(crate) struct SimArgs {
    /// A file that `befit record` wrote
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) plan: PlanArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// What to simulate on.
#[derive(Args, Debug)]
pub(crate) struct PlanArgs {
    /// A preset (see `befit list`), `host`, a file that `lstopo FILE.xml` wrote, or an hwloc
    /// synthetic string; may be repeated
    #[arg(long = "machine", value_name = "MACHINE", default_value = "xeon-7560", value_parser = values::machine)]
    pub(crate) machines: Vec<Machine>,
    /// The schedulers, separated by commas; the first is what the others are compared with
    #[arg(
        long = "sched",
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "ws,pws,sb,sb-d"
    )]
    pub(crate) schedulers: Vec<SchedulerKind>,
    /// How many seeds
    #[arg(long, value_name = "K", default_value = "3", value_parser = values::seeds)]
    pub(crate) seeds: std::num::NonZeroU32,
    /// Dilation of the space-bounded schedulers, above 0 and up to 1: a task befits a cache of size
    /// M if it is no larger than sigma x M
    #[arg(long, default_value = "0.5", value_parser = values::share)]
    pub(crate) sigma: f64,
    /// The share of a cache that one passing strand may claim under the space-bounded schedulers,
    /// above 0 and up to 1
    #[arg(long, default_value = "0.2", value_parser = values::share)]
    pub(crate) mu: f64,
    /// How strands count under the space-bounded schedulers that pass through a cache: `capped` (at
    /// mu of it) or in `full`
    #[arg(long, default_value = "capped")]
    pub(crate) counting: Counting,
    /// How many children a task has, for `cab`, which computes from it at which depth to cut
    #[arg(long, value_name = "COUNT", default_value = "2", value_parser = clap::value_parser!(u32).range(2..))]
    pub(crate) branching: u32,
    /// The depth at which `hws` cuts, in forks from the program's start
    #[arg(long, value_name = "DEPTH", default_value = "4")]
    pub(crate) boundary: u32,
    /// The share of the machines' memory bandwidth, by binding pages to as many of its memory
    /// controllers
    #[arg(long, value_name = "PERCENT")]
    pub(crate) bandwidth: Option<u32>,
    /// So many of the machines' sockets (outermost caches) only
    #[arg(long, value_name = "COUNT")]
    pub(crate) sockets: Option<u32>,
    /// So many cores of each socket only
    #[arg(long, value_name = "COUNT")]
    pub(crate) cores: Option<u32>,
    /// A model K times smaller: caches, scheduling costs and a kernel's size and cut-offs divided
    /// by K [default: 1, or 16 for kernels whose usual size is too large to simulate]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) shrink: Option<u32>,
}

/// Where results go, and how they look.
#[derive(Args, Debug)]
pub(crate) struct OutputArgs {
    /// How results are written; JSON is a contract, described in docs/json.md
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// A file to write results to, instead of stdout; it appears whole or not at all
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum Format {
    /// For reading
    #[default]
    Table,
    /// For programs: the schema befit.compare/1; of `befit run` befit.run/2
    Json,
    /// The fields of the JSON, one row a result
    Csv,
}

const TOPO_EXAMPLES: &str = "\
Examples:
  befit topo
  befit topo --machine epyc-9654
  befit topo --machine 'pack:4 l3:1(size=25165824) core:8 l2:1(size=262144) pu:1'";

#[derive(Args, Debug)]
#[command(after_help = TOPO_EXAMPLES)]
pub(crate) struct TopoArgs {
    /// A preset (see `befit list`), `host`, a file that `lstopo FILE.xml` wrote, or an hwloc
    /// synthetic string
    #[arg(long, value_name = "MACHINE", default_value = "host", value_parser = values::machine)]
    pub(crate) machine: Machine,
}
