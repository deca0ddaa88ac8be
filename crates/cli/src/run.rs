//! `befit run`: run natively under each scheduler, print.

use std::{
    ffi::OsString,
    num::{NonZeroU32, NonZeroU64},
};

use befit_lab::{KernelSource, NativePlan, NativeSource, check_threads};
use befit_machine::{Machine, MachineError};
use befit_report::{native_page, native_trace, render_native};
use clap::{Args, ValueEnum};

use crate::{
    fail::{Failure, first_of, interrupt},
    options::{PolicyArgs, count, whole},
    output::{OutputArgs, PageArgs, TraceArgs},
    progress::Display,
};

const EXAMPLES: &str = "\
Examples:
  befit run rrm
  befit run rrm --n 1000000 --sched ws,sb --threads 2 --repeats 11
  befit run rgm --machine 'pack:2 l3:1(size=1048576) core:1 l2:1(size=65536) pu:1' --pin never
  befit run --format json --output mine.json -- target/release/mine input.txt

Each run is a process of its own; the schedulers take turns, and each is compared with the first \
of the list. Figures are medians. A command of yours must use befit and leave the choice of the \
scheduler to the environment (BEFIT_SCHEDULER), as pools do that are not told otherwise. \
docs/run.md says what the columns mean.";

const USAGE: &str = "befit run [OPTIONS] KERNEL\n       befit run [OPTIONS] -- COMMAND [ARGS]...";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, override_usage = USAGE)]
pub(crate) struct RunArgs {
    /// A kernel (see `befit list`)
    #[arg(conflicts_with = "command")]
    kernel: Option<String>,
    /// The kernel's size, as it counts it: elements, say
    #[arg(long, value_name = "N", conflicts_with = "command", value_parser = count::<NonZeroU64>)]
    n: Option<NonZeroU64>,
    /// The seed of whatever is random in the kernel's input [default: 1]
    #[arg(long, value_name = "X", conflicts_with = "command", value_parser = whole::<u64>)]
    data_seed: Option<u64>,
    #[command(flatten)]
    policies: PolicyArgs,
    /// How often each runs
    #[arg(long, value_name = "K", default_value = "7", value_parser = count::<NonZeroU32>)]
    repeats: NonZeroU32,
    /// Threads of a pool; by default as many as the process may use CPUs
    #[arg(long, value_name = "N", value_parser = count::<NonZeroU32>)]
    threads: Option<NonZeroU32>,
    /// The machine to schedule on: a preset, `host`, a file that `befit calibrate -o FILE` or
    /// lstopo wrote, or an hwloc synthetic string; by default this one
    #[arg(long, value_name = "MACHINE", value_parser = machine_name)]
    machine: Option<String>,
    /// Whether threads are pinned; `auto`, the default here, does so if the pool has a thread for
    /// each CPU
    #[arg(long, value_enum)]
    pin: Option<Pin>,
    /// Show what the program writes, on stderr
    #[arg(long)]
    show_output: bool,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    trace: TraceArgs,
    #[command(flatten)]
    output: OutputArgs,
    /// The program to run, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Pin {
    /// If the pool has a thread for each CPU of the process, and no other pool of it is pinned
    Auto,
    /// As far as the system lets it
    Always,
    /// Never
    Never,
}

