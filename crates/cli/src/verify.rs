//! `befit verify`: predict, run, print both.

use std::{
    num::{NonZeroU32, NonZeroU64},
    path::PathBuf,
};

use befit_lab::{
    KernelSource, LabError, Source, Verified, VerifyPlan, VerifyProgram, check_threads, kernels,
    learning_n, verified_n,
};
use befit_machine::Machine;
use befit_report::{render_verified, verify_page};
use befit_sched::SchedulerKind;
use clap::Args;

use crate::{
    fail::{Failure, first_of, interrupt},
    options::{BinaryArgs, OptionArgs, count, whole},
    output::{OutputArgs, PageArgs},
    progress::Display,
};

/// The seed of kernels that are given none.
const DEFAULT_SEED: u64 = 1;

const EXAMPLES: &str = "\
Examples:
  befit verify                                all kernels, on one thread and two
  befit verify rrm quicksort --threads 1,2,4 --sched ws,sb
  befit verify rrm --machine our-machine.xml --check
  befit verify --format json --output docs/verified/our-machine.json
  befit verify --manifest-path ../mine/Cargo.toml --bin mine -- input.txt

Each program is recorded once and simulated on the first workers of the machine, as many as there \
are threads. It then runs natively, in turn with each number of threads and each scheduler. Leave \
the machine alone meanwhile. docs/verify.md says how to read the result.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct VerifyArgs {
    /// Kernels (see `befit list`); by default all
    #[arg(value_name = "KERNEL", conflicts_with = "manifest_path")]
    kernels: Vec<String>,
    /// The kernels' size, as each counts it; by default one that runs in about a second at most
    #[arg(long, value_name = "N", requires = "kernels", value_parser = count::<NonZeroU64>)]
    n: Option<NonZeroU64>,
    /// The size of the run that the kernels' work is learnt from; by default a smaller one
    #[arg(long, value_name = "N", requires = "kernels", value_parser = count::<NonZeroU64>)]
    learn_n: Option<NonZeroU64>,
    /// The seed of whatever is random in the kernels' input [default: 1]
    #[arg(long, value_name = "X", conflicts_with = "manifest_path", value_parser = whole::<u64>)]
    data_seed: Option<u64>,
    /// The same for the run that the kernels' work is learnt from; by default the next seed
    #[arg(long, value_name = "X", conflicts_with = "manifest_path", value_parser = whole::<u64>)]
    learn_seed: Option<u64>,
    /// Verify a crate of yours that uses befit, or rayon with befit's rayon-core: its Cargo.toml
    #[arg(long, value_name = "PATH")]
    manifest_path: Option<PathBuf>,
    #[command(flatten)]
    binary: BinaryArgs,
    /// What to start your program with for the run that its work is learnt from, separated by
    /// spaces; by default the same as for the run that is verified
    #[arg(long, value_name = "ARGS", requires = "manifest_path", allow_hyphen_values = true)]
    learn_args: Option<String>,
    /// Numbers of threads, separated by commas; speed-ups refer to the first
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1,2")]
    #[arg(value_parser = count::<NonZeroU32>)]
    threads: Vec<NonZeroU32>,
    /// The schedulers, separated by commas
    #[arg(long = "sched", value_name = "LIST", value_delimiter = ',', default_value = "ws")]
    schedulers: Vec<SchedulerKind>,
    #[command(flatten)]
    options: OptionArgs,
    /// How often each runs natively
    #[arg(long, value_name = "K", default_value = "5", value_parser = count::<NonZeroU32>)]
    repeats: NonZeroU32,
    /// How many seeds are simulated
    #[arg(long, value_name = "K", default_value = "3", value_parser = count::<NonZeroU32>)]
    seeds: NonZeroU32,
    /// What stands for this machine in the simulation: `host`, a preset, a file that `befit
    /// calibrate -o FILE` or lstopo wrote, or an hwloc synthetic string
    #[arg(long, value_name = "MACHINE", default_value = "host", value_parser = machine)]
    machine: (String, Machine),
    /// Record again what was recorded before
    #[arg(long)]
    fresh: bool,
    /// How often the runs of a program may be put off, or repeated, while other work or another
    /// guest of a virtual machine's host uses its processors: 30 ms each time
    #[arg(long, value_name = "K", default_value = "1000", value_parser = whole::<u32>)]
    patience: u32,
    /// Leave out the last step, in which figures of the machine are varied: it can take as long as
    /// all before it
    #[arg(long)]
    no_suspect: bool,
    /// End with exit code 1 unless nine tenths of the ratios are within 0.8 to 1.25 and none is
    /// outside of 0.67 to 1.5
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    output: OutputArgs,
    /// What to start your program with
    #[arg(
        last = true,
        value_name = "ARGS",
        requires = "manifest_path",
        conflicts_with = "kernels"
    )]
    arguments: Vec<String>,
}

/// A machine, and how it was named.
fn machine(text: &str) -> Result<(String, Machine), befit_machine::MachineError> {
    Ok((text.to_owned(), Machine::find(text)?))
}

