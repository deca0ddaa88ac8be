//! `befit compare` and `befit sim`: simulate a program, which the first records and the second
//! reads.

use std::{
    num::{NonZeroU32, NonZeroU64},
    path::PathBuf,
};

use befit_lab::{
    BUDGET, Conclusion, GivenSizes, Progress, Sampling, Seeds, SimulationPlan, Summary,
};
use befit_machine::{Bytes, Machine, MachineError};
use befit_program::Program;
use befit_report::{Format, comparison_page, render, trace};
use clap::Args;

use crate::{
    fail::Failure,
    options::{PolicyArgs, count, distinct, positive, whole},
    output::{Destination, OutputArgs, PageArgs, PageFile, TraceArgs, Written},
    record::{SourceArgs, load},
};

const COMPARE_EXAMPLES: &str = "\
Examples:
  befit compare rrm
  befit compare rgm --n 1000000 --machine epyc-7742 --machine host --sched ws,sb-d
  befit compare rrm --machine 'pack:2 l3:1(size=16777216) core:8 l2:1(size=1048576) pu:1'
  befit compare rrm --seeds 10 --format json --output rrm.json
  befit compare quicksort --bandwidth 25 --cores 4 --shrink 64
  befit compare --manifest-path ../mine/Cargo.toml --bin mine -- input.txt

Each scheduler is compared with the first of the list, by seeds 1, 2, … that both run with. The ± \
is a 95 % interval; where it includes no change at all, 'no difference' stands there. Three seeds \
run at first. A scheduler gets more, 20 at most, until the whole interval of its time is at most \
2 points wide or a quarter of the difference, or the budget is spent. Of a program of more than \
four million touches one line in K is simulated (--sample). Times and counts are medians over the \
seeds; of a sample, figures with a ± are means. Below the tables stands what they mean, and what \
simulations of something else gained: half as many again at most. Recordings are kept under the \
target folder (or in $BEFIT_CACHE) and used again.";

#[derive(Args, Debug)]
#[command(after_help = COMPARE_EXAMPLES)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    plan: PlanArgs,
    #[command(flatten)]
    beside: BesideArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl CompareArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let shrink = self.plan.shrink.unwrap_or_else(|| self.source.usual_shrink());
        let source = self.source.source(shrink)?;
        let (sizes, tries) = (self.plan.sizes.clone(), !self.plan.no_tries);
        let plan = self.plan.at(shrink)?;
        // Before minutes go into a build and a recording.
        check_sample(&plan, RECORDED)?;
        self.output.write(|display, format| {
            let beside = self.beside.open(display)?;
            // The page shows the lines of the source.
            let program = match beside.page {
                Some(_) => self.source.record_lines(&source, display)?,
                None => self.source.record(&source, display)?,
            };
            let program = given(sizes, &program).give(program, display);
            concluded(&plan, &program, tries, beside, display, format)
        })
    }
}

const SIM_EXAMPLES: &str = "\
Examples:
  befit sim rrm.befit
  befit sim rrm.befit --machine epyc-9654 --sched pws,sb --format csv";

#[derive(Args, Debug)]
#[command(after_help = SIM_EXAMPLES)]
pub(crate) struct SimArgs {
    /// A file that `befit record` wrote
    file: PathBuf,
    #[command(flatten)]
    plan: PlanArgs,
    #[command(flatten)]
    beside: BesideArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl SimArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let shrink = self.plan.shrink.unwrap_or(1);
        let (sizes, tries) = (self.plan.sizes.clone(), !self.plan.no_tries);
        let plan = self.plan.at(shrink)?;
        let program = load(&self.file)?;
        check_sample(&plan, program.meta().line_size)?;
        self.output.write(|display, format| {
            let beside = self.beside.open(display)?;
            let program = given(sizes, &program).give(program, display);
            concluded(&plan, &program, tries, beside, display, format)
        })
    }
}

/// The lines that the recorder records.
const RECORDED: Bytes = Bytes(64);

