//! Variations of the machine under ws and sb: fewer memory controllers in use (the bandwidth gap,
//! section 5.3), other numbers of cores and sockets (section 5.4).

use befit_machine::{ClusterId, Machine};
use befit_sched::SchedulerKind::{Sb, Ws};

use super::{
    Lab,
    measure::{
        MISS_CHANGE, MISSES, ResultTable, TIME, TIME_CHANGE, TIME_GIVE, millions, miss_change, of,
        time_change,
    },
};
use crate::{
    LabError, Summary,
    reproduce::{Axis, Figure, Plot, PlotKind, Point, Range, Reproduction, Series},
};

/// Percent of the memory bandwidth.
const BANDWIDTHS: [u32; 4] = [100, 75, 50, 25];

/// Adds the bandwidth gap.
pub(super) fn bandwidth(lab: &Lab<'_>, to: &mut Reproduction) -> Result<(), LabError> {
    let programs: &[&str] =
        if lab.request.quick { &["rrm", "rgm"] } else { &["rrm", "rgm", "samplesort"] };
    let columns = &[TIME, TIME_CHANGE, TIME_GIVE, MISSES, MISS_CHANGE];
    let mut table = ResultTable::new("Bandwidth gap", &["program", "bandwidth, %"], columns);
    let mut series = Vec::new();
    for program in programs {
        let mut gains = Vec::new();
        let mut line = Series { name: format!("{program}, sb"), points: Vec::new() };
        for percent in BANDWIDTHS {
            let machine = lab.machine.clone().with_bandwidth(percent)?;
            let results = lab.compare(program, &machine)?;
            table.add(&[program, &percent.to_string()], &results);
            let change = time_change(of(&results, Ws), of(&results, Sb));
            line.points.push(change.point(percent));
            gains.push(change);
        }
        series.push(line);
        let (full, quarter) = (gains[0], gains[gains.len() - 1]);
        to.figures.push(quarter.figure(
            format!("bandwidth/{program}/quarter"),
            format!("running time of {program} under sb on 25 % of the bandwidth, against ws"),
            "up to -50 %",
            Range::new(-55.0, -15.0),
        ));
        to.figures.push(Figure::new(
            format!("bandwidth/{program}/growth"),
            format!(
                "gain in time of sb on {program}: points that it is larger with 25 % of the \
                 bandwidth than with all"
            ),
            "grows as bandwidth falls",
            Range::at_least(0.0),
            full.percent - quarter.percent,
            "points",
        ));
    }
    to.tables.push(table.table);
    let title = "Running time of sb against ws, by memory bandwidth";
    let x = Axis::linear("bandwidth, %");
    to.plots.push(Plot::new(title, PlotKind::Lines, x, "change, %", series));
    Ok(())
}

/// Cores under each last-level cache.
const CORES: [u32; 4] = [1, 2, 4, 8];

/// Adds the comparison by cores per socket, and by sockets: who else uses a cache decides what
/// stealing loses.
pub(super) fn cores(lab: &Lab<'_>, to: &mut Reproduction) -> Result<(), LabError> {
    let columns = &[TIME, TIME_CHANGE, MISSES, MISS_CHANGE];
    let title = "Cores per socket, and sockets";
    let mut table = ResultTable::new(title, &["program", "machine"], columns);
    let mut series = Vec::new();
    let whole = format!("{} x ", sockets(&lab.machine));
    for program in ["rrm", "rgm"] {
        let mut by_cores = Vec::new();
        for (name, machine) in machines(lab)? {
            let results = lab.compare(program, &machine)?;
            table.add(&[program, &name], &results);
            if name.starts_with(&whole) {
                by_cores.push((name, results));
            }
        }
        for scheduler in [Ws, Sb] {
            let point = |(name, results): &(String, Vec<Summary>)| {
                let misses = of(results, scheduler).last_level_misses.map(|l| millions(l.0));
                Point::with_range(name, misses.median, misses.min, misses.max)
            };
            let points = by_cores.iter().map(point).collect();
            series.push(Series { name: format!("{program}, {scheduler}"), points });
        }
        to.figures.extend(cores_figures(program, &by_cores));
    }
    to.tables.push(table.table);
    let title = "Last-level misses by cores per socket";
    let x = Axis::linear("sockets x cores");
    to.plots.push(Plot::new(title, PlotKind::Lines, x, "millions of lines", series));
    Ok(())
}

fn sockets(machine: &Machine) -> usize {
    machine.cluster(ClusterId::ROOT).children.len()
}

/// The variations of the machine, each with its shape as a name: sockets × cores, or × hardware
/// threads.
fn machines(lab: &Lab<'_>) -> Result<Vec<(String, Machine)>, LabError> {
    let all = sockets(&lab.machine);
    let mut machines = Vec::new();
    for cores in CORES {
        // Not every machine has eight cores under a cache.
        if let Ok(machine) = lab.machine.clone().with_cores(cores) {
            machines.push((format!("{all} x {cores}"), machine));
        }
    }
    if let Some(threaded) = &lab.threaded {
        machines.push((format!("{all} x 8 x 2 threads"), threaded.clone()));
    }
    if !lab.request.quick && all <= 4 {
        for count in 1..all as u32 {
            let machine = lab.machine.clone().with_sockets(count)?;
            machines.push((format!("{count} x all cores"), machine));
        }
    }
    Ok(machines)
}

/// Simhadri et al.: ws misses more the more cores share a cache; sb does not.
fn cores_figures(program: &str, by_cores: &[(String, Vec<Summary>)]) -> Vec<Figure> {
    let unthreaded: Vec<_> =
        by_cores.iter().filter(|(name, _)| !name.contains("threads")).collect();
    let (Some((few, fewest)), Some((many, most))) = (unthreaded.first(), unthreaded.last()) else {
        return Vec::new();
    };
    let claims = [
        (Ws, "more, the more cores share a cache", Range::at_least(0.0)),
        (Sb, "the same", Range::new(-10.0, 10.0)),
    ];
    let figure = |(scheduler, reported, range)| {
        miss_change(of(fewest, scheduler), of(most, scheduler)).figure(
            format!("cores/{program}/{scheduler}"),
            format!(
                "last-level misses of {program} under {scheduler} on {many} cores, against {few}"
            ),
            reported,
            range,
        )
    };
    claims.map(figure).into()
}
