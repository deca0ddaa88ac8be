//! Tries inputs by number: `befit-fuzz TARGET [--from N] [--runs N] [--seconds N]`, or files:
//! `befit-fuzz TARGET FILE…`. Without a target, lists the targets. A failing input's number is
//! printed, and `--from NUMBER --runs 1` tries it again; `--save FILE` keeps it.

use std::{
    fs,
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

use befit_fuzz::{Inputs, TARGETS, Target};
use lexopt::prelude::*;

#[derive(Default)]
struct Arguments {
    target: Option<Target>,
    files: Vec<PathBuf>,
    from: u64,
    runs: Option<u64>,
    seconds: Option<u64>,
    save: Option<PathBuf>,
}

fn main() -> ExitCode {
    match arguments().and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
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

fn run(arguments: Arguments) -> Result<(), lexopt::Error> {
    let Some(target) = arguments.target else {
        TARGETS.iter().for_each(|target| println!("{}", target.name));
        return Ok(());
    };
    for file in &arguments.files {
        let input = fs::read(file).map_err(|e| format!("cannot read {}: {e}", file.display()))?;
        (target.run)(&input);
    }
    if !arguments.files.is_empty() {
        return Ok(());
    }
    let inputs = Inputs::of(target);
    if let Some(file) = arguments.save {
        let saved = fs::write(&file, inputs.input(arguments.from));
        return saved.map_err(|e| format!("cannot write {}: {e}", file.display()).into());
    }
    let seconds = arguments.seconds.or(arguments.runs.is_none().then_some(10));
    let (start, most) = (Instant::now(), seconds.map(Duration::from_secs));
    let mut number = arguments.from;
    while arguments.runs.is_none_or(|runs| number - arguments.from < runs)
        && most.is_none_or(|most| start.elapsed() < most)
    {
        let running = Running { target: target.name, number };
        (target.run)(&inputs.input(number));
        std::mem::forget(running);
        number += 1;
    }
    let tried = number - arguments.from;
    println!("{}: {tried} inputs in {:.1} s", target.name, start.elapsed().as_secs_f64());
    Ok(())
}

/// Says which input failed, as it is dropped where the target panics.
struct Running {
    target: &'static str,
    number: u64,
}

impl Drop for Running {
    fn drop(&mut self) {
        let Self { target, number } = self;
        eprintln!("the input that failed: befit-fuzz {target} --from {number} --runs 1");
    }
}
