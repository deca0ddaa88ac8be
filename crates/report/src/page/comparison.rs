//! The page of a comparison: the tables' figures as plots, and what one run under each scheduler
//! looked like.

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

#[cfg(test)]
mod tests {
    use befit_lab::{Account, LevelSummary, Sampled, SizesFrom};
    use befit_machine::{Bytes, Cycles, Lines, WorkerId};
    use befit_program::TaskId;
    use befit_sched::{Breakdown, Options, SchedulerKind};
    use befit_sim::{Claimed, Stay, Trace};

    use super::*;

    fn spread(median: u64) -> Spread<u64> {
        Spread { min: median, median, max: median }
    }

    /// Of two levels, of which the last took five million lines from a sibling's cache.
    fn summary() -> Summary {
        let lines = |millions: u64| spread(millions * 1_000_000).map(Lines);
        let level = |level, misses| LevelSummary {
            level: Level(level),
            accesses: lines(100),
            misses: lines(misses),
            coherence_misses: lines(0),
            fought_misses: lines(0),
        };
        Summary {
            program: "walk".to_owned(),
            command: "walk --n 8".to_owned(),
            machine: "one".to_owned(),
            mhz: 2000,
            workers: 16,
            scheduler: SchedulerKind::Ws,
            options: Options::default(),
            seeds: 3,
            sizes: SizesFrom::Declared,
            tasks: 10,
            sized_tasks: 9,
            strands: 20,
            work: Cycles(2_600_000),
            span: Cycles(1_100_000),
            time: spread(2_000_000).map(Cycles),
            ratio: None,
            levels: vec![level(1, 40), level(2, 12)],
            last_level_misses: lines(7),
            misses_ratio: None,
            memory_reads: lines(6),
            memory_writes: lines(2),
            remote_hits: lines(1),
            near_hits: lines(0),
            far_hits: lines(1),
            sibling_hits: lines(5),
            worker_time: Breakdown::from([1, 0, 0, 0, 0]).map(|n| spread(n).map(Cycles)),
            account: Account::by(|_| Cycles(1)),
            steals: spread(0),
            near_steals: spread(0),
            failed_steals: spread(0),
            anchors: Vec::new(),
            caches: Vec::new(),
            recorded: None,
            sampled: None,
            runs: Vec::new(),
            contended: Vec::new(),
        }
    }

    /// The same of one line in 32, by these means of the level's misses.
    fn sampled_summary() -> Summary {
        let of = |millions: f64| {
            let estimate = millions * 1e6;
            Some(Estimate { estimate, low: 0.5 * estimate, high: 2.0 * estimate })
        };
        let sampled = Sampled {
            one_in: 32,
            time: of(3.0),
            misses: BTreeMap::from([(Level(1), of(44.0)), (Level(2), of(14.0))]),
            last_level_misses: of(8.0),
            memory_reads: of(6.5),
            memory_writes: of(2.5),
        };
        Summary { sampled: Some(sampled), ..summary() }
    }

    /// All text of a page that is no plot; its spaces may break.
    fn text(results: &[Summary]) -> String {
        let parts = page(results, &[], &[], &[]).parts;
        let texts = parts.iter().filter_map(|part| match part {
            Part::Html(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<String>().replace('\u{a0}', " ")
    }

    #[test]
    fn regression_the_last_bar_leaves_out_what_siblings_supplied() {
        let plot = misses(&[summary()]);
        let points: Vec<_> = plot.series[0].points.iter().map(|p| (p.x.as_str(), p.y)).collect();
        assert_eq!(points, [("L1", 40.0), ("L2", 7.0)]);
    }

    #[test]
    fn regression_a_page_of_samples_says_so_and_shows_means_with_their_intervals() {
        let of = [sampled_summary()];
        let said = text(&of);
        assert!(said.contains("one cache line in 32 was simulated"), "{said}");
        assert!(said.contains("95 % interval of the figure of all lines"), "{said}");
        assert!(!text(&[summary()]).contains("one cache line in"));
        let shown = |plot: &Plot| {
            let points = plot.series[0].points.iter();
            points.map(|point| (point.y, point.range)).collect::<Vec<_>>()
        };
        assert_eq!(shown(&times(&of)), [(3.0, Some((1.5, 6.0)))]);
        let both = [(44.0, Some((22.0, 88.0))), (8.0, Some((4.0, 16.0)))];
        assert_eq!(shown(&misses(&of)), both);
        let stacked = sources(&of);
        let stacked: Vec<_> = stacked.series.iter().map(|part| part.points[0].y).collect();
        assert_eq!(stacked, [6.5, 0.0, 1.0, 2.5]);
    }

    #[test]
    fn of_one_sampled_seed_medians_are_shown() {
        let mut of = sampled_summary();
        of.seeds = 1;
        let sampled = of.sampled.as_mut().unwrap();
        (sampled.time, sampled.last_level_misses, sampled.memory_reads) = (None, None, None);
        (sampled.memory_writes, sampled.misses) = (None, BTreeMap::from([(Level(1), None)]));
        let of = [of];
        assert_eq!(misses(&of).series[0].points[0].y, 40.0);
        let said = text(&of);
        assert!(said.contains("one cache line in 32") && said.contains("medians"), "{said}");
    }

    #[test]
    fn regression_no_speed_up_is_above_the_bound_of_work_and_span() {
        // One worker waits for most of its time, and sixteen wait beside one another.
        let times = vec![(1, 18_600_000), (2, 9_400_000), (16, 2_090_000)];
        let speed = vec![(SchedulerKind::Ws, times)];
        let plot = speed_up(&summary(), &Look { speed, ..look() });
        let [measured, bound] = &plot.series[..] else { panic!("{plot:?}") };
        assert_eq!(bound.name, "bound: work and span");
        for (measured, bound) in measured.points.iter().zip(&bound.points) {
            assert!(measured.y <= bound.y, "{measured:?} {bound:?}");
        }
        let at_16 = bound.points.last().unwrap();
        assert!(at_16.x == "16" && at_16.y >= 8.9, "{at_16:?}");
        // The work at two workers, the span at sixteen.
        let expected = [18.6 / 2.6, 18.6 / 1.3, 18.6 / 1.1];
        for (bound, expected) in bound.points.iter().zip(expected) {
            assert!((bound.y - expected).abs() < 1e-9, "{bound:?} {expected}");
        }
    }

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
