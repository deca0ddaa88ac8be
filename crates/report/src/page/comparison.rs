//! The page of a comparison: the tables' figures as plots, and what one run under each scheduler
//! looked like.

#[cfg(test)]
mod tests;

use std::{cmp::Reverse, collections::BTreeMap};

use befit_lab::{
    Conclusion, Estimate, Look, Looked, MissesBy, ProgramMisses, Shares, Spread, Summary,
};
use befit_machine::{ClusterId, Level, Machine};
use befit_page::{Axis, Node, Page, Part, Plot, PlotKind, Point, Series, Tree};

use super::{heading, pair, paragraph, prose, spent, table};
use crate::{
    comparison::{sampled, sampled_lines, shown},
    conclusion,
    misses::at,
    sizes::bytes,
};

/// Moments at which a time line and occupancies are shown.
const MOMENTS: usize = 1000;
/// Claims are shown of so many caches at most.
const CACHES: usize = 32;
/// Lines of the source are shown of so many at most.
const PLACES: usize = 12;

/// The page of `results`; `looks` has an entry for each machine, `conclusions` and `places` for
/// some.
pub fn page(
    results: &[Summary],
    conclusions: &[Conclusion],
    looks: &[Look],
    places: &[ProgramMisses],
) -> Page {
    let title = results.first().map_or("a comparison", |first| &first.command).to_owned();
    let mut parts = Vec::new();
    let same = |a: &Summary, b: &Summary| a.command == b.command && a.machine == b.machine;
    for block in results.chunk_by(same) {
        let first = &block[0];
        parts.push(heading(&format!("on {}", first.machine)));
        parts.push(paragraph(&introduction(block)));
        let is_its = |c: &&Conclusion| c.command == first.command && c.machine == first.machine;
        if let Some(conclusion) = conclusions.iter().find(is_its) {
            let text = conclusion::paragraphs(conclusion).into_iter();
            let text: String = text.map(|text| format!("<p>{}</p>\n", prose(&text))).collect();
            parts.push(Part::Html(format!("<div class=\"conclusion\">\n{text}</div>\n")));
        }
        parts.extend(pair([times(block), spent::stacked(block)]));
        parts.extend(spent::by_part(block));
        parts.extend(pair([misses(block), sources(block)]));
        let places = places.iter().find(|misses| misses.machine == first.machine);
        parts.extend(places.into_iter().flat_map(of_source));
        let look = looks.iter().find(|look| look.machine.name == first.machine);
        parts.extend(look.into_iter().flat_map(|look| of_runs(first, look)));
    }
    Page { title, parts }
}

/// What was simulated, and which figures of the seeds are shown.
fn introduction(block: &[Summary]) -> String {
    let Summary { workers, mhz, tasks, .. } = &block[0];
    let seeds = block.iter().map(|s| s.seeds).max().unwrap_or(1);
    let medians = format!(
        "Times and counts are medians of up to {seeds} seeds; thin lines at the bars' ends show \
         their range."
    );
    let figures = match &block[0].sampled {
        None => medians,
        // Of one seed there are no means.
        Some(of) if of.time.is_none() => format!("In each run {}. {medians}", sampled_lines(of)),
        Some(of) => format!(
            "In each run {}. Times, misses, and lines from and to memory are means of up to \
             {seeds} seeds; thin lines at the bars' ends show the 95 % interval of the figure of \
             all lines. Other counts are medians.",
            sampled_lines(of)
        ),
    };
    format!("{workers} workers at {mhz} MHz; {tasks} tasks. {figures}")
}

/// A median with its range over the seeds; of a sampled simulation the mean with its interval.
fn point<T: Copy>(
    x: &str,
    spread: &Spread<T>,
    estimate: Option<Estimate>,
    of: impl Fn(T) -> u64,
) -> Point {
    let (y, low, high) = match estimate {
        Some(mean) => (mean.estimate, mean.low, mean.high),
        None => {
            let [y, low, high] = [spread.median, spread.min, spread.max].map(|n| of(n) as f64);
            (y, low, high)
        }
    };
    Point::with_range(x, y / 1e6, low / 1e6, high / 1e6)
}

