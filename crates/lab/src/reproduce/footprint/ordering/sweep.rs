//! One set of tasks under each order, as a function of N_decide, N_execute and age.

use befit_sched::footprint::{EXACT_UP_TO, Order, Settings};
use befit_sim::footprint::{How, Ran};

use super::{
    super::{
        super::{Axis, Figure, PlotKind, Range, Reproduction, Series, Table},
        cost::spread,
        plots::{plot, series},
        setup::Setup,
    },
    Case,
};
use crate::{
    LabError,
    parallel::{self, threads},
};

const DECIDE: [usize; 8] = [8, 16, 64, 256, 1024, 4096, 16_384, 65_536];

/// Above this affinities of all pairs take too long.
fn greedy_up_to(setup: &Setup, case: &Case) -> usize {
    match (setup.quick, case.is_tree) {
        (false, false) => 1024,
        (false, true) | (true, false) => 256,
        (true, true) => usual().decide,
    }
}

/// Above this a look into the caches for each task that waits takes too long.
fn contents_up_to(setup: &Setup, case: &Case) -> usize {
    if setup.quick && case.is_tree { 8 } else { usual().decide }
}

/// What is not varied.
fn usual() -> Settings {
    Settings::default()
}

/// One thing to run.
struct Job<'a> {
    series: &'static str,
    settings: Settings,
    how: How<'a>,
    budget: bool,
    seed: usize,
}

fn half(decide: usize) -> Settings {
    Settings { decide, execute: decide / 2, ..usual() }
}

fn jobs<'a>(setup: &Setup, case: &'a Case) -> Vec<Job<'a>> {
    let most = greedy_up_to(setup, case);
    let oracle = How::Oracle(&case.oracle, Order::Greedy);
    // Hundreds of thousands of tasks.
    let brief = setup.quick && case.is_tree;
    let mut jobs = Vec::new();
    let mut add = |series, settings, how, budget, seed| {
        jobs.push(Job { series, settings, how, budget, seed })
    };
    for decide in DECIDE.into_iter().filter(|decide| *decide <= case.tasks.len()) {
        add("key", half(decide), How::Key, false, 0);
        if decide <= most && (!brief || decide == 8 || decide == usual().decide) {
            add("oracle", half(decide), oracle.clone(), true, 0);
            add("oracle, no budget", half(decide), oracle.clone(), false, 0);
        }
        if decide <= most && (!brief || decide == usual().decide) {
            add(
                "learned",
                half(decide),
                How::Learned(&case.classes, setup.innermost(), Order::Greedy),
                true,
                0,
            );
            add(
                "given",
                half(decide),
                How::Given(&case.classes, &case.given, Order::Greedy),
                true,
                0,
            );
            if let Some(outer) = &case.outer {
                add("oracle of L2", half(decide), How::Oracle(outer, Order::Greedy), true, 0);
            }
        }
        if decide <= EXACT_UP_TO {
            add(
                "exact, no budget",
                half(decide),
                How::Oracle(&case.oracle, Order::Exact),
                false,
                0,
            );
        }
        if decide <= contents_up_to(setup, case) {
            add("contents", half(decide), How::Contents, false, 0);
        }
    }
    for seed in 1..case.arrivals.len() {
        add("seed", usual(), oracle.clone(), true, seed);
    }
    if brief {
        return jobs;
    }
    for execute in [1, 8, 16, 64] {
        add("execute", Settings { execute, ..usual() }, oracle.clone(), true, 0);
    }
    for age in [1, 4, 64, u32::MAX] {
        add("age", Settings { age, ..usual() }, oracle.clone(), true, 0);
    }
    jobs
}

/// Runs them all and adds tables, a plot and figures.
pub(super) fn run(setup: &Setup, case: &Case, to: &mut Reproduction) -> Result<(), LabError> {
    let jobs = jobs(setup, case);
    // Looks weigh most.
    let weight =
        |job: &Job| if matches!(job.how, How::Key) { 1 } else { job.settings.decide as u64 };
    let run = |job: &Job| {
        Ok::<Ran, LabError>(case.fbs(setup, job.seed, job.settings, job.how.clone(), job.budget))
    };
    let results = parallel::map(&jobs, threads(), weight, run)?;
    let results: Vec<(&Job, Ran)> = jobs.iter().zip(results).collect();
    baselines(case, to);
    by_decide(case, &results, to);
    by_execute_and_age(case, &results, to);
    figures(case, &results, to);
    Ok(())
}

fn baselines(case: &Case, to: &mut Reproduction) {
    let mut table = Table::new(
        format!("{}: orders that decide nothing", case.name),
        ["order", "cycles a task", "recovered, %"],
    );
    let tasks = case.tasks.len() as f64;
    let mut add = |name: &str, cycles: f64| {
        table.row([
            name.to_owned(),
            format!("{:.0}", cycles / tasks),
            format!("{:.1}", case.cost.recovered(0, cycles)),
        ]);
    };
    add("sorted", case.cost.sorted);
    add("FIFO (random)", case.cost.random[0]);
    add("LIFO of 64", case.lifo(64));
    add("LIFO of all", case.lifo(case.tasks.len()));
    add("worst (bit-reversed ranks)", case.cost.worst);
    to.tables.push(table);
}

