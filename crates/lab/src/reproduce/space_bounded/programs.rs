//! The study's seven programs under its four schedulers: time, overheads, misses (figures 5 to 7 of
//! the SPAA paper).

use befit_sched::SchedulerKind::{Pws, Sb, SbD, Ws};

use super::{
    super::{Axis, Figure, Plot, PlotKind, Point, Range, Series, Table},
    Lab, PROGRAMS, Part, SCHEDULERS,
    measure::{give, millions, miss_change, misses, occupancy, of, overhead, time_change},
};
use crate::{LabError, Summary};

/// What the study says of a program, against ws.
struct Reported {
    misses: (&'static str, Range),
    time: (&'static str, Range),
}

fn reported(program: &str) -> Reported {
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
    Reported { misses, time }
}

pub(super) fn run(lab: &Lab<'_>) -> Result<Part, LabError> {
    let mut part = Part::default();
    let mut table = Table::new("The programs under the schedulers", COLUMNS);
    let series = || SCHEDULERS.map(|s| Series { name: s.name().to_owned(), points: Vec::new() });
    let (mut time, mut miss, mut beside) = (series(), series(), series());
    for program in PROGRAMS {
        let results = lab.simulate_plainly(program)?;
        for (i, result) in results.iter().enumerate() {
            table.row(row(program, &results[0], result));
            time[i].points.push(time_change(&results[0], result).point(program));
            miss[i].points.push(miss_change(&results[0], result).point(program));
            let shares = result.shares();
            beside[i].points.push(Point::new(program, 100.0 * (shares.policy + shares.idle)));
        }
        part.figures.extend(figures(program, &results));
    }
    let plot = |title: &str, y: &str, series: [Series; 4]| Plot {
        title: title.to_owned(),
        kind: PlotKind::Bars,
        x: Axis::linear("program"),
        y: Axis::linear(y),
        series: series.into(),
    };
    part.plots = vec![
        plot("Last-level misses against ws", "change, %", miss),
        plot("Running time against ws", "change, %", time),
        plot(
            "Overheads: in the scheduler or without work",
            "share of the workers' time, %",
            beside,
        ),
    ];
    part.tables.push(table);
    Ok(part)
}

const COLUMNS: [&str; 14] = [
    "program",
    "scheduler",
    "time, M cycles",
    "±, %",
    "against ws, %",
    "running, %",
    "add, %",
    "get, %",
    "done, %",
    "idle, %",
    "L3 misses, M",
    "±, %",
    "against ws, %",
    "L3 given out, %",
];

fn row(program: &str, base: &Summary, result: &Summary) -> [String; 14] {
    let t = &result.worker_time;
    let parts = [t.active, t.add, t.get, t.done, t.idle].map(|part| part.median.0 as f64);
    let whole: f64 = parts.iter().sum();
    let [active, add, get, done, idle] = parts.map(|part| format!("{:.1}", 100.0 * part / whole));
    [
        program.to_owned(),
        result.scheduler.name().to_owned(),
        format!("{:.2}", millions(result.time.median.0)),
        give(result.time.map(|c| c.0)),
        format!("{:+.1}", time_change(base, result).median),
        active,
        add,
        get,
        done,
        idle,
        format!("{:.3}", millions(misses(result).median.0)),
        give(misses(result).map(|l| l.0)),
        format!("{:+.1}", miss_change(base, result).median),
        occupancy(result),
    ]
}

fn figures(program: &str, results: &[Summary]) -> Vec<Figure> {
    let [ws, pws, sb, sbd] = [Ws, Pws, Sb, SbD].map(|scheduler| of(results, scheduler));
    let reported = reported(program);
    let (fewer, near, same) = (miss_change(ws, sb), miss_change(ws, pws), miss_change(sb, sbd));
    let time = time_change(ws, sb);
    // A run of ws differs from the next by about as much.
    const NOISE: f64 = 1.5;
    let between = Range::new(fewer.median.min(0.0) - NOISE, fewer.median.max(0.0) + NOISE);
    vec![
        Figure::new(
            format!("l3-misses/{program}/sb"),
            format!("last-level misses of {program} under sb, against ws"),
            reported.misses.0,
            reported.misses.1,
            fewer.median,
            "%",
        )
        .spread(fewer.low, fewer.high),
        Figure::new(
            format!("l3-misses/{program}/sb-d-as-sb"),
            format!("last-level misses of {program} under sb-d, against sb"),
            "alike: within 5 %",
            Range::new(-5.0, 5.0),
            same.median,
            "%",
        )
        .spread(same.low, same.high),
        Figure::new(
            format!("l3-misses/{program}/pws"),
            format!("last-level misses of {program} under pws, against ws"),
            "between ws and sb",
            between,
            near.median,
            "%",
        )
        .spread(near.low, near.high),
        Figure::new(
            format!("overhead/{program}/sb"),
            format!("scheduling and load imbalance of {program} under sb, more than under ws"),
            "up to +27 %",
            Range::new(-NOISE, 27.0),
            overhead(ws, sb),
            "%",
        ),
        Figure::new(
            format!("time/{program}/sb"),
            format!("running time of {program} under sb, against ws"),
            reported.time.0,
            reported.time.1,
            time.median,
            "%",
        )
        .spread(time.low, time.high),
    ]
}