fn times(block: &[Summary]) -> Plot {
    let points = block
        .iter()
        .map(|s| point(s.scheduler.name(), &s.time, sampled(s, |s| s.time), |time| time.0));
    let series = [Series::new("time", points)];
    Plot::new("Time", PlotKind::Bars, Axis::linear("scheduler"), "M cycles", series)
}

fn misses(block: &[Summary]) -> Plot {
    let series = block.iter().map(|s| {
        let points = s.levels.iter().enumerate().map(|(at, counts)| {
            let level = counts.level;
            // What a sibling's cache supplied is no miss of the last level, as in the table.
            let (misses, estimate) = match at + 1 == s.levels.len() {
                true => (&s.last_level_misses, sampled(s, |s| s.last_level_misses)),
                false => (&counts.misses, sampled(s, |s| s.misses.get(&level).copied().flatten())),
            };
            point(&level.to_string(), misses, estimate, |lines| lines.0)
        });
        Series::new(s.scheduler.name(), points)
    });
    Plot::new("Misses", PlotKind::Bars, Axis::linear("cache"), "millions of lines", series)
}

/// What the last level's misses were served by, and what went back.
fn sources(block: &[Summary]) -> Plot {
    type Of = fn(&Summary) -> u64;
    let parts: [(&str, Of); 4] = [
        ("from memory", |s| shown(s.memory_reads.median.0, sampled(s, |s| s.memory_reads))),
        ("from other last-level caches of the package", |s| s.near_hits.median.0),
        ("from other packages", |s| s.far_hits.median.0),
        ("written to memory", |s| shown(s.memory_writes.median.0, sampled(s, |s| s.memory_writes))),
    ];
    let series = parts.into_iter().map(|(name, of)| {
        Series::new(name, block.iter().map(|s| (s.scheduler.name(), of(s) as f64 / 1e6)))
    });
    let title = "Lines beyond the last-level caches";
    Plot::new(title, PlotKind::Stacked, Axis::linear("scheduler"), "millions of lines", series)
}

/// The lines of the source with most misses.
fn of_source(misses: &ProgramMisses) -> Vec<Part> {
    let what = match misses.by {
        MissesBy::Line => "Misses by the line of the source that touches",
        MissesBy::Fork => "Misses by the line of the source that forks the task",
    };
    let places: Vec<_> = misses.code.iter().take(PLACES).collect();
    let name = |file: &Option<String>, line| at(file.as_deref(), line, "not known");
    let lines = by_line(misses);
    let series = |title: &str, of: fn(&Counts) -> u64| {
        Series::new(title, lines.iter().map(|(name, counts)| (name, of(counts) as f64 / 1e6)))
    };
    let plot = Plot::new(
        format!("{what}, under {}", misses.scheduler),
        PlotKind::Stacked,
        Axis::linear("line"),
        "millions of cache lines",
        [
            series("from memory", |counts| counts.0),
            series("from other last-level caches", |counts| counts.1),
        ],
    );
    let columns = |first, second| {
        [first, second, "memory", "other caches", "other sockets", "to and fro", "falsely shared"]
    };
    let cells = |name: String, detail: String, shares: &Shares| {
        let counts = [shares.memory, shares.other_caches, shares.other_sockets];
        let counts = counts.into_iter().chain([shares.to_and_fro, shares.false_sharing]);
        ("", [name, detail].into_iter().chain(counts.map(|n| n.to_string())).collect::<Vec<_>>())
    };
    let code = places.iter().map(|place| {
        let function = place.function.clone().unwrap_or_default();
        cells(name(&place.file, place.line), function, &place.shares)
    });
    let data = misses.data.iter().take(PLACES).map(|block| {
        let unknown = if block.kind == "stack" { "stacks" } else { "all other data" };
        let name = at(block.file.as_deref(), block.line, unknown);
        let size = if block.bytes.0 == 0 { "-".to_owned() } else { bytes(block.bytes) };
        cells(name, size, &block.shares)
    });
    let code = table("by line of the source", columns("line", "function"), code);
    let data = table("by data", columns("made at", "size"), data);
    vec![
        heading("where misses come from"),
        paragraph(
            "One run under the recommended scheduler: lines of cache that workers took from \
             outside of their last-level cache, by the line of the source that touched them, and \
             by the line that allocated the data. Of those from memory and from other caches, some \
             crossed to another socket, some went to and fro between workers that write them, and \
             some of these were falsely shared. `befit misses` shows all.",
        ),
        Part::Plot(plot),
        Part::Html(code + &data),
    ]
}

