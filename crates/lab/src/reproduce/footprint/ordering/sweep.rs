//! One set of tasks under each order, as a function of N_decide, N_execute and age.

use befit_sched::footprint::{EXACT_UP_TO, Order, Settings};

use super::{
    super::{
        super::{Axis, Figure, PlotKind, Range, Reproduction, Series, Table},
        plots::{plot, series},
        setup::Setup,
    },
    Case,
};
use crate::{
    LabError,
    footprint::{How, Ran},
    parallel::{self, threads},
};

/// Decisions after which a task is due, where nothing else is said.
const AGE: u32 = 16;
const DECIDE: [usize; 9] = [8, 16, 64, 256, 1024, 4096, 16_384, 32_768, 65_536];
/// Above this affinities of all pairs take too long; in the short form the second.
const GREEDY_UP_TO: [usize; 2] = [1024, 256];
/// Above this a look into the caches for each task that waits takes too long.
const CONTENTS_UP_TO: usize = 64;
/// N_decide where the others are varied.
const USUAL: usize = 64;

/// One thing to run.
struct Job<'a> {
    series: &'static str,
    settings: Settings,
    how: How<'a>,
    budget: bool,
}

fn half(decide: usize) -> Settings {
    Settings { decide, execute: decide / 2, age: AGE }
}

fn jobs<'a>(setup: &Setup, case: &'a Case) -> Vec<Job<'a>> {
    let most = GREEDY_UP_TO[usize::from(setup.quick)];
    let oracle = How::Oracle(&case.oracle, Order::Greedy);
    let mut jobs = Vec::new();
    let mut add = |series, settings, how, budget| jobs.push(Job { series, settings, how, budget });
    for decide in DECIDE.into_iter().filter(|decide| *decide <= case.tasks.len()) {
        add("key", half(decide), How::Key, false);
        if decide <= most {
            add("oracle", half(decide), oracle.clone(), false);
            add("oracle, budget", half(decide), oracle.clone(), true);
            add("learned", half(decide), How::Learned(&case.classes, setup.innermost(), Order::Greedy), false);
            add("given", half(decide), How::Given(&case.classes, &case.given, Order::Greedy), false);
            if let Some(outer) = &case.outer {
                add("oracle of L2", half(decide), How::Oracle(outer, Order::Greedy), false);
            }
        }
        if decide <= EXACT_UP_TO {
            add("exact", half(decide), How::Oracle(&case.oracle, Order::Exact), false);
        }
        if decide <= CONTENTS_UP_TO {
            add("contents", half(decide), How::Contents, false);
        }
    }
    for execute in [1, 8, 16, 64] {
        let settings = Settings { execute, ..half(USUAL) };
        add("execute", settings, oracle.clone(), false);
    }
    for age in [1, 4, 64, u32::MAX] {
        add("age", Settings { age, ..half(USUAL) }, oracle.clone(), false);
    }
    jobs
}

/// Runs them all and adds tables, a plot and figures.
pub(super) fn run(setup: &Setup, case: &Case, to: &mut Reproduction) -> Result<(), LabError> {
    let jobs = jobs(setup, case);
    // Looks weigh most.
    let weight = |job: &Job| if matches!(job.how, How::Key) { 1 } else { job.settings.decide as u64 };
    let run = |job: &Job| Ok::<Ran, LabError>(case.fbs(setup, job.settings, job.how.clone(), job.budget));
    let results = parallel::map(&jobs, threads(), weight, run)?;
    let results: Vec<(&Job, Ran)> = jobs.iter().zip(results).collect();
    baselines(case, to);
    by_decide(case, &results, to);
    by_execute_and_age(case, &results, to);
    figures(case, &results, to);
    Ok(())
}

fn baselines(case: &Case, to: &mut Reproduction) {
    let mut table =
        Table::new(format!("{}: orders that decide nothing", case.name), ["order", "cycles a task", "recovered, %"]);
    let tasks = case.tasks.len() as f64;
    let mut add = |name: &str, cycles: f64| {
        table.row([name.to_owned(), format!("{:.0}", cycles / tasks), format!("{:.1}", case.recovered(cycles))]);
    };
    add("sorted", case.sorted);
    add("FIFO (random)", case.random);
    add("LIFO of 64", case.lifo(64));
    add("LIFO of all", case.lifo(case.tasks.len()));
    add("worst (bit-reversed ranks)", case.worst);
    to.tables.push(table);
}

