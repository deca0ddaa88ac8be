//! Tries inputs by number: `befit-fuzz TARGET [--from N] [--runs N] [--seconds N]`, or files:
//! `befit-fuzz TARGET FILE…`. Without a target, lists the targets. A failing input's number is
//! printed, and `--from NUMBER --runs 1` tries it again; `--save FILE` keeps it.
//!
//! Inputs by number are tried in a process of their own, which this one watches: the number of an
//! input that hangs or overflows the stack is printed, too.

use std::{
    env, fs,
    path::PathBuf,
    process::{Command, ExitCode},
    thread,
    time::{Duration, Instant},
};

use befit_fuzz::{Inputs, TARGETS, Target, watch};
use lexopt::prelude::*;

/// Is set for the process that tries inputs.
const TRIES: &str = "BEFIT_FUZZ_TRIES";

/// No input takes longer, on a busy machine either.
const LONGEST: Duration = Duration::from_secs(30);

#[derive(Default)]
struct Arguments {
    target: Option<Target>,
    files: Vec<PathBuf>,
    from: u64,
    runs: Option<u64>,
    seconds: Option<f64>,
    save: Option<PathBuf>,
}

fn main() -> ExitCode {
    match arguments().and_then(run) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("befit-fuzz: {error}");
            ExitCode::from(2)
        }
    }
}

fn arguments() -> Result<Arguments, lexopt::Error> {
    let mut arguments = Arguments::default();
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("from") => arguments.from = parser.value()?.parse()?,
            Long("runs") => arguments.runs = Some(parser.value()?.parse()?),
            Long("seconds") => arguments.seconds = Some(parser.value()?.parse()?),
            Long("save") => arguments.save = Some(parser.value()?.into()),
            Value(name) if arguments.target.is_none() => {
                let name = name.string()?;
                let unknown = || format!("unknown target '{name}'; without one, lists them");
                arguments.target = Some(Target::named(&name).ok_or_else(unknown)?);
            }
            Value(file) => arguments.files.push(file.into()),
            other => return Err(other.unexpected()),
        }
    }
    Ok(arguments)
}

fn run(arguments: Arguments) -> Result<ExitCode, lexopt::Error> {
    let Some(target) = arguments.target else {
        TARGETS.iter().for_each(|target| println!("{}", target.name));
        return Ok(ExitCode::SUCCESS);
    };
    for file in &arguments.files {
        let input = fs::read(file).map_err(|e| format!("cannot read {}: {e}", file.display()))?;
        (target.run)(&input);
    }
    if !arguments.files.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let inputs = Inputs::of(target);
    if let Some(file) = arguments.save {
        let saved = fs::write(&file, inputs.input(arguments.from));
        saved.map_err(|e| format!("cannot write {}: {e}", file.display()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let seconds = arguments.seconds.or(arguments.runs.is_none().then_some(10.0));
    let most = seconds.map(Duration::try_from_secs_f64).transpose();
    let most = most.map_err(|error| format!("--seconds: {error}"))?;
    if env::var_os(TRIES).is_none() {
        return Ok(watched(target));
    }
    let (from, runs) = (arguments.from, arguments.runs);
    // With the usual stack of a thread: the main one's is larger.
    let tried = thread::spawn(move || try_by_number(target, &inputs, from, runs, most)).join();
    Ok(if tried.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs this program again, which then tries the inputs, and says which one failed.
fn watched(target: Target) -> ExitCode {
    let program = env::current_exe().unwrap_or_else(|_| "befit-fuzz".into());
    let mut command = Command::new(program);
    command.args(env::args_os().skip(1)).env(TRIES, "1");
    let Err(failure) = watch(&mut command, LONGEST) else { return ExitCode::SUCCESS };
    eprintln!("befit-fuzz: {failure}");
    if let Some(number) = failure.number() {
        let name = target.name;
        eprintln!("the input that failed: befit-fuzz {name} --from {number} --runs 1");
    }
    ExitCode::FAILURE
}

fn try_by_number(
    target: Target,
    inputs: &Inputs,
    from: u64,
    runs: Option<u64>,
    most: Option<Duration>,
) {
    let (start, mut number) = (Instant::now(), from);
    while runs.is_none_or(|runs| number - from < runs)
        && most.is_none_or(|most| start.elapsed() < most)
    {
        println!("{number}");
        (target.run)(&inputs.input(number));
        number += 1;
    }
    let tried = number - from;
    println!("{}: {tried} inputs in {:.1} s", target.name, start.elapsed().as_secs_f64());
}