/// Lines of cache from memory, and from other last-level caches.
type Counts = (u64, u64);

/// The lines of the source with most misses, each in all functions that it is part of.
fn by_line(misses: &ProgramMisses) -> Vec<(String, Counts)> {
    let mut lines: BTreeMap<_, Counts> = BTreeMap::new();
    for place in &misses.code {
        let counts = lines.entry((place.file.as_deref(), place.line)).or_default();
        counts.0 += place.shares.memory;
        counts.1 += place.shares.other_caches;
    }
    let mut lines: Vec<_> = lines.into_iter().collect();
    lines.sort_by_key(|(_, counts)| Reverse(counts.0 + counts.1));
    lines.truncate(PLACES);
    // Of long names only the ends are shown, which may be alike.
    let mut alike: BTreeMap<String, u32> = BTreeMap::new();
    let named = lines.into_iter().map(|((file, line), counts)| {
        let name = at(file, line, "not known");
        let count = alike.entry(name.clone()).or_default();
        *count += 1;
        (if *count == 1 { name } else { format!("{name} ({count})") }, counts)
    });
    named.collect()
}

/// What single runs looked like.
fn of_runs(first: &Summary, look: &Look) -> Vec<Part> {
    let mut parts = vec![
        heading("speed-up"),
        paragraph(
            "How much faster than on one worker under the first scheduler, with one seed. The \
             bound is that worker's time over the shortest that the program can take: its work \
             over the number of workers, or its span if that is longer. Work and span have no \
             waits, and the one worker's time has them, so the bound may be above the number of \
             workers.",
        ),
        Part::Plot(speed_up(first, look)),
        heading("one run under each scheduler"),
    ];
    // One scale for all schedulers, so that equal colours are equal counts.
    let misses = look.runs.iter().flat_map(|run| &run.trace.misses);
    let most = misses.map(|lines| lines.0).max().unwrap_or(0) as f64 / 1e6;
    for run in &look.runs {
        parts.push(Part::Plot(time_line(&look.machine, run)));
        let tree = Part::Tree(tree(&look.machine, run, most));
        match occupancy(&look.machine, run) {
            Some(claims) => parts.extend([tree, Part::Plot(claims)]),
            None => parts.push(tree),
        }
    }
    parts
}

fn speed_up(first: &Summary, look: &Look) -> Plot {
    let base = look.speed.first().and_then(|(_, times)| Some(times.first()?.1));
    let base = base.unwrap_or(1) as f64;
    let mut series: Vec<_> = look
        .speed
        .iter()
        .map(|(kind, times)| {
            let points =
                times.iter().map(|(workers, time)| (workers, base / (*time).max(1) as f64));
            Series::new(kind.name(), points)
        })
        .collect();
    let counts: Vec<u32> =
        look.speed.first().map_or_else(Vec::new, |(_, times)| times.iter().map(|t| t.0).collect());
    // No schedule takes less time, whatever its workers wait for.
    let (work, span) = (first.work.0 as f64, first.span.0.max(1) as f64);
    let bound = counts.iter().map(|workers| {
        let least = (work / f64::from((*workers).max(1))).max(span);
        (workers, base / least)
    });
    series.push(Series::new("bound: work and span", bound));
    Plot::new("Speed-up", PlotKind::Lines, Axis::log("workers"), "speed-up", series)
}

/// The last-level caches, from left to right.
fn last_level(machine: &Machine) -> &[ClusterId] {
    &machine.cluster(ClusterId::ROOT).children
}

/// In millions of cycles, one of the `count` moments at which `total` cycles are shown: with as
/// many decimals as tell it from its neighbours.
fn moment(at: usize, total: f64, count: usize) -> String {
    let step = total / count as f64 / 1e6;
    let decimals = (-step.log10().floor()).clamp(3.0, 12.0) as usize;
    format!("{:.decimals$}", at as f64 * step)
}

