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