fn by_decide(case: &Case, results: &[(&Job, Ran)], to: &mut Reproduction) {
    let title = format!("{}: recovered of the way from random to sorted, % (deciding included in brackets)", case.name);
    let names = ["oracle", "oracle, budget", "exact", "given", "learned", "oracle of L2", "key", "contents"];
    let names: Vec<&str> =
        names.into_iter().filter(|name| results.iter().any(|(job, _)| job.series == *name)).collect();
    let mut table = Table::new(title, std::iter::once("N_decide").chain(names.iter().copied()));
    for decide in DECIDE {
        let found = |name: &str| results.iter().find(|(job, _)| job.series == name && job.settings.decide == decide);
        let shown = |name: &&str| match found(name) {
            Some((_, ran)) => format!("{:.1} ({:.1})", case.recovered(ran.cycles), case.recovered(ran.total())),
            None => "–".to_owned(),
        };
        if found("key").is_some() {
            table.row(std::iter::once(decide.to_string()).chain(names.iter().map(shown)));
        }
    }
    to.tables.push(table);
    let line = |name: &&str| -> Series {
        let of = results.iter().filter(|(job, _)| job.series == *name);
        series(*name, of.map(|(job, ran)| (job.settings.decide, case.recovered(ran.cycles))))
    };
    let title = format!("{}: recovered of the way from random to sorted", case.name);
    to.plots.push(plot(&title, PlotKind::Lines, Axis::log("N_decide"), "%", names.iter().map(line).collect()));
}

fn by_execute_and_age(case: &Case, results: &[(&Job, Ran)], to: &mut Reproduction) {
    let mut table = Table::new(
        format!("{}: N_decide = {USUAL}, oracle, greedy", case.name),
        ["N_execute", "age", "recovered, %", "deciding included, %", "looks a task", "latest by", "bound"],
    );
    let varied = results.iter().filter(|(job, _)| {
        matches!(job.series, "execute" | "age") || job.series == "oracle" && job.settings.decide == USUAL
    });
    for (Job { settings, .. }, ran) in varied {
        let none = settings.age == u32::MAX;
        table.row([
            settings.execute.to_string(),
            if none { "none".to_owned() } else { settings.age.to_string() },
            format!("{:.1}", case.recovered(ran.cycles)),
            format!("{:.1}", case.recovered(ran.total())),
            format!("{:.0}", ran.looks as f64 / case.tasks.len() as f64),
            ran.latest.to_string(),
            if none { "none".to_owned() } else { ((settings.age as usize + 1) * settings.execute - 1).to_string() },
        ]);
    }
    to.tables.push(table);
}

fn figures(case: &Case, results: &[(&Job, Ran)], to: &mut Reproduction) {
    let at_usual = |name: &str| results.iter().find(|(job, _)| job.series == name && job.settings.decide == USUAL);
    let Some((_, ran)) = at_usual("oracle") else { return };
    let least = match case.id.as_str() {
        "windows-256-of-512" => 90.0,
        "windows-128-of-4096" => 60.0,
        // As they are: nothing was expected of the others, but that they are no worse than arrival.
        _ => -2.0,
    };
    let expected = if least > 0.0 { format!("future work; {least} % expected") } else { "future work".to_owned() };
    to.figures.push(
        Figure::new(
            format!("fbs/recovered/{}", case.id),
            format!("{}, N_decide {USUAL}, oracle: recovered from random to sorted", case.name),
            expected,
            Range::at_least(least),
            case.recovered(ran.cycles),
            "%",
        )
        .because(if case.is_tree {
            "a window of 64 of 262,143 look-ups holds none that shares more than the top of the tree; a key sort of windows of \
             thousands does"
        } else {
            "the denser the windows lie, the more likely one of 64 overlaps much with the last"
        }),
    );
}
