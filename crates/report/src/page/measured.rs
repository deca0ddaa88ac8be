//! The page of a machine that was measured without a checkout.

use befit_page::{Axis, Page, Part, Plot, PlotKind, Point, Series, html::wide};

use super::{escape, heading, pair, paragraph};
use crate::{
    Width,
    measured::{IdlePool, Measured, Peer, Rrm, Verified, render},
};

/// The whole text, and plots of what has several numbers of threads.
pub fn page(measured: &Measured) -> Page {
    let mut parts: Vec<Part> = measured.missing().iter().map(|line| paragraph(line)).collect();
    let rrm = measured.rrm();
    if !rrm.is_empty() {
        parts.push(heading("rrm, predicted and measured"));
        parts.push(Part::Plot(times_of_rrm(&rrm)));
    }
    if let Some(verified) = measured.verified.as_ref().filter(|part| !part.results.is_empty()) {
        parts.push(heading("kernels, predicted and measured"));
        parts.extend(pair([ratios(&verified.results), speed_ups(&verified.results)]));
    }
    let peers = measured.all_peers();
    if !peers.is_empty() {
        parts.push(heading("programs beside other runtimes"));
        let programs = peers.chunk_by(|a, b| a.program == b.program);
        parts.extend(programs.map(|of_program| Part::Plot(beside(of_program))));
    }
    if let Some(idle) = &measured.idle {
        parts.push(heading("idle pools"));
        let workloads = idle.idle.chunk_by(|a, b| a.workload == b.workload);
        parts.extend(workloads.map(|of_workload| Part::Plot(idle_pools(of_workload))));
    }
    parts.push(heading("all figures"));
    let text = escape(&render(measured, Width::ANY));
    parts.push(Part::Html(wide("all figures", &format!("<pre>{text}</pre>"))));
    Page { title: format!("{}, {} threads", measured.model, measured.threads), parts }
}

fn times_of_rrm(rrm: &[Rrm]) -> Plot {
    let points = |of: fn(&Rrm) -> Option<f64>| {
        rrm.iter().filter_map(move |row| Some((row.scheduler.clone(), of(row)?)))
    };
    let series = [
        Series::new("predicted", points(|row| row.predicted)),
        Series::new("measured", points(|row| row.measured)),
    ];
    Plot::new("Times of rrm", PlotKind::Bars, Axis::linear("scheduler"), "ms", series)
}

/// A line for each name, over the number of threads.
fn lines<'a, T: 'a>(
    rows: impl Iterator<Item = &'a T>,
    of: impl Fn(&T) -> (String, Point),
) -> Vec<Series> {
    let mut series: Vec<Series> = Vec::new();
    for (name, point) in rows.map(of) {
        match series.iter_mut().find(|series| series.name == name) {
            Some(series) => series.points.push(point),
            None => series.push(Series::new(name, [point])),
        }
    }
    series
}

fn ratios(results: &[Verified]) -> Plot {
    let of = |row: &Verified| (row.command.clone(), Point::new(row.threads, row.ratio));
    let series = lines(results.iter(), of);
    let x = Axis::log("threads");
    Plot::new("Predicted over measured", PlotKind::Lines, x, "ratio", series)
}

fn speed_ups(results: &[Verified]) -> Plot {
    let of = |row: &Verified| (row.command.clone(), Point::new(row.threads, row.measured_speed_up));
    let series = lines(results.iter(), of);
    Plot::new("Measured speed-up", PlotKind::Lines, Axis::log("threads"), "times", series)
}

/// One program: how many times as fast as rayon on one thread, or as the first row.
fn beside(rows: &[&Peer]) -> Plot {
    let base = rows.iter().find(|row| row.runtime == "rayon" && row.threads == 1);
    let base = *base.unwrap_or(&rows[0]);
    let of = |row: &&Peer| {
        let speed = |seconds: f64| base.seconds.median / seconds;
        let time = row.seconds;
        let (y, low, high) = (speed(time.median), speed(time.max), speed(time.min));
        (row.runtime.clone(), Point::with_range(row.threads, y, low, high))
    };
    let y = format!("times as fast as {} on {} thread", base.runtime, base.threads);
    let x = Axis::log("threads");
    Plot::new(rows[0].program.clone(), PlotKind::Lines, x, &y, lines(rows.iter(), of))
}

fn idle_pools(rows: &[IdlePool]) -> Plot {
    let of = |row: &IdlePool| {
        let time = row.cpu_seconds;
        let point =
            Point::with_range(row.threads, time.median * 1e6, time.min * 1e6, time.max * 1e6);
        (row.runtime.clone(), point)
    };
    let title = format!("{}: processor time a call", rows[0].workload);
    let x = Axis::log("threads of the pool");
    Plot::new(title, PlotKind::Lines, x, "microseconds", lines(rows.iter(), of))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::tests::{empty, sample};

    fn plots(page: &Page) -> Vec<&Plot> {
        let mut plots = Vec::new();
        for part in &page.parts {
            if let Part::Plot(plot) = part {
                plots.push(plot);
            }
        }
        plots
    }

    #[test]
    fn each_part_has_plots_over_the_number_of_threads() {
        let page = page(&sample());
        let plots = plots(&page);
        let titles: Vec<&str> = plots.iter().map(|plot| &plot.title[..]).collect();
        let expected = [
            "Times of rrm",
            "Predicted over measured",
            "Measured speed-up",
            "fib",
            "join: processor time a call",
        ];
        assert_eq!(titles, expected);
        let fib = &plots[3].series;
        let found: Vec<(&str, Vec<f64>)> =
            fib.iter().map(|s| (&s.name[..], s.points.iter().map(|p| p.y).collect())).collect();
        assert_eq!(found, [("befit-ws", vec![2.0, 8.0]), ("rayon", vec![1.0, 3.2])]);
    }

    #[test]
    fn a_machine_without_parts_has_a_page_that_says_so() {
        let page = page(&empty());
        assert!(plots(&page).is_empty());
        assert!(page.parts.len() > 6);
    }
}
