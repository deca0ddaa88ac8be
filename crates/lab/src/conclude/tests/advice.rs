//! Whether advice gains what it says, over the programs of the matrix.

use std::num::NonZeroU32;

use befit_machine::Machine;
use befit_sched::{Options, SchedulerKind};

use super::super::{best, candidates::Comparison, tried::Trials};
use crate::{
    GivenSizes, MatrixPlan, MatrixProgram, Sampling, Seeds, Silent, SimulationPlan, record,
};

/// Prints a row for each program of `ADVICE_PROGRAMS` (names separated by commas; all without it)
/// on each of `ADVICE_MACHINES`: the first cause, the first suggestion, and what that gains with 40
/// seeds that had no part in it, so many that their own error is small. Data are as large as the
/// machine's last-level caches together, or a quarter of that with `ADVICE_SIZE=below`. What was
/// said counts as it was printed, to a tenth of a percent. `docs/measurements/conclusions.md` has
/// the rows.
#[test]
#[ignore = "records and simulates many programs: see docs/measurements/conclusions.md"]
fn first_suggestions_gain_what_was_said() {
    use SchedulerKind::{Pws, Sb, SbD, Ws};
    let list = |variable: &str, otherwise: &str| -> Vec<String> {
        let names = std::env::var(variable).unwrap_or_else(|_| otherwise.to_owned());
        names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
    };
    let names = list("ADVICE_PROGRAMS", "");
    let machines = list("ADVICE_MACHINES", "xeon-7560,epyc-9654");
    let matrix = MatrixPlan {
        sizes: Vec::new(),
        quick: true,
        programs: MatrixProgram::choose(&names, false).unwrap(),
        own: None,
        machines: machines.iter().map(|name| Machine::find(name).unwrap()).collect(),
        schedulers: Vec::new(),
        seeds: None,
        options: Options::default(),
        fresh: false,
    };
    let (mut given, mut held) = (0, 0);
    let size = std::env::var("ADVICE_SIZE").unwrap_or_default();
    for (row, machine) in matrix.rows_at(|program| program.nearest(&size)).unwrap() {
        let program = record(&row.source, false, &Silent).unwrap();
        let program = GivenSizes::usual(&program).give(program, &Silent);
        let plan = SimulationPlan {
            machines: vec![machine.clone().shrunk(row.shrink).unwrap()],
            schedulers: vec![Ws, Pws, Sb, SbD],
            seeds: Seeds::Fixed(NonZeroU32::new(3).unwrap()),
            options: Options::default(),
            shrink: row.costs_shrink,
            sampling: Sampling::Off,
        };
        let results = plan.simulate(&program, &Silent).unwrap();
        let conclusion = plan.conclude(&program, &results, true, &Silent).unwrap().remove(0);
        let cause = conclusion.losses.first();
        let cause = cause.map_or("none".to_owned(), |loss| {
            format!("{:?} {:.0}% of {}", loss.cause, 100.0 * loss.share, loss.scheduler)
        });
        print!("| {} | {} | {} | {cause} |", row.name, machine.name, conclusion.choice.best);
        let Some(said) = conclusion.suggestions.first() else {
            println!(" - | | | |");
            continue;
        };
        let best = best(&results, &conclusion.choice);
        let machine = &plan.machines[0];
        let about = Comparison { plan: &plan, program: &program, machine, results: &results, best };
        let mut trials = Trials::new(about, true, &Silent);
        let found = trials.again(said, 21..=60).unwrap();
        let tenths = |ratio: f64| (1000.0 * (1.0 - ratio)).round();
        let holds =
            (tenths(said.ratio.high)..=tenths(said.ratio.low)).contains(&tenths(found.estimate));
        given += 1;
        held += u32::from(holds);
        let points = |ratio: f64| format!("{:.1}", tenths(ratio) / 10.0);
        println!(
            " {:?} {} | {} ({} to {}) | {} | {} |",
            said.change,
            said.scheduler,
            points(said.ratio.estimate),
            points(said.ratio.high),
            points(said.ratio.low),
            points(found.estimate),
            if holds { "yes" } else { "no" }
        );
    }
    println!("{held} of {given}");
}
