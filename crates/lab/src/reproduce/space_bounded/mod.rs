//! The space-bounded study: Simhadri, Blelloch, Fineman, Gibbons, Kyrola, *Experimental analysis of space-bounded schedulers*.

use std::num::NonZeroU32;

use befit_machine::{Level, Machine};
use befit_sched::{Options, SchedulerKind};

use super::{Axis, Figure, Plot, PlotKind, Point, Range, Reproduction, Request, Series, Table};
use crate::{LabError, Plan, Progress, Source, Summary, record};

/// The study's machine (section 5.1).
const MACHINE: &str = "xeon-7560";

const SCHEDULERS: [SchedulerKind; 4] = [SchedulerKind::Ws, SchedulerKind::Pws, SchedulerKind::Sb, SchedulerKind::SbD];

/// Repeats it.
pub(super) fn run(request: &Request, progress: &dyn Progress) -> Result<Reproduction, LabError> {
    let machine = match &request.machine {
        Some(machine) => machine.clone(),
        None => Machine::find(MACHINE).expect("a preset"),
    };
    let seeds = request.seeds.unwrap_or(NonZeroU32::new(if request.quick { 3 } else { 10 }).expect("not 0"));
    let n = if request.quick { 2_500_000 } else { 10_000_000 };
    let plan =
        Plan { machines: vec![machine.clone()], schedulers: SCHEDULERS.to_vec(), seeds, options: Options::default() };
    let program = record(&Source::Kernel { name: "rrm".to_owned(), n: Some(n) }, false, progress)?;
    let results = plan.simulate(&program, progress)?;

    let mut table = Table::new("L3 misses, millions of lines", ["scheduler", "L3 misses", "against ws, %"]);
    let mut series = Series { name: "rrm".to_owned(), points: Vec::new() };
    for result in &results {
        let misses = l3(result);
        table.row([
            result.scheduler.name().to_owned(),
            format!("{misses:.2}"),
            format!("{:+.1}", change(result, &results[0])),
        ]);
        series.points.push(Point::new(result.scheduler.name(), misses));
    }
    Ok(Reproduction {
        study: request.study,
        machine: machine.name,
        quick: request.quick,
        notes: vec![format!("rrm with n = {n}; medians of {seeds} seeds")],
        figures: vec![Figure::new(
            "l3-misses/rrm/sb",
            "L3 misses of rrm under sb, against ws",
            "-42 to -44 %",
            Range::new(-65.0, -25.0),
            change(&results[2], &results[0]),
            "%",
        )],
        tables: vec![table],
        plots: vec![Plot {
            title: "L3 misses".to_owned(),
            kind: PlotKind::Bars,
            x: Axis::linear("scheduler"),
            y: Axis::linear("millions of lines"),
            series: vec![series],
        }],
    })
}

/// Misses of the last cache level, in millions of lines.
fn l3(summary: &Summary) -> f64 {
    let level = summary.levels.iter().max_by_key(|level| level.level).map(|level| (level.level, level.misses.median));
    level.map_or(0.0, |(_, misses): (Level, _)| misses.0 as f64 / 1e6)
}

/// By how much the last level's misses differ from `baseline`'s, in percent.
fn change(summary: &Summary, baseline: &Summary) -> f64 {
    100.0 * (l3(summary) / l3(baseline) - 1.0)
}
