//! One set of tasks under each order, as a function of N_decide, N_execute and age.

use befit_sched::footprint::{EXACT_UP_TO, Order, Settings};
use befit_sim::footprint::{How, Ran};

use super::{Case, Trial};
use crate::{
    LabError,
    reproduce::{
        Axis, Figure, Plot, PlotKind, Range, Reproduction, Series, Table,
        footprint::setup::{Setup, spread},
    },
};

/// The trials, each with its run.
type Results<'a> = [(&'a Trial<'a>, Ran)];

const DECIDE: [usize; 8] = [8, 16, 64, 256, 1024, 4096, 16_384, 65_536];

/// Above this affinities of all pairs take too long.
fn greedy_up_to(setup: &Setup, case: &Case) -> usize {
    match (setup.quick, case.is_tree()) {
        (false, false) => 1024,
        (false, true) | (true, false) => 256,
        (true, true) => usual().decide,
    }
}

/// Above this a look into the caches for each task that waits takes too long.
fn contents_up_to(setup: &Setup, case: &Case) -> usize {
    if setup.quick && case.is_tree() { 8 } else { usual().decide }
}

/// The settings that are not varied.
fn usual() -> Settings {
    Settings::default()
}

fn half(decide: usize) -> Settings {
    Settings { decide, execute: decide / 2, ..usual() }
}

fn trials<'a>(setup: &Setup, case: &'a Case) -> Vec<Trial<'a>> {
    let most = greedy_up_to(setup, case);
    let oracle = How::Oracle(&case.oracle, Order::Greedy);
    // A tree has hundreds of thousands of look-ups.
    let brief = setup.quick && case.is_tree();
    let mut trials = Vec::new();
    let mut add = |series, settings, how, budget, seed| {
        trials.push(Trial { series, settings, how, budget, seed })
    };
    for decide in DECIDE.into_iter().filter(|decide| *decide <= case.load.tasks.len()) {
        let settings = half(decide);
        add("key", settings, How::Key, false, 0);
        if decide <= most && (!brief || decide == 8 || decide == usual().decide) {
            add("oracle", settings, oracle.clone(), true, 0);
            add("oracle, no budget", settings, oracle.clone(), false, 0);
        }
        if decide <= most && (!brief || decide == usual().decide) {
            let learned = How::Learned(&case.classes, setup.innermost(), Order::Greedy);
            add("learned", settings, learned, true, 0);
            let given = How::Given(&case.classes, &case.given, Order::Greedy);
            add("given", settings, given, true, 0);
            if let Some(outer) = &case.outer {
                add("oracle of L2", settings, How::Oracle(outer, Order::Greedy), true, 0);
            }
        }
        if decide <= EXACT_UP_TO {
            let exact = How::Oracle(&case.oracle, Order::Exact);
            add("exact, no budget", settings, exact, false, 0);
        }
        if decide <= contents_up_to(setup, case) {
            add("contents", settings, How::Contents, false, 0);
        }
    }
    for seed in 1..case.load.arrivals.len() {
        add("seed", usual(), oracle.clone(), true, seed);
    }
    if brief {
        return trials;
    }
    for execute in [1, 8, 16, 64] {
        add("execute", Settings { execute, ..usual() }, oracle.clone(), true, 0);
    }
    for age in [1, 4, 64, u32::MAX] {
        add("age", Settings { age, ..usual() }, oracle.clone(), true, 0);
    }
    trials
}

/// Runs all trials of a case, and adds tables, a plot and figures.
pub(super) fn run(setup: &Setup, case: &Case, to: &mut Reproduction) -> Result<(), LabError> {
    let trials = trials(setup, case);
    let results = case.run(setup, &trials)?;
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
    let tasks = case.load.tasks.len() as f64;
    let mut add = |name: &str, cycles: f64| {
        table.row([
            name.to_owned(),
            format!("{:.0}", cycles / tasks),
            format!("{:.1}", case.load.recovered(0, cycles)),
        ]);
    };
    add("sorted", case.load.sorted);
    add("FIFO (random)", case.load.random[0]);
    add("LIFO of 64", case.lifo(64));
    add("LIFO of all", case.lifo(case.load.tasks.len()));
    add("worst (bit-reversed ranks)", case.load.worst);
    to.tables.push(table);
}

