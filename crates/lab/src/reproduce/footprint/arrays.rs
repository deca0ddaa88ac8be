//! Tasks A, B and C on an array, under schedules 1 and 2 (the study's first experiment).

use befit_sim::footprint::{Latencies, Tasks};

use super::setup::{ARRAY_INSTRUCTIONS, Setup};
use crate::{
    LabError,
    reproduce::{Axis, Figure, Plot, PlotKind, Range, Reproduction, Series, Table},
};

/// Rows of a task: iterations of its loop.
const ROWS: f64 = 256.0;
const SETS: [&str; 3] = ["ac", "ab", "abc"];
const RUNS: [usize; 4] = [1, 10, 100, MOST];
/// The most runs of each task.
const MOST: usize = 1000;

/// The recorded runs of a set of tasks under schedules 1 and 2, [`MOST`] runs of each task.
struct Recorded {
    tasks: &'static str,
    schedules: [Tasks; 2],
}

impl Recorded {
    fn new(setup: &Setup, tasks: &'static str) -> Result<Self, LabError> {
        let record = |schedule| {
            setup.record(&format!("array-abc:tasks={tasks},schedule={schedule}"), MOST as u64)
        };
        Ok(Self { tasks, schedules: [record(1)?, record(2)?] })
    }

    /// Cycles per iteration with N = `n`, under schedules 1 and 2. A schedule of N runs of each
    /// task is part of that of [`MOST`].
    fn measure(&self, setup: &Setup, n: usize, latencies: Latencies) -> Result<[f64; 2], LabError> {
        let count = self.tasks.len();
        let mut cycles = [0.0; 2];
        for ((schedule, runs), cycles) in self.schedules.iter().enumerate().zip(&mut cycles) {
            let mut core = setup.core(runs, ARRAY_INSTRUCTIONS, latencies)?;
            // The kernel begins with one pass over its tasks, which warms the caches and is not
            // measured.
            for run in 0..count {
                core.run(runs, run, None);
            }
            let measured = (count..runs.len()).filter(|run| match schedule {
                0 => (run - count) % MOST < n,
                _ => run - count < n * count,
            });
            let sum: f64 = measured.map(|run| core.run(runs, run, None)).sum();
            *cycles = sum / ((n * count) as f64 * ROWS);
        }
        Ok(cycles)
    }
}

/// Adds what the arrays show.
pub(super) fn run(setup: &Setup, to: &mut Reproduction) -> Result<(), LabError> {
    let recorded =
        SETS.into_iter().map(|tasks| Recorded::new(setup, tasks)).collect::<Result<Vec<_>, _>>()?;
    let mut ratios = Vec::new();
    for latencies in [Latencies::Exclusive, Latencies::Additive] {
        let reading = format!("{latencies:?}").to_lowercase();
        let mut table = Table::new(
            format!(
                "Arrays: cycles per iteration, latencies {reading}; per instruction in brackets \
                 (figures 5 to 7: arrays)"
            ),
            ["tasks", "N", "schedule 1", "schedule 2", "2 over 1"],
        );
        let mut all = Vec::new();
        let mut lines = Vec::new();
        for recorded in &recorded {
            let tasks = recorded.tasks;
            let mut by_runs = Vec::new();
            for n in RUNS {
                let cycles = recorded.measure(setup, n, latencies)?;
                let shown = |c: f64| format!("{c:.2} ({:.2})", c / ARRAY_INSTRUCTIONS);
                table.row([
                    tasks.to_uppercase(),
                    n.to_string(),
                    shown(cycles[0]),
                    shown(cycles[1]),
                    format!("{:.2}", cycles[1] / cycles[0]),
                ]);
                by_runs.push(cycles);
            }
            for schedule in 0..2 {
                let name = format!("{}, schedule {}", tasks.to_uppercase(), schedule + 1);
                let points = RUNS.iter().zip(&by_runs).map(|(n, cycles)| (*n, cycles[schedule]));
                lines.push(Series::new(name, points));
            }
            let [first, second] = by_runs[RUNS.len() - 1];
            ratios.push((reading.clone(), tasks, second / first));
            all.push(by_runs);
        }
        to.tables.push(table);
        let title = format!("Arrays: cycles per iteration by N, latencies {reading}");
        let x = Axis::log("N: runs of each task");
        to.plots.push(Plot::new(title, PlotKind::Lines, x, "cycles per iteration", lines));
        if latencies == Latencies::Exclusive {
            orderings(&all, to);
        }
    }
    ratio_figures(&ratios, to);
    Ok(())
}

/// The study's claims about the order of its curves, at each N.
fn orderings(cycles: &[Vec<[f64; 2]>], to: &mut Reproduction) {
    let [ac, ab, abc] = [0, 1, 2].map(|tasks: usize| &cycles[tasks]);
    for (at, n) in RUNS.iter().enumerate() {
        let mut add = |id: &str, what: String, reported: &str, range, value, unit| {
            let id = format!("arrays/{id}/n-{n}");
            to.figures.push(Figure::new(
                id,
                format!("arrays, {what}"),
                reported,
                range,
                value,
                unit,
            ));
        };
        add(
            "ab-over-ac",
            format!("schedule 2, N = {n}: cycles of AB over AC"),
            "AB better than AC",
            Range::at_most(0.99),
            ab[at][1] / ac[at][1],
            "x",
        );
        add(
            "abc-between",
            format!("schedule 2, N = {n}: where ABC lies between AB (0) and AC (1)"),
            "in between",
            Range::new(0.01, 0.99),
            (abc[at][1] - ab[at][1]) / (ac[at][1] - ab[at][1]),
            "",
        );
        add(
            "ac-stays-bad",
            format!("schedule 2: cycles of AC at N = {n} over those at N = 1"),
            "stays bad as N grows",
            Range::about(1.0, 0.05),
            ac[at][1] / ac[0][1],
            "x",
        );
        if at > 0 {
            let fewer = RUNS[at - 1];
            add(
                "schedule-1-improves",
                format!("schedule 1: cycles of ABC at N = {n} over those at N = {fewer}"),
                "falls as N grows",
                Range::at_most(1.0),
                abc[at][0] / abc[at - 1][0],
                "x",
            );
        }
    }
}

/// The study's claims about the worst order over the best, each with the latencies' reading.
fn ratio_figures(ratios: &[(String, &str, f64)], to: &mut Reproduction) {
    for ((reading, tasks, ratio), expected) in ratios.iter().zip([4.98, 2.99, 3.66]) {
        to.figures.push(Figure::new(
            format!("arrays/worst-over-best/{tasks}"),
            format!(
                "arrays {}, N = 1000: schedule 2 over schedule 1, latencies {reading}",
                tasks.to_uppercase()
            ),
            format!("{expected} by calculation with 4 instructions an iteration, dual issue"),
            Range::about(expected, 0.1),
            *ratio,
            "x",
        ));
    }
    for (reading, _, ratio) in ratios.iter().filter(|(_, tasks, _)| *tasks == "ac") {
        to.figures.push(Figure::new(
            format!("arrays/up-to-5x/{reading}"),
            format!("arrays AC, N = 1000: worst over best, latencies {reading}"),
            "up to 5x",
            Range::new(4.6, 5.4),
            *ratio,
            "x",
        ));
    }
}
