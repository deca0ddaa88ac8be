//! The page of sizes, declared or learned, beside those that tasks have.

use befit_lab::{LearnedSizes, SiteSizes, SizeGroup, Sizes, TaskSize};
use befit_machine::{Bytes, Level};
use befit_page::{Axis, Page, Part, Plot, PlotKind, Point, Series};

use super::{heading, paragraph, table};
use crate::sizes::{bytes, path};

/// A size below this has no place of its own on a logarithmic axis: one line of cache.
const LEAST: u64 = 64;

/// Lines of the source that have marks of their own; the others are one.
const SITES: usize = 7;

/// What tasks declare beside what they touch. `learned`: they declare nothing, and the sizes were
/// learned from the recording itself.
pub fn page(sizes: &Sizes, learned: bool) -> Page {
    let given = if learned { "learned" } else { "declared" };
    let Sizes { command, machine, sigma, tasks, declaring, .. } = sizes;
    let line = if learned {
        format!(
            "None of the {tasks} tasks declares a size. The sizes here were learned from this \
             recording, for {declaring} tasks."
        )
    } else {
        format!("{declaring} of {tasks} tasks declare a size.")
    };
    let mut parts = vec![paragraph(&line)];
    parts.extend(points(&sizes.by_site, given));
    let what = format!("The smallest caches that they befit on {machine}, at σ {sigma}");
    parts.push(Part::Plot(befitting(sizes, what, given)));
    let under = sizes.worst.partition_point(|task| task.measured > task.declared);
    let (under, over) = sizes.worst.split_at(under);
    for (what, worst) in [("more", under), ("less", over)] {
        let title = format!("tasks that touch over a tenth {what} than {given}, by most bytes");
        parts.extend(worst_tasks(&title, worst, given));
    }
    Page { title: format!("sizes of {command}"), parts }
}

/// What a file says of sizes, beside what tasks touch.
pub fn learned_page(sizes: &LearnedSizes) -> Page {
    let LearnedSizes { command, machine, sigma, tasks, unknown, learned_from, .. } = sizes;
    let line = format!(
        "The sizes were learned from {}. There are {tasks} tasks; for {unknown} of them the file \
         has no size. {:.1} % of the others befit the same cache of {machine} by either size, at \
         σ {sigma}.",
        learned_from.join(", "),
        100.0 * sizes.all.same_cache
    );
    let mut parts = vec![paragraph(&line)];
    parts.extend(points(&sizes.by_site, "learned"));
    let known: Vec<_> = sizes.sites.iter().filter(|site| site.known).take(SITES).collect();
    if !known.is_empty() {
        let error = |title: &str, of: fn(&befit_lab::Errors) -> f64| {
            let name = |site: &befit_lab::LearnedSite| {
                site.source.clone().unwrap_or_else(|| site.name.clone())
            };
            Series::new(title, known.iter().map(|site| (name(site), 100.0 * of(&site.errors))))
        };
        let series = [error("median", |e| e.median), error("90th percentile", |e| e.tail)];
        let title = "How far learned sizes are off";
        let x = Axis::linear("line that forks the tasks");
        parts.push(Part::Plot(Plot::new(
            title,
            PlotKind::Bars,
            x,
            "% of the measured size",
            series,
        )));
    }
    Page { title: format!("learned sizes of {command}"), parts }
}

/// Given sizes against measured ones; nothing where there are none.
fn points(sites: &[SiteSizes], given: &str) -> Vec<Part> {
    if sites.is_empty() {
        return Vec::new();
    }
    let number = |bytes: Bytes| bytes.0.max(LEAST) as f64;
    let point = |group: &SizeGroup| {
        let (x, y) = (number(group.given.median), group.measured.map(number));
        Point::with_range(x, y.median, y.min, y.max)
    };
    let (own, others) = sites.split_at(sites.len().min(SITES));
    let mut series: Vec<_> =
        own.iter().map(|site| Series::new(&*site.site, site.groups.iter().map(point))).collect();
    if !others.is_empty() {
        let groups = others.iter().flat_map(|site| &site.groups);
        series.push(Series::new(format!("{} further lines", others.len()), groups.map(point)));
    }
    let title = format!("Sizes, {given} and measured, by the line that forks the tasks");
    let x = Axis::bytes(given);
    let plot = Plot::new(title, PlotKind::Points, x, "", series);
    vec![
        Part::Plot(Plot { y: Axis::bytes("measured"), ..plot }),
        paragraph(&format!(
            "A mark stands for all tasks of a line with about the same {given} size, and its bar \
             for the range of their measured sizes. On the dotted line both are equal; tasks above \
             it touch more than {given}. Tasks that touch nothing stand at {LEAST}\u{a0}B."
        )),
    ]
}

fn befitting(sizes: &Sizes, title: String, given: &str) -> Plot {
    type Of = fn(&befit_lab::Befitting) -> u64;
    let series: [(String, Of); 3] = [
        (format!("by the {given} size"), |b| b.declared),
        ("by what they touch".to_owned(), |b| b.measured),
        (format!("by the {given} size, though they touch more"), |b| b.overflowing),
    ];
    let series = series.map(|(name, of)| {
        let points = sizes.befitting.iter().map(|b| (Level::name_of(b.level), of(b) as f64));
        Series::new(name, points)
    });
    Plot::new(title, PlotKind::Bars, Axis::linear("cache"), "tasks", series)
}

fn worst_tasks(title: &str, tasks: &[TaskSize], given: &str) -> Vec<Part> {
    if tasks.is_empty() {
        return vec![heading(title), paragraph("None.")];
    }
    let rows = tasks.iter().map(|task| {
        let place = task.source.clone().unwrap_or_else(|| "not known".to_owned());
        let ratio = format!("{:.2}", task.ratio);
        let cells =
            vec![path(&task.path), place, bytes(task.declared), bytes(task.measured), ratio];
        ("", cells)
    });
    let columns = ["task", "forked at", given, "measured", "ratio"];
    vec![Part::Html(table(title, columns, rows))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use befit_lab::Spread;

    #[test]
    fn each_line_has_marks_of_its_own_and_many_lines_share_the_last() {
        let same = |bytes| Spread { min: Bytes(bytes), median: Bytes(bytes), max: Bytes(bytes) };
        let group = SizeGroup { given: same(64), measured: same(128), tasks: 3 };
        let site = |number| SiteSizes { site: format!("a.rs:{number}"), groups: vec![group] };
        let sites: Vec<_> = (0..9).map(site).collect();
        let parts = points(&sites, "declared");
        let Part::Plot(plot) = &parts[0] else { panic!("{parts:?}") };
        assert_eq!((plot.series.len(), &*plot.series[7].name), (8, "2 further lines"));
        assert_eq!(plot.series[0].points, [Point::with_range(64, 128.0, 128.0, 128.0)]);
        assert!(points(&[], "declared").is_empty());
    }
}
