//! The bandwidth gap (section 5.3): the same programs with fewer memory controllers in use.

use befit_sched::{
    Options,
    SchedulerKind::{Sb, Ws},
};

use super::{
    super::{Axis, Figure, Plot, PlotKind, Range, Series, Table},
    Lab, Part,
    measure::{give, millions, miss_change, misses, of, time_change},
};
use crate::LabError;

/// Percent of the memory bandwidth.
const BANDWIDTHS: [u32; 4] = [100, 75, 50, 25];

pub(super) fn run(lab: &Lab<'_>) -> Result<Part, LabError> {
    let programs: &[&str] = if lab.quick { &["rrm", "rgm"] } else { &["rrm", "rgm", "samplesort"] };
    let mut part = Part::default();
    let columns = [
        "program",
        "bandwidth, %",
        "scheduler",
        "time, M cycles",
        "±, %",
        "against ws, %",
        "L3 misses, M",
        "against ws, %",
    ];
    let mut table = Table::new("Bandwidth gap", columns);
    let mut series = Vec::new();
    for program in programs {
        let mut gains = Vec::new();
        let mut line = Series { name: format!("{program}, sb"), points: Vec::new() };
        for percent in BANDWIDTHS {
            let machine = lab.machine.clone().with_bandwidth(percent)?;
            let results =
                lab.simulate(program, &machine, lab.schedulers(&[Ws, Sb]), Options::default())?;
            for result in &results {
                table.row([
                    (*program).to_owned(),
                    percent.to_string(),
                    result.scheduler.name().to_owned(),
                    format!("{:.2}", millions(result.time.median.0)),
                    give(result.time.map(|c| c.0)),
                    format!("{:+.1}", time_change(&results[0], result).median),
                    format!("{:.3}", millions(misses(result).median.0)),
                    format!("{:+.1}", miss_change(&results[0], result).median),
                ]);
            }
            let change = time_change(of(&results, Ws), of(&results, Sb));
            line.points.push(change.point(percent));
            gains.push(change);
        }
        series.push(line);
        let (full, quarter) = (gains[0], gains[gains.len() - 1]);
        part.figures.push(
            Figure::new(
                format!("bandwidth/{program}/quarter"),
                format!("running time of {program} under sb on 25 % of the bandwidth, against ws"),
                "up to -50 %",
                Range::new(-55.0, -15.0),
                quarter.median,
                "%",
            )
            .spread(quarter.low, quarter.high),
        );
        part.figures.push(Figure::new(
            format!("bandwidth/{program}/growth"),
            format!(
                "gain in time of sb on {program}: points that it is larger with 25 % of the bandwidth than with all"
            ),
            "grows as bandwidth falls",
            Range::at_least(0.0),
            full.median - quarter.median,
            "points",
        ));
    }
    part.tables.push(table);
    part.plots.push(Plot {
        title: "Running time of sb against ws, by memory bandwidth".to_owned(),
        kind: PlotKind::Lines,
        x: Axis::linear("bandwidth, %"),
        y: Axis::linear("change, %"),
        series,
    });
    Ok(part)
}
