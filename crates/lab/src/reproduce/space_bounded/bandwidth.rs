//! The bandwidth gap (section 5.3): the same programs with fewer memory controllers in use.

use befit_sched::SchedulerKind::{Sb, Ws};

use super::{
    Lab,
    measure::{MISS_CHANGE, MISSES, ResultTable, TIME, TIME_CHANGE, TIME_GIVE, of, time_change},
};
use crate::{
    LabError,
    reproduce::{Axis, Figure, Plot, PlotKind, Range, Reproduction, Series},
};

/// Percent of the memory bandwidth.
const BANDWIDTHS: [u32; 4] = [100, 75, 50, 25];

pub(super) fn run(lab: &Lab<'_>, to: &mut Reproduction) -> Result<(), LabError> {
    let programs: &[&str] = if lab.quick { &["rrm", "rgm"] } else { &["rrm", "rgm", "samplesort"] };
    let columns = &[TIME, TIME_GIVE, TIME_CHANGE, MISSES, MISS_CHANGE];
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
            full.median - quarter.median,
            "points",
        ));
    }
    to.tables.push(table.table);
    let title = "Running time of sb against ws, by memory bandwidth";
    let x = Axis::linear("bandwidth, %");
    to.plots.push(Plot::new(title, PlotKind::Lines, x, "change, %", series));
    Ok(())
}