/// Whether one line in as many as asked for can be simulated on all machines.
fn check_sample(plan: &SimulationPlan, recorded: Bytes) -> Result<(), Failure> {
    let check = |machine| plan.sampling.check(machine, recorded);
    Ok(plan.machines.iter().try_for_each(check)?)
}

/// Simulates as planned, and says what the results mean.
fn concluded<'a>(
    plan: &SimulationPlan,
    program: &Program,
    tries: bool,
    beside: Beside<'a>,
    display: &dyn Progress,
    format: Format,
) -> Result<Written<'a>, Failure> {
    let (results, conclusions) = match format {
        // CSV has no place for conclusions.
        Format::Csv if beside.page.is_none() => (plan.simulate_kept(program, display)?, Vec::new()),
        _ => plan.simulate_and_conclude(program, tries, display)?,
    };
    let written = Written::of(render(&results, &conclusions, format)?);
    beside.add_to(written, plan, program, (&results, &conclusions), display)
}

/// What is written beside the results.
#[derive(Args, Debug)]
struct BesideArgs {
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    trace: TraceArgs,
}

impl BesideArgs {
    fn open(&self, progress: &dyn Progress) -> Result<Beside<'_>, Failure> {
        let trace = self.trace.open()?;
        Ok(Beside { page: self.page.open(progress)?, trace })
    }
}

/// The same, open.
struct Beside<'a> {
    page: Option<PageFile<'a>>,
    trace: Option<Destination<'a>>,
}

impl<'a> Beside<'a> {
    fn add_to(
        self,
        mut written: Written<'a>,
        plan: &SimulationPlan,
        program: &Program,
        (results, conclusions): (&[Summary], &[Conclusion]),
        progress: &dyn Progress,
    ) -> Result<Written<'a>, Failure> {
        if self.page.is_none() && self.trace.is_none() {
            return Ok(written);
        }
        let looks = plan.look(program, self.page.is_some(), progress)?;
        if let Some(page) = self.page {
            let mut misses = Vec::new();
            for machine in &plan.machines {
                let is_its = |c: &&Conclusion| c.machine == machine.name;
                let best = conclusions.iter().find(is_its).map(|c| c.choice.best);
                if let Some(scheduler) = best.or(plan.schedulers.first().copied()) {
                    misses.push(plan.misses_on(machine, scheduler, program, progress)?);
                }
            }
            let drawn = || comparison_page(results, conclusions, &looks, &misses);
            written = written.and_page(Some(page), drawn);
        }
        if let Some(file) = self.trace {
            let text = trace(&looks)?;
            written = written.and(move || file.write(&text));
        }
        Ok(written)
    }
}

/// The sizes that were asked for, or the usual ones of `program`.
fn given(asked: Option<GivenSizes>, program: &Program) -> GivenSizes {
    asked.unwrap_or_else(|| GivenSizes::usual(program))
}

