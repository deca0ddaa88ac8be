//! Runs one kernel and checks its result.

use std::{error::Error, fmt, process::ExitCode};

use befit::{SchedulerKind, ThreadPoolBuilder};
use befit_kernels::{Input, Kernel, Variant, run as run_kernel};
use lexopt::{Arg, Parser, ValueExt};

/// The request of the command line.
struct Run {
    kernel: Variant,
    input: Input,
    threads: Option<usize>,
    scheduler: Option<SchedulerKind>,
}

/// The text of `--help`.
struct Help;

impl fmt::Display for Help {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "\
Runs a benchmark program of befit and checks its result.

Usage: befit-kernels NAME[:SETTING=VALUE,…] [--n N] [--threads T] [--scheduler S] [--seed X] \
[--shrink K]

  NAME            which one; see below
  --n N           size of its input in elements [default: its source's, see below]
  --threads T     threads to run it on [default: as many as there are cores]
  --scheduler S   {} [default: what BEFIT_SCHEDULER says, or {}]
  --seed X        seeds whatever is random in its input [default: 1]
  --shrink K      divides the cut-offs below which it is serial, for a small model of a large \
run
                  [default: 1]

",
            SchedulerKind::names().join(", "),
            SchedulerKind::default()
        )?;
        for kernel in Kernel::ALL {
            writeln!(f, "  {:<17} {} [n = {}]", kernel.name, kernel.about, kernel.default_n)?;
            for setting in kernel.settings {
                let values = setting.values.join("|").replace('#', "NUMBER");
                writeln!(f, "  {:<17}   {}={values}: {}", "", setting.name, setting.about)?;
            }
        }
        write!(f, "\nExample: befit-kernels rrm --n 1000000 --threads 2 --scheduler sb")
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("befit-kernels: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<String, Box<dyn Error>> {
    let Some(Run { kernel, input, threads, scheduler }) = parse(Parser::from_env())? else {
        return Ok(Help.to_string());
    };
    let mut builder = ThreadPoolBuilder::new();
    if let Some(scheduler) = scheduler {
        builder = builder.scheduler(scheduler);
    }
    if let Some(threads) = threads {
        builder = builder.num_threads(threads);
    }
    let pool = builder.build()?;
    run_kernel(&kernel, &pool, input)?;
    let (threads, scheduler) = (pool.current_num_threads(), pool.scheduler());
    Ok(format!(
        "{}: n = {}, {threads} threads, {scheduler}: the result is right",
        kernel.name, input.n
    ))
}

/// `None` stands for a request for help.
fn parse(mut arguments: Parser) -> Result<Option<Run>, Box<dyn Error>> {
    let mut kernel = None;
    let (mut n, mut seed, mut shrink, mut threads, mut scheduler) = (None, 1, 1, None, None);
    while let Some(argument) = arguments.next()? {
        match argument {
            Arg::Short('h') | Arg::Long("help") => return Ok(None),
            Arg::Long("n") => n = Some(arguments.value()?.parse()?),
            Arg::Long("seed") => seed = arguments.value()?.parse()?,
            Arg::Long("shrink") => shrink = arguments.value()?.parse()?,
            Arg::Long("threads") => threads = Some(arguments.value()?.parse()?),
            Arg::Long("scheduler") => scheduler = Some(arguments.value()?.parse()?),
            Arg::Value(name) if kernel.is_none() => kernel = Some(Variant::find(&name.string()?)?),
            other => return Err(other.unexpected().into()),
        }
    }
    let kernel = kernel.ok_or("which kernel? `befit-kernels --help` lists them")?;
    let n = n.unwrap_or(kernel.kernel.default_n);
    Ok(Some(Run {
        kernel,
        input: Input { n, seed, shrink, ..Input::default() },
        threads,
        scheduler,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Option<Run>, String> {
        parse(Parser::from_args(line.split_whitespace())).map_err(|e| e.to_string())
    }

    #[test]
    fn a_kernel_without_options_has_its_sources_size() {
        let run = parsed("rgm").unwrap().unwrap();
        assert_eq!(
            (run.kernel.kernel.name, run.input),
            ("rgm", Input { n: 10_000_000, seed: 1, shrink: 1, ..Input::default() })
        );
        let run =
            parsed("--n 5 rrm --seed=7 --threads 3 --scheduler sb-d --shrink 4").unwrap().unwrap();
        assert_eq!(
            (run.input, run.threads, run.scheduler),
            (
                Input { n: 5, seed: 7, shrink: 4, ..Input::default() },
                Some(3),
                Some(SchedulerKind::SbD)
            )
        );
    }

    #[test]
    fn the_message_for_an_unknown_name_lists_the_known_ones() {
        let error = parsed("rrn").err().unwrap();
        assert!(error.contains("rrn") && error.contains("rrm, rgm, rgm-leaf"), "{error}");
        let error = parsed("rrm --scheduler x").err().unwrap();
        assert!(error.contains("ws, pws, sb, sb-d"), "{error}");
    }

    #[test]
    fn a_bad_argument_is_named() {
        assert!(parsed("rrm --n ten").err().unwrap().contains("ten"));
        assert!(parsed("rrm --m 10").err().unwrap().contains("--m"));
        assert!(parsed("").err().unwrap().contains("which kernel"));
    }

    #[test]
    fn help_lists_every_kernel() {
        assert!(parsed("--help").unwrap().is_none());
        let help = Help.to_string();
        assert!(Kernel::ALL.iter().all(|k| help.contains(k.name)));
    }
}
