//! What the workers' time went on, part by part.

use befit_lab::Summary;
use befit_page::{Axis, Part as PagePart, Plot, PlotKind, Point, Series};
use befit_sim::Part;

use super::paragraph;

/// What parts of the account are shown as, in order.
const SHOWN: [(&str, &[Part]); 15] = [
    ("program", &[Part::Work, Part::SharedCores]),
    ("scheduling", &[Part::Forks, Part::Policy, Part::Locks]),
    ("wait: near caches", &[Part::Caches]),
    ("wait: memory", &[Part::Memory]),
    ("wait: other caches", &[Part::OtherCaches]),
    ("wait: lines to and fro", &[Part::Handovers]),
    ("wait: strided walks", &[Part::Strides]),
    ("wait: bandwidth", &[Part::Bandwidth]),
    ("wait: walks to pages", &[Part::Walks]),
    ("page faults", &[Part::Faults]),
    ("idle: serial strand", &[Part::Serial]),
    ("idle: few tasks yet", &[Part::FewTasks]),
    ("idle: last tasks", &[Part::Stragglers]),
    ("idle: bound elsewhere", &[Part::Bound]),
    ("idle: searching", &[Part::Search]),
];

/// A part that takes less of every scheduler's time is not shown.
const LEAST: f64 = 0.005;

/// The parts of which `block` has any to show.
fn shown(block: &[Summary]) -> Vec<(&'static str, &'static [Part])> {
    let mut shown = SHOWN.to_vec();
    shown.retain(|(_, parts)| {
        let share = |s: &Summary| cycles(s, parts) / cycles(s, &Part::ALL).max(1.0);
        block.iter().any(|s| share(s) >= LEAST)
    });
    shown
}

/// The mean over workers and seeds.
fn cycles(of: &Summary, parts: &[Part]) -> f64 {
    let sum: f64 = parts.iter().map(|part| of.account.get(*part).0 as f64).sum();
    sum / f64::from(of.workers.max(1))
}

/// All parts on top of one another: together the running time.
pub(super) fn stacked(block: &[Summary]) -> Plot {
    let series = shown(block).into_iter().map(|(name, parts)| {
        Series::new(name, block.iter().map(|s| (s.scheduler.name(), cycles(s, parts) / 1e6)))
    });
    let title = "What the time went on";
    Plot::new(title, PlotKind::Stacked, Axis::linear("scheduler"), "M cycles of a worker", series)
}

/// The same side by side with intervals, and what the parts are.
pub(super) fn by_part(block: &[Summary]) -> [PagePart; 2] {
    let shown = shown(block);
    let series = block.iter().map(|s| {
        let points = shown.iter().map(|(name, parts)| {
            let mean = cycles(s, parts) / 1e6;
            s.spent_on(parts).map_or(Point::new(name, mean), |interval| {
                Point::with_range(name, mean, interval.low / 1e6, interval.high / 1e6)
            })
        });
        Series::new(s.scheduler.name(), points.collect::<Vec<_>>())
    });
    let title = "What the time went on, part by part";
    let plot = Plot::new(title, PlotKind::Bars, Axis::linear(""), "M cycles of a worker", series);
    let text = "Means over workers and seeds; thin lines show the 95 % interval over the seeds. \
                Workers wait for cache lines, by where these come from, and are idle: while a \
                strand of the program runs alone, while it has not forked as many tasks as there \
                are workers, while the last of many tasks run, while all tasks are bound to caches \
                of other workers, or while they look for a task. Parts that nowhere take half a \
                percent are left out.";
    [PagePart::Plot(plot), paragraph(text)]
}