impl RunArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let source = self.source()?;
        let trace = self.trace.open()?;
        let plan = self.plan();
        plan.threads.map_or(Ok(()), check_threads)?;
        // That the file cannot be written is said now, and not after the runs; nothing is left on
        // Ctrl-C.
        drop(self.output.open()?);
        let interrupt = interrupt()?;
        let display = Display::new();
        let page = self.page.open(&display)?;
        let results = plan.run(&source, &interrupt, &display)?;
        drop(display);
        // What was measured cannot be had again: it is written first, and each of the files is
        // written whatever becomes of the others.
        let write = || self.output.open()?.write(&render_native(&results, self.output.format())?);
        first_of([
            write(),
            page.map_or(Ok(()), |page| page.write(&native_page(&results))),
            trace.map_or(Ok(()), |trace| trace.write(&native_trace(&results.traces)?)),
        ])
    }

    /// What to run.
    fn source(&self) -> Result<NativeSource, Failure> {
        let source = match (self.command.split_first(), &self.kernel) {
            (Some((program, arguments)), _) => {
                NativeSource::Command { program: program.clone(), arguments: arguments.to_vec() }
            }
            (None, Some(kernel)) => NativeSource::Kernel(KernelSource {
                n: self.n.map(NonZeroU64::get),
                seed: self.data_seed,
                ..KernelSource::new(kernel)
            }),
            (None, None) => return Err(Failure::no_program("befit run -- target/release/yours")),
        };
        source.check()?;
        Ok(source)
    }

    /// How.
    fn plan(&self) -> NativePlan {
        NativePlan {
            schedulers: self.policies.schedulers.clone(),
            repeats: self.repeats,
            threads: self.threads,
            machine: self.machine.clone(),
            pin: self.pin.map(|pin| format!("{pin:?}").to_lowercase()),
            options: self.policies.options.0,
            show_output: self.show_output,
            trace: self.trace.is_some(),
        }
    }
}

/// A machine's name, file or description, as it was typed: the process finds it again.
fn machine_name(text: &str) -> Result<String, MachineError> {
    Machine::find(text).map(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use befit_sched::{OptionChoices, SchedulerKind};
    use clap::Parser;

    use super::*;
    use crate::{Cli, Command, options::tests::each_option};

    fn parsed(line: &str) -> Result<RunArgs, String> {
        let words = ["befit", "run"].into_iter().chain(line.split_whitespace());
        match Cli::try_parse_from(words).map_err(|error| error.to_string())?.command {
            Command::Run(args) => Ok(args),
            other => Err(format!("{other:?}")),
        }
    }

    fn schedulers<const N: usize>(names: [&str; N]) -> Vec<SchedulerKind> {
        names.map(|name| name.parse().unwrap()).to_vec()
    }

    fn defaults() -> NativePlan {
        NativePlan {
            schedulers: schedulers(["ws", "pws", "sb", "cats-s", "auto"]),
            repeats: 7.try_into().unwrap(),
            threads: None,
            machine: None,
            pin: None,
            options: OptionChoices::default(),
            show_output: false,
            trace: false,
        }
    }

    #[test]
    fn a_line_gives_its_source_and_its_plan() {
        let kernel = |name: &str, n, seed| {
            NativeSource::Kernel(KernelSource { n, seed, ..KernelSource::new(name) })
        };
        let arguments = ["--n", "5", "--", "-x"].map(Into::into).to_vec();
        let all = NativePlan {
            schedulers: schedulers(["sb", "ws"]),
            repeats: 3.try_into().unwrap(),
            threads: 2.try_into().ok(),
            machine: Some("pu:4".to_owned()),
            pin: Some("never".to_owned()),
            show_output: true,
            ..defaults()
        };
        for (line, source, plan) in [
            ("rrm", kernel("rrm", None, None), defaults()),
            (
                "rgm --n 5_000 --data-seed 9 --sched sb,ws --repeats 3 --threads 2 --machine pu:4 \
                 --pin never --show-output",
                kernel("rgm", Some(5_000), Some(9)),
                all,
            ),
            // What follows two dashes is the command, whatever it looks like.
            (
                "--repeats 7 -- ./mine --n 5 -- -x",
                NativeSource::Command { program: "./mine".into(), arguments },
                defaults(),
            ),
        ] {
            let args = parsed(line).unwrap();
            assert_eq!((args.source().unwrap(), args.plan()), (source, plan));
        }
    }

    #[test]
    fn each_option_reaches_the_plan_and_no_other_is_chosen() {
        for (arguments, options) in each_option() {
            let plan = parsed(&format!("rrm {}", arguments.join(" "))).unwrap().plan();
            assert_eq!(plan, NativePlan { options, ..defaults() });
        }
    }

    #[test]
    fn a_kernel_and_a_command_exclude_each_other() {
        assert!(parsed("rrm -- ./mine").is_err());
        assert!(parsed("--n 5 -- ./mine").is_err());
        for none in ["", "--"] {
            assert!(parsed(none).unwrap().source().is_err());
        }
    }
}
