//! The page of a comparison: the tables' figures as plots, and what one run under each scheduler
//! looked like.

use std::{cmp::Reverse, collections::BTreeMap};

use befit_lab::{Conclusion, Look, Looked, MissesBy, ProgramMisses, Shares, Summary};
use befit_machine::{ClusterId, Level, Machine};
use befit_page::{Axis, Node, Page, Part, Plot, PlotKind, Point, Series, Tree};

use super::{heading, pair, paragraph, prose, spent, table};
use crate::{conclusion, misses::at, sizes::bytes};

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
        let seeds = block.iter().map(|s| s.seeds).max().unwrap_or(1);
        parts.push(paragraph(&format!(
            "{} workers at {} MHz; {} tasks. Times and counts are medians of up to {seeds} seeds; \
             thin lines at the bars' ends show their range.",
            first.workers, first.mhz, first.tasks
        )));
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

/// A median with its range over the seeds.
fn point<T: Copy>(x: &str, spread: &befit_lab::Spread<T>, of: impl Fn(T) -> f64) -> Point {
    Point::with_range(x, of(spread.median), of(spread.min), of(spread.max))
}

fn times(block: &[Summary]) -> Plot {
    let points = block.iter().map(|s| point(s.scheduler.name(), &s.time, |t| t.0 as f64 / 1e6));
    let series = [Series::new("time", points)];
    Plot::new("Time", PlotKind::Bars, Axis::linear("scheduler"), "M cycles", series)
}

fn misses(block: &[Summary]) -> Plot {
    let series = block.iter().map(|s| {
        let points = s.levels.iter().map(|level| {
            point(&level.level.to_string(), &level.misses, |lines| lines.0 as f64 / 1e6)
        });
        Series::new(s.scheduler.name(), points)
    });
    Plot::new("Misses", PlotKind::Bars, Axis::linear("cache"), "millions of lines", series)
}

/// What the last level's misses were served by, and what went back.
fn sources(block: &[Summary]) -> Plot {
    type Of = fn(&Summary) -> u64;
    let parts: [(&str, Of); 4] = [
        ("from memory", |s| s.memory_reads.median.0),
        ("from other last-level caches of the package", |s| s.near_hits.median.0),
        ("from other packages", |s| s.far_hits.median.0),
        ("written to memory", |s| s.memory_writes.median.0),
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
            "How much faster than on one worker under the first scheduler, with one seed. No \
             scheduler is faster than the number of workers (work) or than work over span allows, \
             but for what caches together hold more than one.",
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
    let most = first.work.0 as f64 / first.span.0.max(1) as f64;
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
    let bound = counts.iter().map(|workers| (workers, f64::from(*workers).min(most)));
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

#[cfg(test)]
mod tests {
    use befit_machine::{Bytes, Cycles, Lines, WorkerId};
    use befit_program::TaskId;
    use befit_sched::SchedulerKind;
    use befit_sim::{Claimed, Stay, Trace};

    use super::*;

    fn look() -> Look {
        let machine = Machine::find("pack:2 l3:1 core:2 l1:1 pu:1").unwrap();
        let last = last_level(&machine)[1];
        let stay = |worker, begin, end, anchor| Stay {
            worker: WorkerId(worker),
            begin: Cycles(begin),
            end: Cycles(end),
            task: TaskId(0),
            anchor,
        };
        let trace = Trace {
            stays: vec![stay(0, 0, 50, ClusterId::ROOT), stay(3, 50, 100, last)],
            misses: (0..machine.clusters().len() as u64).map(|n| Lines(n * 1_000_000)).collect(),
            claims: vec![Claimed { cluster: last, at: Cycles(50), bytes: Bytes(1 << 10) }],
            steals: Vec::new(),
        };
        let scheduler = SchedulerKind::Sb;
        let runs = vec![Looked { scheduler, time: Cycles(100), trace }];
        Look { machine, speed: vec![(scheduler, vec![(1, 400), (4, 100)])], runs }
    }

    #[test]
    fn a_line_that_two_functions_have_is_one_bar_of_their_sum() {
        let mut misses = crate::misses::tests::misses();
        let mut again = misses.code[1].clone();
        again.function = Some("other".to_owned());
        again.shares.memory = 4_000_000;
        misses.code.push(again);
        let lines = by_line(&misses);
        let (first, second) = (&lines[0], &lines[1]);
        assert_eq!((first.0.as_str(), first.1), ("src/a.rs:3", (4_000_007, 0)));
        assert_eq!((second.0.as_str(), second.1), ("src/main.rs:12", (3_000_000, 1_000_000)));
        assert_eq!(lines.len(), 3);
    }

    #[test]
    fn lines_whose_names_have_the_same_end_are_two_bars() {
        let mut misses = crate::misses::tests::misses();
        let file = |version: &str| Some(format!("crate-{version}/{}/lib.rs", "x".repeat(40)));
        misses.code.truncate(2);
        for (line, version) in misses.code.iter_mut().zip(["1.0", "2.0"]) {
            (line.file, line.line) = (file(version), Some(7));
        }
        let names: Vec<String> = by_line(&misses).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names[1], format!("{} (2)", names[0]));
    }

    #[test]
    fn a_time_line_shows_who_ran_what_bound_to_which_cache() {
        let look = look();
        let plot = time_line(&look.machine, &look.runs[0]);
        assert_eq!(plot.categories, ["idle", "bound to none", "L3 0", "L3 1"]);
        let at = |worker: usize, moment: usize| plot.series[worker].points[moment].y;
        assert_eq!((at(0, 10), at(0, 900), at(1, 10)), (1.0, 0.0, 0.0));
        assert_eq!((at(3, 10), at(3, 900)), (0.0, 3.0));
    }

    #[test]
    fn moments_differ_however_short_the_run() {
        for total in [1.0, 100.0, 999_999.0, 1e6, 2_345_678.0, 1e12] {
            for count in [MOMENTS, MOMENTS / 5] {
                let all: Vec<String> = (0..count).map(|at| moment(at, total, count)).collect();
                assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "{total}");
            }
        }
        assert_eq!(moment(500, 5e6, 1000), "2.500");
        let look = look();
        let plot = time_line(&look.machine, &look.runs[0]);
        assert_ne!(plot.series[0].points[10].x, plot.series[0].points[11].x);
    }

    #[test]
    fn the_tree_has_every_cache_with_its_misses() {
        let look = look();
        let tree = tree(&look.machine, &look.runs[0], 7.0);
        assert_eq!(tree.nodes.len(), look.machine.clusters().len());
        let named = |name: &str| tree.nodes.iter().find(|node| node.name == name).unwrap();
        assert_eq!((named("memory").parent, named("memory").value), (None, 0.0));
        assert_eq!(named("L3 1").parent, Some(0));
        assert!(named("L1 3").value > named("L1 2").value);
    }

    #[test]
    fn claims_are_shares_of_the_cache_over_time() {
        let look = look();
        let plot = occupancy(&look.machine, &look.runs[0]).unwrap();
        let cache = &plot.series[1].points;
        assert_eq!(cache[0].y, 0.0);
        assert!(cache.last().unwrap().y > 0.0);
        let without = Looked { trace: Trace::default(), ..look.runs[0].clone() };
        assert!(occupancy(&look.machine, &without).is_none());
    }
}
