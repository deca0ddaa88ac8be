//! Whether advice gains what it says, over the programs of the matrix.

use std::num::NonZeroU32;

use befit_machine::Machine;
use befit_sched::{Options, SchedulerKind};

use super::super::{best, tried::Trials};
use crate::{
    GivenSizes, MatrixPlan, MatrixProgram, Sampling, Seeds, Silent, SimulationPlan, record,
};

/// Prints a row for each program of `ADVICE_PROGRAMS` (names separated by commas; all without it)
/// on each machine: the first cause, the first suggestion, and what that gains with twelve seeds
/// that had no part in it. `docs/measurements/conclusions.md` has the rows of all programs.
#[test]
#[ignore = "records and simulates many programs: see docs/measurements/conclusions.md"]
fn first_suggestions_gain_what_was_said() {
    use SchedulerKind::{Pws, Sb, SbD, Ws};
    let names = std::env::var("ADVICE_PROGRAMS").unwrap_or_default();
    let names: Vec<String> =
        names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let matrix = MatrixPlan {
        quick: true,
        programs: MatrixProgram::choose(if names.is_empty() { &[] } else { &names }, false)
            .unwrap(),
        own: None,
        machines: ["xeon-7560", "epyc-9654"].map(|name| Machine::find(name).unwrap()).into(),
        schedulers: Vec::new(),
        seeds: None,
        options: Options::default(),
    };
    let (mut given, mut held) = (0, 0);
    for (row, machine) in matrix.rows().unwrap() {
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
        let mut trials = Trials::new(&plan, &program, machine, &results, best, true, &Silent);
        let found = trials.again(said, 21..=32).unwrap();
        let holds = (said.ratio.low..=said.ratio.high).contains(&found.estimate);
        given += 1;
        held += u32::from(holds);
        let points = |share: f64| format!("{:.1}", 100.0 * (1.0 - share));
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
