//! The space-bounded schedulers' options: the dilation σ, the share μ, and how strands are counted.

use befit_sched::{
    Counting, Options,
    SchedulerKind::{Sb, SbD},
};

use super::{
    super::{Axis, Figure, Plot, PlotKind, Range, Series, Table},
    Lab, Part,
    measure::{give, millions, miss_change, misses, occupancy, time_change},
};
use crate::{LabError, Summary};

const SIGMAS: [f64; 6] = [0.2, 0.4, 0.5, 0.6, 0.8, 1.0];
const MUS: [f64; 5] = [0.05, 0.1, 0.2, 0.5, 1.0];

pub(super) fn run(lab: &Lab<'_>) -> Result<Part, LabError> {
    let programs: &[&str] = &["rrm", "rgm"];
    let mut part = Part::default();
    let defaults = Options::default();
    let sigmas = SIGMAS.map(|sigma| (sigma.to_string(), Options { sigma, ..defaults }));
    let mut mus: Vec<_> =
        MUS.iter().map(|mu| (mu.to_string(), Options { mu: *mu, ..defaults })).collect();
    mus.push(("in full".to_owned(), Options { counting: Counting::Full, ..defaults }));
    let (mut sigma_table, mut mu_table) =
        (table("Dilation", "sigma"), table("What a passing strand claims", "mu"));
    let (mut sigma_lines, mut mu_lines) = (Vec::new(), Vec::new());
    for program in programs {
        let sweep = sweep(lab, program, &sigmas, &mut sigma_table, &mut sigma_lines)?;
        part.figures.extend(sigma_figures(program, &sweep));
        let sweep = sweep_mu(lab, program, &mus, &mut mu_table, &mut mu_lines)?;
        part.figures.extend(sweep);
    }
    let plot = |title: &str, x: &str, series| Plot {
        title: title.to_owned(),
        kind: PlotKind::Lines,
        x: Axis::linear(x),
        y: Axis::linear("change, %"),
        series,
    };
    part.plots = vec![
        plot("Last-level misses by dilation, against sigma = 0.5", "sigma", sigma_lines),
        plot("Last-level misses by mu, against mu = 0.2", "mu", mu_lines),
    ];
    part.tables = vec![sigma_table, mu_table];
    Ok(part)
}

fn table(title: &str, option: &str) -> Table {
    let columns = [
        "program",
        option,
        "scheduler",
        "time, M cycles",
        "±, %",
        "idle, %",
        "L3 misses, M",
        "±, %",
        "L3 given out, %",
    ];
    Table::new(title, columns)
}

/// One program under sb and sb-d with each of `options`; the answers are sb's, in the same order.
fn sweep(
    lab: &Lab<'_>,
    program: &str,
    options: &[(String, Options)],
    table: &mut Table,
    lines: &mut Vec<Series>,
) -> Result<Vec<Summary>, LabError> {
    let mut all = Vec::new();
    for (name, options) in options {
        let schedulers: &[_] = if lab.quick { &[Sb] } else { &[Sb, SbD] };
        let results = lab.simulate(program, &lab.machine, schedulers, *options)?;
        for result in &results {
            table.row([
                program.to_owned(),
                name.clone(),
                result.scheduler.name().to_owned(),
                format!("{:.2}", millions(result.time.median.0)),
                give(result.time.map(|c| c.0)),
                format!("{:.1}", 100.0 * result.shares().idle),
                format!("{:.3}", millions(misses(result).median.0)),
                give(misses(result).map(|l| l.0)),
                occupancy(result),
            ]);
        }
        all.extend(results.into_iter().next());
    }
    let default = Options::default();
    if let Some(at) = options.iter().position(|(_, options)| *options == default) {
        let points = options
            .iter()
            .zip(&all)
            .map(|((name, _), result)| miss_change(&all[at], result).point(name));
        lines.push(Series { name: format!("{program}, sb"), points: points.collect() });
    }
    Ok(all)
}

fn sigma_figures(program: &str, sweep: &[Summary]) -> Vec<Figure> {
    let at = |sigma: f64| sweep.iter().find(|r| r.options.sigma == sigma).expect("one of SIGMAS");
    let (low, default, high) = (at(0.2), at(0.5), at(1.0));
    let fewer = miss_change(low, high);
    vec![
        Figure::new(
            format!("sigma/{program}/misses"),
            format!("last-level misses of {program} under sb with sigma = 1, against 0.2"),
            "fewer misses as sigma grows",
            Range::at_most(0.0),
            fewer.median,
            "%",
        )
        .spread(fewer.low, fewer.high),
        Figure::new(
            format!("sigma/{program}/idle"),
            format!(
                "workers of {program} without work under sb with sigma = 1, points more than with 0.5"
            ),
            "more load imbalance as sigma grows",
            Range::at_least(0.0),
            100.0 * (high.shares().idle - default.shares().idle),
            "points",
        ),
    ]
}

fn sweep_mu(
    lab: &Lab<'_>,
    program: &str,
    mus: &[(String, Options)],
    table: &mut Table,
    lines: &mut Vec<Series>,
) -> Result<Vec<Figure>, LabError> {
    let results = sweep(lab, program, mus, table, lines)?;
    let default = results.iter().find(|r| r.options == Options::default()).expect("one of MUS");
    let capped = results.iter().filter(|r| r.options.counting == Counting::Capped);
    // The one that is farthest from the default.
    let farthest = capped
        .map(|r| time_change(default, r))
        .max_by(|a, b| a.median.abs().total_cmp(&b.median.abs()));
    let farthest = farthest.map_or(0.0, |change| change.median);
    Ok(vec![Figure::new(
        format!("mu/{program}/time"),
        format!(
            "running time of {program} under sb with mu from 0.05 to 1: what is farthest from mu = 0.2"
        ),
        "mu = 0.2 throughout: it hardly matters",
        Range::new(-10.0, 10.0),
        farthest,
        "%",
    )])
}