/// What to simulate on.
#[derive(Args, Debug)]
struct PlanArgs {
    /// A preset (see `befit list`), `host`, a file that `lstopo FILE.xml` or `befit
    /// calibrate -o FILE` wrote, or an hwloc synthetic string; may be repeated
    #[arg(long = "machine", value_name = "MACHINE", default_value = "xeon-7560")]
    #[arg(value_parser = Machine::find)]
    machines: Vec<Machine>,
    #[command(flatten)]
    policies: PolicyArgs,
    /// The sizes that schedulers see: `none`; those that tasks `declared`; `measured`, each task's
    /// footprint in the recording; `learned` from the recording for the tasks that declare none, or
    /// `learned=FILE` of `befit learn`; `only-learned` and `only-learned=FILE`, whatever tasks
    /// declare [default: declared, or learned if the program declares none]
    #[arg(long, value_name = "SIZES", value_parser = GivenSizes::find)]
    sizes: Option<GivenSizes>,
    /// So many seeds for every scheduler [default: 3 to 20, until the 95 % interval of its time
    /// against the first is at most 2 points wide, or a quarter of the difference]
    #[arg(long, value_name = "K", value_parser = count::<NonZeroU32>)]
    seeds: Option<NonZeroU32>,
    /// Adds no seeds after the third that would make all simulations together touch more lines
    /// [default: 1_500_000_000]
    #[arg(long, value_name = "TOUCHES", value_parser = count::<NonZeroU64>)]
    #[arg(conflicts_with = "seeds")]
    budget: Option<NonZeroU64>,
    /// Simulates the touches of one line in K only, another group of lines with each seed, and
    /// prints intervals for the figures of all lines: a power of two; `off` for all lines; or
    /// `auto` for the largest, up to 64, that leaves two million touches in groups that are alike.
    /// Where the interval of time or of a level's misses reaches further than 10 %, `auto` adds
    /// seeds, up to 20, and then halves K as long as that helps. With `auto` programs are
    /// simulated whole that are small, have strands of few touches, follow pointers, or have
    /// strides that favour some lines
    #[arg(long, value_name = "K", default_value = "auto")]
    sample: Sampling,
    /// The share of the machines' memory bandwidth, by binding pages to as many of its memory
    /// controllers
    #[arg(long, value_name = "PERCENT", value_parser = whole::<u32>)]
    bandwidth: Option<u32>,
    /// So many of the machines' sockets (outermost caches) only
    #[arg(long, value_name = "COUNT", value_parser = whole::<u32>)]
    sockets: Option<u32>,
    /// So many cores of each socket only
    #[arg(long, value_name = "COUNT", value_parser = whole::<u32>)]
    cores: Option<u32>,
    /// A model K times smaller: caches, scheduling costs and a kernel's size and cut-offs divided
    /// by K. The size of queens and knapsack stays, and so do cut-offs that are fixed:
    /// docs/space-bounded.md says which kernels have the task tree of the large run [default: 1,
    /// or 16 for kernels whose usual size is too large to simulate]
    #[arg(long, value_name = "K", value_parser = positive)]
    shrink: Option<u32>,
    /// Concludes from the comparison alone: simulates nothing else to find out what may help
    #[arg(long)]
    no_tries: bool,
}

impl PlanArgs {
    /// What to simulate, as a model `shrink` times smaller.
    fn at(self, shrink: u32) -> Result<SimulationPlan, Failure> {
        let vary = |mut machine: Machine| {
            if let Some(sockets) = self.sockets {
                machine = machine.with_sockets(sockets)?;
            }
            if let Some(cores) = self.cores {
                machine = machine.with_cores(cores)?;
            }
            if let Some(percent) = self.bandwidth {
                machine = machine.with_bandwidth(percent)?;
            }
            machine.shrunk(shrink)
        };
        let machines: Result<Vec<_>, MachineError> = self.machines.into_iter().map(vary).collect();
        let machines = machines.map_err(Failure::usage)?;
        distinct(&machines)?;
        let PolicyArgs { schedulers, options } = self.policies;
        Ok(SimulationPlan {
            machines,
            schedulers,
            seeds: match self.seeds {
                Some(number) => Seeds::Fixed(number),
                None => Seeds::Enough { budget: self.budget.map_or(BUDGET, NonZeroU64::get) },
            },
            options: options.0.options(),
            shrink,
            sampling: self.sample,
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::{Cli, Command, options::tests::each_option};

    #[test]
    fn each_option_reaches_the_plan() {
        for (arguments, expected) in each_option() {
            for command in ["compare", "sim"] {
                let line = ["befit", command, "rrm"].into_iter().map(str::to_owned);
                let cli = Cli::try_parse_from(line.chain(arguments.clone())).unwrap();
                let plan = match cli.command {
                    Command::Compare(args) => args.plan,
                    Command::Sim(args) => args.plan,
                    other => panic!("{other:?}"),
                };
                assert_eq!(plan.at(1).unwrap().options, expected.options());
            }
        }
    }
}
