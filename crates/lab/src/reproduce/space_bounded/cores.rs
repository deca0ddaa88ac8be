//! Cores per socket and sockets (section 5.4): who else uses a cache decides what stealing loses.

use befit_machine::{ClusterId, Machine};
use befit_sched::{
    Options,
    SchedulerKind::{Sb, Ws},
};

use super::{
    super::{Axis, Figure, Plot, PlotKind, Point, Range, Series, Table},
    Lab, Part,
    measure::{millions, miss_change, misses, of, time_change},
};
use crate::{LabError, Summary};

/// Cores under each last-level cache.
const CORES: [u32; 4] = [1, 2, 4, 8];

pub(super) fn run(lab: &Lab<'_>) -> Result<Part, LabError> {
    let programs: &[&str] = &["rrm", "rgm"];
    let mut part = Part::default();
    let columns = [
        "program",
        "machine",
        "scheduler",
        "time, M cycles",
        "against ws, %",
        "L3 misses, M",
        "against ws, %",
    ];
    let mut table = Table::new("Cores per socket, and sockets", columns);
    let mut series = Vec::new();
    for program in programs {
        let mut by_cores = Vec::new();
        for (name, machine) in machines(lab)? {
            let results =
                lab.simulate(program, &machine, lab.schedulers(&[Ws, Sb]), Options::default())?;
            for result in &results {
                table.row([
                    (*program).to_owned(),
                    name.clone(),
                    result.scheduler.name().to_owned(),
                    format!("{:.2}", millions(result.time.median.0)),
                    format!("{:+.1}", time_change(&results[0], result).median),
                    format!("{:.3}", millions(misses(result).median.0)),
                    format!("{:+.1}", miss_change(&results[0], result).median),
                ]);
            }
            by_cores.push((name, results));
        }
        let whole = sockets(&lab.machine);
        by_cores.retain(|(name, _)| name.starts_with(&format!("{whole} x ")));
        for scheduler in [Ws, Sb] {
            let point = |(name, results): &(String, Vec<Summary>)| {
                let m = misses(of(results, scheduler)).map(|l| millions(l.0));
                Point::with_range(name, m.median, m.min, m.max)
            };
            let points = by_cores.iter().map(point).collect();
            series.push(Series { name: format!("{program}, {scheduler}"), points });
        }
        part.figures.extend(figures(program, &by_cores));
    }
    part.tables.push(table);
    part.plots.push(Plot {
        title: "Last-level misses by cores per socket".to_owned(),
        kind: PlotKind::Lines,
        x: Axis::linear("sockets x cores"),
        y: Axis::linear("millions of lines"),
        series,
    });
    Ok(part)
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
            machines
                .push((format!("{count} x all cores"), lab.machine.clone().with_sockets(count)?));
        }
    }
    Ok(machines)
}

/// The study: ws misses more the more cores share a cache; sb does not.
fn figures(program: &str, by_cores: &[(String, Vec<Summary>)]) -> Vec<Figure> {
    let unthreaded: Vec<_> =
        by_cores.iter().filter(|(name, _)| !name.contains("threads")).collect();
    let (Some((few, fewest)), Some((many, most))) = (unthreaded.first(), unthreaded.last()) else {
        return Vec::new();
    };
    let change = |scheduler| miss_change(of(fewest, scheduler), of(most, scheduler));
    let (ws, sb) = (change(Ws), change(Sb));
    vec![
        Figure::new(
            format!("cores/{program}/ws"),
            format!("last-level misses of {program} under ws on {many} cores, against {few}"),
            "more, the more cores share a cache",
            Range::at_least(0.0),
            ws.median,
            "%",
        )
        .spread(ws.low, ws.high),
        Figure::new(
            format!("cores/{program}/sb"),
            format!("last-level misses of {program} under sb on {many} cores, against {few}"),
            "the same",
            Range::new(-10.0, 10.0),
            sb.median,
            "%",
        )
        .spread(sb.low, sb.high),
    ]
}
