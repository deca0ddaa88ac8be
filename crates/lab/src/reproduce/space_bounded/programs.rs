//! The study's seven programs under its four schedulers: time, overheads, misses (figures 5 to 7 of
//! the SPAA paper).

use befit_sched::{
    Breakdown,
    SchedulerKind::{Pws, Sb, SbD, Ws},
};

use super::{
    Lab, PROGRAMS, SCHEDULERS,
    measure::{
        Column, GIVEN_OUT, IDLE, MISS_CHANGE, MISSES, MISSES_GIVE, ResultTable, TIME, TIME_CHANGE,
        TIME_GIVE, miss_change, of, overhead, time_change,
    },
    reasons,
};
use crate::{
    Summary,
    reproduce::{Axis, Figure, Plot, PlotKind, Point, Range, Reproduction, Series},
};

/// The changes against ws that Simhadri et al. report of a program, each with the range that agrees
/// with it: misses, and time.
fn reported(program: &str) -> [(&'static str, Range); 2] {
    let misses = match program {
        "rrm" => ("-42 to -44 %", Range::new(-65.0, -25.0)),
        "rgm" => ("about -25 %", Range::new(-65.0, -20.0)),
        "matmul" => ("nearly unchanged", Range::new(-10.0, 10.0)),
        _ => ("-25 to -65 % on most programs", Range::new(-65.0, -25.0)),
    };
    let time = match program {
        "rrm" | "rgm" => ("up to -25 %", Range::new(-30.0, 0.0)),
        "matmul" => ("unchanged", Range::new(-5.0, 5.0)),
        _ => ("about -20 % where memory is the bound", Range::new(-30.0, 0.0)),
    };
    [misses, time]
}

/// A share of the workers' time, in percent.
fn share(result: &Summary, part: fn(Breakdown<f64>) -> f64) -> String {
    format!("{:.1}", 100.0 * part(result.shares()))
}

const COLUMNS: [Column; 12] = [
    TIME,
    TIME_CHANGE,
    TIME_GIVE,
    ("running, %", |_, r| share(r, |shares| shares.active)),
    ("add, %", |_, r| share(r, |shares| shares.add)),
    ("get, %", |_, r| share(r, |shares| shares.get)),
    ("done, %", |_, r| share(r, |shares| shares.done)),
    IDLE,
    MISSES,
    MISS_CHANGE,
    MISSES_GIVE,
    GIVEN_OUT,
];

pub(super) fn run(lab: &Lab<'_>, to: &mut Reproduction) {
    let mut table = ResultTable::new("The programs under the schedulers", &["program"], &COLUMNS);
    let series = || SCHEDULERS.map(|s| Series { name: s.name().to_owned(), points: Vec::new() });
    let (mut time, mut miss, mut beside) = (series(), series(), series());
    for program in PROGRAMS {
        let results = lab.plain(program);
        table.add(&[program], results);
        for (i, result) in results.iter().enumerate() {
            time[i].points.push(time_change(&results[0], result).point(program));
            miss[i].points.push(miss_change(&results[0], result).point(program));
            let shares = result.shares();
            let overhead = shares.add + shares.get + shares.done + shares.idle;
            beside[i].points.push(Point::new(program, 100.0 * overhead));
        }
        to.figures.extend(figures(lab, program, results));
    }
    let plot =
        |title, y, series| Plot::new(title, PlotKind::Bars, Axis::linear("program"), y, series);
    let overheads = "Overheads: in the scheduler or without work";
    to.plots.extend([
        plot("Last-level misses against ws", "change, %", miss),
        plot("Running time against ws", "change, %", time),
        plot(overheads, "share of the workers' time, %", beside),
    ]);
    to.tables.push(table.table);
}

fn figures(lab: &Lab<'_>, program: &'static str, results: &[Summary]) -> [Figure; 5] {
    let [ws, pws, sb, sbd] = [Ws, Pws, Sb, SbD].map(|scheduler| of(results, scheduler));
    let [(misses_said, misses_range), (time_said, time_range)] = reported(program);
    let fewer = miss_change(ws, sb);
    // A run of ws differs from the next by about as much.
    const NOISE: f64 = 1.5;
    let between = Range::new(fewer.percent.min(0.0) - NOISE, fewer.percent.max(0.0) + NOISE);
    [
        fewer
            .figure(
                format!("l3-misses/{program}/sb"),
                format!("last-level misses of {program} under sb, against ws"),
                misses_said,
                misses_range,
            )
            .if_out(|| reasons::misses(lab, program, fewer.percent, misses_range)),
        miss_change(sb, sbd).figure(
            format!("l3-misses/{program}/sb-d-as-sb"),
            format!("last-level misses of {program} under sb-d, against sb"),
            "alike: within 5 %",
            Range::new(-5.0, 5.0),
        ),
        miss_change(ws, pws).figure(
            format!("l3-misses/{program}/pws"),
            format!("last-level misses of {program} under pws, against ws"),
            "between ws and sb",
            between,
        ),
        Figure::new(
            format!("overhead/{program}/sb"),
            format!("scheduling and load imbalance of {program} under sb, more than under ws"),
            "up to +27 %",
            Range::new(-NOISE, 27.0),
            overhead(ws, sb),
            "%",
        ),
        time_change(ws, sb)
            .figure(
                format!("time/{program}/sb"),
                format!("running time of {program} under sb, against ws"),
                time_said,
                time_range,
            )
            .if_out(|| reasons::time(&lab.machine, ws, sb, time_range)),
    ]
}