/// What each worker ran when, by the last-level cache that the task was bound to, or at home in.
fn time_line(machine: &Machine, run: &Looked) -> Plot {
    let homes = last_level(machine);
    let home = |anchor: ClusterId| {
        let worker = machine.cluster(anchor).workers.start;
        let at = homes.iter().position(|id| machine.cluster(*id).workers.contains(&worker));
        if anchor == ClusterId::ROOT { 1 } else { at.map_or(1, |at| at + 2) }
    };
    let total = run.time.0.max(1);
    let mut rows = vec![vec![0_usize; MOMENTS]; machine.workers().len()];
    for stay in &run.trace.stays {
        let moment = |cycles: u64| (cycles as u128 * MOMENTS as u128 / u128::from(total)) as usize;
        let (begin, end) = (moment(stay.begin.0), moment(stay.end.0).min(MOMENTS - 1));
        let Some(row) = rows.get_mut(stay.worker.index()) else { continue };
        let home = home(stay.anchor);
        row.iter_mut().take(end + 1).skip(begin).for_each(|cell| *cell = home);
    }
    let at = |at: usize| moment(at, total as f64, MOMENTS);
    let series = rows.into_iter().enumerate().map(|(worker, row)| {
        let points =
            row.into_iter().enumerate().map(|(at_moment, home)| (at(at_moment), home as f64));
        Series::new(worker.to_string(), points)
    });
    let level = machine.levels().last().copied();
    let title = format!(
        "{}: what each worker ran, by the cache that it was bound to, or at home in",
        run.scheduler
    );
    let plot = Plot::new(title, PlotKind::Categories, Axis::linear("M cycles"), "worker", series);
    let names = (0..homes.len()).map(|at| format!("{} {at}", Level::name_of(level)));
    let names = ["idle".to_owned(), "bound to none".to_owned()].into_iter().chain(names);
    Plot { categories: names.collect(), ..plot }
}

/// The caches, coloured by their misses, on a scale that ends at `most` millions.
fn tree(machine: &Machine, run: &Looked, most: f64) -> Tree {
    let mut nodes: Vec<Node> = Vec::new();
    let mut waiting = vec![(ClusterId::ROOT, None)];
    let mut seen = std::collections::BTreeMap::new();
    while let Some((id, parent)) = waiting.pop() {
        let cluster = machine.cluster(id);
        let level = cluster.cache.map(|cache| cache.level);
        let number = seen.entry(level).and_modify(|n| *n += 1).or_insert(0);
        let name = match level {
            Some(level) => format!("{level} {number}"),
            None => "memory".to_owned(),
        };
        let value = run.trace.misses.get(id.index()).map_or(0, |lines| lines.0);
        let own = nodes.len();
        nodes.push(Node::new(name, parent, value as f64 / 1e6));
        waiting.extend(cluster.children.iter().rev().map(|child| (*child, Some(own))));
    }
    let title = format!("{}: misses of each cache", run.scheduler);
    Tree { title, unit: "M misses".to_owned(), most, nodes }
}

/// How much of each last-level cache was given out over time; `None` where the policy gives none.
fn occupancy(machine: &Machine, run: &Looked) -> Option<Plot> {
    if run.trace.claims.is_empty() {
        return None;
    }
    let homes = last_level(machine);
    let total = run.time.0.max(1) as f64;
    let points = MOMENTS / 5;
    let series = homes.iter().take(CACHES).enumerate().map(|(at, id)| {
        let size = machine.cluster(*id).size().0.max(1) as f64;
        let mut claims = run.trace.claims.iter().filter(|claim| claim.cluster == *id).peekable();
        let mut now = 0;
        let values = (0..points).map(|point| {
            let moment = total * point as f64 / points as f64;
            while let Some(claim) = claims.next_if(|claim| claim.at.0 as f64 <= moment) {
                now = claim.bytes.0;
            }
            (self::moment(point, total, points), 100.0 * now as f64 / size)
        });
        let values: Vec<_> = values.collect();
        Series::new(format!("{} {at}", Level::name_of(machine.levels().last().copied())), values)
    });
    let title = format!("{}: how much of each last-level cache was given out", run.scheduler);
    let series: Vec<_> = series.collect();
    Some(Plot::new(title, PlotKind::Steps, Axis::linear("M cycles"), "% of the cache", series))
}