fn by_decide(case: &Case, results: &[(&Job, Ran)], to: &mut Reproduction) {
    let title = format!(
        "{}: recovered of the way from random to sorted, % (deciding included in brackets)",
        case.name
    );
    let names = [
        "oracle",
        "oracle, no budget",
        "exact, no budget",
        "given",
        "learned",
        "oracle of L2",
        "key",
        "contents",
    ];
    let names: Vec<&str> = names
        .into_iter()
        .filter(|name| results.iter().any(|(job, _)| job.series == *name))
        .collect();
    let mut table = Table::new(title, std::iter::once("N_decide").chain(names.iter().copied()));
    for decide in DECIDE {
        let found = |name: &str| {
            results.iter().find(|(job, _)| job.series == name && job.settings.decide == decide)
        };
        let shown = |name: &&str| match found(name) {
            Some((_, ran)) => {
                format!(
                    "{:.1} ({:.1})",
                    case.cost.recovered(0, ran.cycles),
                    case.cost.recovered(0, ran.total())
                )
            }
            None => "–".to_owned(),
        };
        if found("key").is_some() {
            table.row(std::iter::once(decide.to_string()).chain(names.iter().map(shown)));
        }
    }
    to.tables.push(table);
    let line = |name: &&str| -> Series {
        let of = results.iter().filter(|(job, _)| job.series == *name);
        series(
            *name,
            of.map(|(job, ran)| (job.settings.decide, case.cost.recovered(0, ran.cycles))),
        )
    };
    let title = format!("{}: recovered of the way from random to sorted", case.name);
    to.plots.push(plot(
        &title,
        PlotKind::Lines,
        Axis::log("N_decide"),
        "%",
        names.iter().map(line).collect(),
    ));
}

fn by_execute_and_age(case: &Case, results: &[(&Job, Ran)], to: &mut Reproduction) {
    let mut table = Table::new(
        format!("{}: N_decide = {}, oracle, greedy, budget", case.name, usual().decide),
        [
            "N_execute",
            "age",
            "recovered, %",
            "deciding included, %",
            "looks a task",
            "latest by",
            "bound",
        ],
    );
    let varied = results.iter().filter(|(job, _)| {
        matches!(job.series, "execute" | "age") || job.series == "oracle" && job.settings == usual()
    });
    for (Job { settings, .. }, ran) in varied {
        let none = settings.age == u32::MAX;
        table.row([
            settings.execute.to_string(),
            if none { "none".to_owned() } else { settings.age.to_string() },
            format!("{:.1}", case.cost.recovered(0, ran.cycles)),
            format!("{:.1}", case.cost.recovered(0, ran.total())),
            format!("{:.0}", ran.looks as f64 / case.tasks.len() as f64),
            ran.latest.to_string(),
            if none {
                "none".to_owned()
            } else {
                ((settings.age as usize + 1) * settings.execute - 1).to_string()
            },
        ]);
    }
    to.tables.push(table);
}

fn figures(case: &Case, results: &[(&Job, Ran)], to: &mut Reproduction) {
    let usual = results
        .iter()
        .filter(|(job, _)| matches!(job.series, "oracle" | "seed") && job.settings == usual());
    let usual: Vec<(usize, &Ran)> = usual.map(|(job, ran)| (job.seed, ran)).collect();
    let recovered = |cycles: fn(&Ran) -> f64| {
        spread(usual.iter().map(|(seed, ran)| case.cost.recovered(*seed, cycles(ran))))
    };
    let (alone, net) = (recovered(|ran| ran.cycles), recovered(Ran::total));
    let least = match case.id.as_str() {
        "windows-256-of-512" => 90.0,
        "windows-128-of-4096" => 60.0,
        // As they are: nothing was expected of the others, but that they are no worse than arrival.
        _ => -2.0,
    };
    let expected = if least > 0.0 {
        format!("future work; {least} % expected")
    } else {
        "future work".to_owned()
    };
    let found = if case.is_tree {
        "a window of 64 of 262,143 look-ups holds none that shares more than the top of the tree; a key sort of windows of \
         thousands does"
    } else {
        "the denser the windows lie, the more likely one of 64 overlaps much with the last"
    };
    let setting = "one setting for all: N_decide 64, oracle, budget";
    to.figures.push(
        Figure::new(
            format!("fbs/recovered/{}", case.id),
            format!("{}, {setting}: recovered from random to sorted", case.name),
            expected,
            Range::at_least(least),
            alone.median,
            "%",
        )
        .spread(alone.min, alone.max)
        .because(format!("deciding included {:.1} %; {found}", net.median)),
    );
    let change =
        |(seed, ran): &(usize, &Ran)| 100.0 * (ran.total() / case.cost.random[*seed] - 1.0);
    let change = spread(usual.iter().map(change));
    to.figures.push(
        Figure::new(
            format!("fbs/against-fifo/{}", case.id),
            format!("{}, {setting}: time against FIFO, deciding included", case.name),
            "future work; at most 2 % expected",
            Range::at_most(2.0),
            change.median,
            "%",
        )
        .spread(change.min, change.max),
    );
}
