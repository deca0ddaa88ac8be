//! Cores per socket and sockets (section 5.4): who else uses a cache decides what stealing loses.

use befit_machine::{ClusterId, Machine};
use befit_sched::SchedulerKind::{Sb, Ws};

use super::{
    Lab,
    measure::{
        MISS_CHANGE, MISSES, ResultTable, TIME, TIME_CHANGE, millions, miss_change, misses, of,
    },
};
use crate::{
    LabError, Summary,
    reproduce::{Axis, Figure, Plot, PlotKind, Range, Reproduction, Series},
};

/// Cores under each last-level cache.
const CORES: [u32; 4] = [1, 2, 4, 8];

pub(super) fn run(lab: &Lab<'_>, to: &mut Reproduction) -> Result<(), LabError> {
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
                misses(of(results, scheduler)).map(|l| millions(l.0)).point(name)
            };
            let points = by_cores.iter().map(point).collect();
            series.push(Series { name: format!("{program}, {scheduler}"), points });
        }
        to.figures.extend(figures(program, &by_cores));
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
    if !lab.quick && all <= 4 {
        for count in 1..all as u32 {
            let machine = lab.machine.clone().with_sockets(count)?;
            machines.push((format!("{count} x all cores"), machine));
        }
    }
    Ok(machines)
}

/// Simhadri et al.: ws misses more the more cores share a cache; sb does not.
fn figures(program: &str, by_cores: &[(String, Vec<Summary>)]) -> Vec<Figure> {
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
