//! How fast the simulator is, by workers, by touches and by tasks, as tables; and whether that is
//! slower than it was.
//!
//! ```sh
//! cargo bench -p befit-sim --bench throughput
//! cargo bench -p befit-sim --bench throughput -- --save before.tsv
//! cargo bench -p befit-sim --bench throughput -- --baseline before.tsv
//! cargo bench -p befit-sim --bench throughput -- "$PWD/rrm.befit"
//! ```
//!
//! Paths are absolute, or begin at `crates/sim`, since cargo runs benches there.
//!
//! Times are this process's on the processor, the shortest of the repeats: others that use the
//! machine disturb them less than the clock on the wall. Memory is the most that was resident
//! during a row, the program included. `--account` has the simulator keep its account of time, as
//! `befit compare` does.

mod baseline;
mod programs;
mod usage;

use std::{path::PathBuf, process::ExitCode};

use baseline::Baseline;
use befit_machine::Machine;
use befit_program::Program;
use befit_sched::SchedulerKind;
use befit_sim::{Bounds, Settings, run_within};
use programs::{flat, machine, recursive};
use usage::{peak, processor_time, reset_peak};

/// The schedulers of every row.
const SCHEDULERS: [SchedulerKind; 3] = [SchedulerKind::Ws, SchedulerKind::Sb, SchedulerKind::CatsS];
/// The row that others of a table are compared with is its first: beyond this many times its cost,
/// the table marks where the cost stops being linear.
const LINEAR: f64 = 1.5;

const USAGE: &str = "usage: throughput [--large] [--account] [--repeats N] [--only TABLE] \
                     [--machine M]... \
                     [--save FILE] [--baseline FILE] [RECORDING...]";

struct Arguments {
    large: bool,
    account: bool,
    repeats: u32,
    only: Option<String>,
    save: Option<PathBuf>,
    baseline: Option<PathBuf>,
    machines: Vec<String>,
    recordings: Vec<PathBuf>,
}

fn arguments() -> Result<Arguments, String> {
    let mut found = Arguments {
        large: false,
        account: false,
        repeats: 2,
        only: None,
        save: None,
        baseline: None,
        machines: Vec::new(),
        recordings: Vec::new(),
    };
    let mut given = std::env::args().skip(1);
    while let Some(argument) = given.next() {
        let mut value = || given.next().ok_or(format!("{argument} needs a value; {USAGE}"));
        match &argument[..] {
            // What cargo gives to every bench.
            "--bench" => {}
            "--large" => found.large = true,
            "--account" => found.account = true,
            "--repeats" => {
                let count = value()?.parse().ok().filter(|count| *count > 0);
                found.repeats = count.ok_or("--repeats needs a number from 1 up")?;
            }
            "--machine" => found.machines.push(value()?),
            "--only" => found.only = Some(value()?),
            "--save" => found.save = Some(value()?.into()),
            "--baseline" => found.baseline = Some(value()?.into()),
            flag if flag.starts_with('-') => return Err(format!("no option {flag}; {USAGE}")),
            _ => found.recordings.push(argument.into()),
        }
    }
    if found.machines.is_empty() {
        found.machines = ["xeon-7560", "epyc-9654"].map(str::to_owned).to_vec();
    }
    Ok(found)
}

fn main() -> ExitCode {
    match arguments().and_then(|arguments| measure(&arguments)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("throughput: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Prints all tables. Returns false where a row is slower than the baseline's.
fn measure(arguments: &Arguments) -> Result<bool, String> {
    let before = arguments.baseline.as_deref().map(Baseline::read).transpose()?;
    let mut now = Baseline::default();
    let wanted = |table: &str| arguments.only.as_deref().is_none_or(|only| only == table);
    let mut table = |name: &str, rows: &mut dyn Iterator<Item = (String, Program, Machine)>| {
        println!("\n| {name} | scheduler | M touches/s | ns a touch | ns a task | MB | |");
        println!("|---|---|---|---|---|---|---|");
        let mut first = [None; SCHEDULERS.len()];
        for (label, program, machine) in rows {
            for (scheduler, first) in SCHEDULERS.into_iter().zip(&mut first) {
                let row = Row::measure(&program, &machine, scheduler, arguments)?;
                let key = format!("{name} {label} {scheduler}");
                let mut notes = Vec::new();
                let cost = if name == "tasks" { row.task } else { row.touch };
                if cost > LINEAR * *first.get_or_insert(cost) {
                    notes.push("not linear".to_owned());
                }
                notes.extend(before.as_ref().and_then(|before| before.against(&key, row.touch)));
                println!(
                    "| {label} | {scheduler} | {:.1} | {:.1} | {:.0} | {:.0} | {} |",
                    1e3 / row.touch,
                    row.touch,
                    row.task,
                    row.megabytes,
                    notes.join(", ")
                );
                now.note(key, row.touch);
            }
        }
        Ok::<_, String>(())
    };
    for path in &arguments.recordings {
        let load = || Program::load(path).map_err(|why| format!("{}: {why}", path.display()));
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for preset in &arguments.machines {
            let machine = Machine::find(preset).map_err(|why| why.to_string())?;
            table(
                "recording",
                &mut std::iter::once((
                    format!("{name}, {} workers", machine.workers().len()),
                    load()?,
                    machine,
                )),
            )?;
        }
    }
    if arguments.recordings.is_empty() {
        if wanted("workers") {
            let counts = [32, 128, 512, 1024, 4096];
            table(
                "workers",
                &mut counts
                    .into_iter()
                    .map(|workers| (workers.to_string(), recursive(16, 1 << 20), machine(workers))),
            )?;
        }
        if wanted("touches") {
            let most = if arguments.large { 9 } else { 7 };
            table(
                "touches",
                &mut (6..=most).map(|digits| {
                    let touches = 10_u64.pow(digits);
                    (
                        format!("10^{digits}"),
                        recursive((touches >> 18) as u32, 1 << 18),
                        machine(32),
                    )
                }),
            )?;
        }
        if wanted("tasks") {
            let most = if arguments.large { 7 } else { 6 };
            table(
                "tasks",
                &mut (4..=most)
                    .map(|digits| (format!("10^{digits}"), flat(10_u32.pow(digits)), machine(32))),
            )?;
        }
    }
    if let Some(path) = &arguments.save {
        now.save(path)?;
    }
    Ok(before.is_none_or(|before| !before.is_slower(&now)))
}

/// What one simulation takes.
struct Row {
    /// Nanoseconds a touch, and a task.
    touch: f64,
    task: f64,
    megabytes: f64,
}

impl Row {
    fn measure(
        program: &Program,
        machine: &Machine,
        scheduler: SchedulerKind,
        arguments: &Arguments,
    ) -> Result<Self, String> {
        let settings = Settings { accounted: arguments.account, ..Settings::new(scheduler, 1) };
        let bounds = Bounds::of(program, machine);
        reset_peak();
        let mut best = f64::INFINITY;
        for _ in 0..arguments.repeats {
            let start = processor_time();
            run_within(program, None, machine, &settings, bounds, &|_| {})
                .map_err(|why| why.to_string())?;
            best = best.min((processor_time() - start).as_nanos() as f64);
        }
        let tasks = f64::from(program.tasks());
        let touches = program.total_touches().max(1) as f64;
        Ok(Self { touch: best / touches, task: best / tasks, megabytes: peak() })
    }
}