fn by_decide(case: &Case, results: &Results<'_>, to: &mut Reproduction) {
    let title = format!(
        "{}: recovered of the way from random to sorted, % (deciding included in brackets)",
        case.name
    );
    let mut names = vec![
        "oracle",
        "oracle, no budget",
        "exact, no budget",
        "given",
        "learned",
        "oracle of L2",
        "key",
        "contents",
    ];
    names.retain(|name| results.iter().any(|(trial, _)| trial.series == *name));
    let mut table = Table::new(title, std::iter::once("N_decide").chain(names.iter().copied()));
    for decide in DECIDE {
        let shown = |name: &&str| match find(results, name, decide) {
            Some(ran) => {
                let recovered =
                    [ran.cycles, ran.total()].map(|cycles| case.load.recovered(0, cycles));
                format!("{:.1} ({:.1})", recovered[0], recovered[1])
            }
            None => "–".to_owned(),
        };
        if find(results, "key", decide).is_some() {
            table.row(std::iter::once(decide.to_string()).chain(names.iter().map(shown)));
        }
    }
    to.tables.push(table);
    let lines = names.iter().map(|name| {
        let own = results.iter().filter(|(trial, _)| trial.series == *name);
        let point = |(trial, ran): &(&Trial<'_>, Ran)| {
            (trial.settings.decide, case.load.recovered(0, ran.cycles))
        };
        Series::new(*name, own.map(point))
    });
    let title = format!("{}: recovered of the way from random to sorted", case.name);
    to.plots.push(Plot::new(title, PlotKind::Lines, Axis::log("N_decide"), "%", lines));
}

/// The run of a series with N_decide = `decide`.
fn find<'a>(results: &'a Results<'_>, series: &str, decide: usize) -> Option<&'a Ran> {
    let found =
        results.iter().find(|(trial, _)| trial.series == series && trial.settings.decide == decide);
    found.map(|(_, ran)| ran)
}

fn by_execute_and_age(case: &Case, results: &Results<'_>, to: &mut Reproduction) {
    let title = format!("{}: N_decide = {}, oracle, greedy, budget", case.name, usual().decide);
    let columns = [
        "N_execute",
        "age",
        "recovered, %",
        "deciding included, %",
        "looks a task",
        "latest by",
        "bound",
    ];
    let mut table = Table::new(title, columns);
    for (Trial { series, settings, .. }, ran) in results {
        let is_usual = *series == "oracle" && *settings == usual();
        if !is_usual && !matches!(*series, "execute" | "age") {
            continue;
        }
        let bounded = |text: String| {
            if settings.age == u32::MAX { "none".to_owned() } else { text }
        };
        table.row([
            settings.execute.to_string(),
            bounded(settings.age.to_string()),
            format!("{:.1}", case.load.recovered(0, ran.cycles)),
            format!("{:.1}", case.load.recovered(0, ran.total())),
            format!("{:.0}", ran.looks as f64 / case.load.tasks.len() as f64),
            ran.latest.to_string(),
            bounded(((settings.age as usize + 1) * settings.execute - 1).to_string()),
        ]);
    }
    to.tables.push(table);
}

fn figures(case: &Case, results: &Results<'_>, to: &mut Reproduction) {
    let usual: Vec<_> = results
        .iter()
        .filter(|(trial, _)| matches!(trial.series, "oracle" | "seed") && trial.settings == usual())
        .collect();
    let recovered = |cycles: fn(&Ran) -> f64| {
        spread(usual.iter().map(|(trial, ran)| case.load.recovered(trial.seed, cycles(ran))))
    };
    let (alone, net) = (recovered(|ran| ran.cycles), recovered(Ran::total));
    let least = match case.id.as_str() {
        "windows-256-of-512" => 90.0,
        "windows-128-of-4096" => 60.0,
        // Nothing is expected of the others, but that they are no worse than arrival.
        _ => -2.0,
    };
    let expected = if least > 0.0 {
        format!("future work; {least} % expected")
    } else {
        "future work".to_owned()
    };
    // Keys are the sorted order, so a sort by key shows what any order of a window can recover.
    let by_key: Vec<_> = DECIDE
        .iter()
        .filter_map(|decide| {
            let recovered = case.load.recovered(0, find(results, "key", *decide)?.cycles);
            Some(format!("{recovered:.1} % in windows of {decide}"))
        })
        .collect();
    let why = format!(
        "deciding included {:.1} %; a sort by key recovers {}",
        net.median,
        by_key.join(", ")
    );
    let setting = "one setting for all: N_decide 64, oracle, budget";
    let figure = Figure::over(
        format!("fbs/recovered/{}", case.id),
        format!("{}, {setting}: recovered from random to sorted", case.name),
        expected,
        Range::at_least(least),
        alone,
        "%",
    );
    to.figures.push(figure.because(why));
    let change = spread(usual.iter().map(|result| case.against_fifo(result)));
    to.figures.push(Figure::over(
        format!("fbs/against-fifo/{}", case.id),
        format!("{}, {setting}: time against FIFO, deciding included", case.name),
        "future work; at most 2 % expected",
        Range::at_most(2.0),
        change,
        "%",
    ));
}