impl VerifyArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let plan = self.plan();
        plan.threads.iter().try_for_each(|threads| check_threads(*threads))?;
        // That the file cannot be written is said now, and not after the runs; nothing is left on
        // Ctrl-C.
        drop(self.output.open()?);
        let interrupt = interrupt()?;
        let display = Display::new();
        let page = self.page.open(&display)?;
        let verified = plan.run(&interrupt, &display)?;
        drop(display);
        let results =
            || self.output.open()?.write(&render_verified(&verified, self.output.format())?);
        // What was measured cannot be had again: it is written before the page. The verdict counts
        // whatever becomes of both.
        let written = results();
        let page = page.map_or(Ok(()), |page| page.write(&verify_page(&verified)));
        let verdict = if interrupt.is_raised() {
            Err(LabError::Interrupted.into())
        } else {
            self.verdict(&verified)
        };
        first_of([verdict, written, page])
    }

    /// Whether all programs have results, and they are as `--check` wants them.
    fn verdict(&self, verified: &Verified) -> Result<(), Failure> {
        if let [.., why] = &verified.failed[..] {
            let count = verified.failed.len();
            return Err(Failure::other(format!("programs without results: {count}; {why}")));
        }
        if self.check && !verified.holds() {
            let (within, far, all) = (verified.within, verified.far, verified.results.len());
            return Err(Failure::other(format!(
                "predictions do not hold: {within} of {all} within 0.8 to 1.25, {far} outside of \
                 0.67 to 1.5"
            )));
        }
        Ok(())
    }

    fn plan(&self) -> VerifyPlan {
        let (asked, machine) = self.machine.clone();
        VerifyPlan {
            programs: self.programs(),
            threads: self.threads.clone(),
            schedulers: self.schedulers.clone(),
            repeats: self.repeats,
            seeds: self.seeds,
            options: self.options.0,
            machine,
            asked,
            fresh: self.fresh,
            patience: self.patience,
            suspects: !self.no_suspect,
        }
    }

    fn programs(&self) -> Vec<VerifyProgram> {
        if let Some(manifest) = &self.manifest_path {
            let source = |arguments| self.binary.clone().source(manifest.clone(), arguments);
            let words = |line: &String| line.split_whitespace().map(str::to_owned).collect();
            let learn = self.learn_args.as_ref().map_or_else(|| self.arguments.clone(), words);
            let (source, learn) = (source(self.arguments.clone()), source(learn));
            return vec![VerifyProgram { source, learn }];
        }
        let all = || kernels().into_iter().map(|(name, _)| name.to_owned()).collect();
        let names = if self.kernels.is_empty() { all() } else { self.kernels.clone() };
        let program = |name: String| {
            let n = self.n.map(NonZeroU64::get).or_else(|| verified_n(&name));
            let smaller = || n.map(|n| learning_n(&name, n));
            let learn = self.learn_n.map(NonZeroU64::get).or_else(smaller);
            let seed = self.data_seed;
            let next = || seed.unwrap_or(DEFAULT_SEED).wrapping_add(1);
            let learn_seed = Some(self.learn_seed.unwrap_or_else(next));
            let source =
                |n, seed| Source::Kernel(KernelSource { n, seed, ..KernelSource::new(&*name) });
            VerifyProgram { source: source(n, seed), learn: source(learn, learn_seed) }
        };
        names.into_iter().map(program).collect()
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::{Cli, Command};

    fn parsed(line: &str) -> Result<VerifyArgs, String> {
        let words = ["befit", "verify"].into_iter().chain(line.split_whitespace());
        match Cli::try_parse_from(words).map_err(|error| error.to_string())?.command {
            Command::Verify(args) => Ok(args),
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn all_kernels_are_verified_with_work_learnt_at_another_size_and_seed() {
        let programs = parsed("").unwrap().programs();
        assert_eq!(programs.len(), kernels().len());
        let quicksort = |n, seed| {
            let kernel = KernelSource::new("quicksort");
            Source::Kernel(KernelSource { n: Some(n), seed, ..kernel })
        };
        for (line, n, seed, learn_n, learn_seed) in [
            ("", 4_000_000, None, 1_000_000, 2),
            ("quicksort --n 5_000 --data-seed 3", 5_000, Some(3), 1_250, 4),
            ("quicksort --n 5_000 --learn-n 70 --learn-seed 8", 5_000, None, 70, 8),
        ] {
            let (source, learn) = (quicksort(n, seed), quicksort(learn_n, Some(learn_seed)));
            let programs = parsed(line).unwrap().programs();
            assert!(programs.contains(&VerifyProgram { source, learn }), "{line}");
        }
    }

    #[test]
    fn what_excludes_each_other_is_refused() {
        for bad in ["rrm --manifest-path x", "--n 5", "--bin x", "rrm -- x", "--threads 0"] {
            assert!(parsed(bad).is_err(), "{bad}");
        }
    }
}
