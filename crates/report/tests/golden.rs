//! Holds the output formats against files of expected output.
//!
//! `BEFIT_BLESS=1 cargo test -p befit-report` rewrites the files; a change of `compare.json` or
//! `run.json` that is more than an added field needs a new version of the contract.

use std::{fs, path::Path, time::Duration};

use befit_counters::{Event, Quantity};
use befit_lab::{
    Account, AutoSummary, Cause, Change, Choice, ClusterSummary, Conclusion, CountsSummary,
    Interval, LevelSummary, Loss, Measured, NativeResults, NativeSummary, Seconds, SizesFrom,
    Spread, Suggestion, Summary, TiersSummary, WorkerSummary,
};
use befit_machine::{Cycles, Level, Lines};
use befit_report::{Format, Width, render, render_native};
use befit_sched::{Breakdown, Options, SchedulerKind};
use serde_json::{Value, from_str, json, to_value};

/// Results of three seeds: `time` cycles and `l3` misses by the median, everything else made from
/// them.
fn summary(machine: &str, levels: u8, scheduler: SchedulerKind, time: u64, l3: u64) -> Summary {
    let spread =
        |median: u64| Spread { min: median - median / 100, median, max: median + median / 50 };
    let lines = |median| spread(median).map(Lines);
    let cycles = |median| spread(median).map(Cycles);
    let space_bounded = matches!(scheduler, SchedulerKind::Sb | SchedulerKind::SbD);
    let places = (1..=levels).map(|l| Some(Level(l))).chain([None]);
    Summary {
        program: "rrm".to_owned(),
        command: "rrm --n 10000000".to_owned(),
        machine: machine.to_owned(),
        mhz: 2270,
        workers: 32,
        scheduler,
        options: Options::default(),
        seeds: 3,
        time: cycles(time),
        ratio: None,
        levels: (1..=levels)
            .map(|level| LevelSummary {
                level: Level(level),
                accesses: lines(l3 * u64::from(10 - level)),
                misses: lines(l3 * u64::from(levels + 1 - level)),
                coherence_misses: lines(u64::from(level)),
                fought_misses: lines(0),
            })
            .collect(),
        last_level_misses: lines(l3),
        misses_ratio: None,
        memory_reads: lines(l3),
        memory_writes: lines(l3 / 3),
        remote_hits: lines(8),
        near_hits: lines(if levels == 2 { 3 } else { 0 }),
        far_hits: lines(if levels == 2 { 5 } else { 8 }),
        sibling_hits: lines(0),
        worker_time: Breakdown::from([time * 30, time / 4, time / 4, time / 2, time]).map(cycles),
        steals: spread(if space_bounded { 0 } else { 12_345 }),
        near_steals: spread(if space_bounded { 0 } else { 2_400 }),
        failed_steals: spread(54_321),
        anchors: places
            .map(|p| (p, spread(if space_bounded && p != Some(Level(1)) { 200 } else { 0 })))
            .collect(),
        caches: Vec::new(),
        recorded: None,
        sampled: None,
        runs: Vec::new(),
        account: Account::by(|part| Cycles(time * (20 - part as u64))),
        contended: Vec::new(),
        sizes: SizesFrom::Declared,
        tasks: 98_765,
        sized_tasks: 98_764,
        strands: 123_456,
        work: Cycles(4_000_000_000),
        // 200 workers could be busy, or 20.
        span: Cycles(if levels == 3 { 20_000_000 } else { 200_000_000 }),
    }
}

/// Two machines with two schedulers each. On the first they differ, on the second they do not.
fn example() -> Vec<Summary> {
    let mut all = vec![
        summary("xeon-7560", 3, SchedulerKind::Ws, 155_000_000, 47_500_000),
        summary("xeon-7560", 3, SchedulerKind::SbD, 101_000_000, 28_800_000),
        summary("gems-sparc", 2, SchedulerKind::Ws, 3_155_000_000, 147_500_000),
        summary("gems-sparc", 2, SchedulerKind::SbD, 3_101_000_000, 128_800_000),
    ];
    let ratio =
        |estimate, half| Some(Interval { estimate, low: estimate - half, high: estimate + half });
    let ratios = [ratio(1.0, 0.0), ratio(0.652, 0.008), ratio(1.0, 0.0), ratio(0.983, 0.031)];
    for (summary, time) in all.iter_mut().zip(ratios) {
        (summary.ratio, summary.misses_ratio) = (time, time);
    }
    all[1].seeds = 5;
    all[3].sibling_hits = all[3].memory_writes;
    all
}

/// What the first machine's results mean.
fn conclusions() -> Vec<Conclusion> {
    let found = |cause, scheduler, share, figures: &[(&'static str, f64)]| Loss {
        cause,
        scheduler,
        more_than_best: scheduler == SchedulerKind::Ws,
        share,
        figures: figures.iter().copied().collect(),
    };
    let (best, first) = (SchedulerKind::SbD, SchedulerKind::Ws);
    let ratio = Interval { estimate: 0.652, low: 0.644, high: 0.66 };
    let gains = Interval { estimate: 0.87, low: 0.85, high: 0.89 };
    vec![Conclusion {
        command: "rrm --n 10000000".to_owned(),
        machine: "xeon-7560".to_owned(),
        choice: Choice {
            best,
            ratio: Some(ratio),
            alike: vec![best],
            no_difference: false,
            alike_within: None,
            cycles: 101_000_000,
            work: 0.4,
            shared_cores: 0.0,
        },
        losses: vec![
            found(Cause::Bandwidth, best, 0.31, &[("misses", 28_800_000.0)]),
            found(Cause::Memory, first, 0.25, &[("misses", 47_500_000.0)]),
            found(Cause::IdleCaches, best, 0.12, &[("caches", 4.0), ("caches_used", 1.0)]),
        ],
        suggestions: vec![Suggestion {
            change: Change::Sigma { sigma: 0.25 },
            scheduler: best,
            ratio: gains,
            seeds: 4,
        }],
        in_vain: vec![(Change::FirstTouch, best), (Change::Scheduler, SchedulerKind::Pws)],
        simulations: 8,
        budget: 10,
    }]
}

fn native_spread(median: u64) -> Spread<u64> {
    Spread { min: median - median / 10, median, max: median + median / 5 }
}

fn time(microseconds: u64) -> Spread<Seconds> {
    native_spread(microseconds).map(|time| Seconds(Duration::from_micros(time)))
}

fn worker(times: u64, space_bounded: bool) -> WorkerSummary {
    WorkerSummary {
        time: Breakdown::from([6_000, 20, 30, 40, 500]).map(|micros| time(micros * times)),
        forks: native_spread(38 * times),
        published: native_spread(24 * times),
        spawned: native_spread(0),
        sized: native_spread(if space_bounded { 21 * times } else { 0 }),
        executed: native_spread(20 * times),
        anchored: native_spread(if space_bounded { 4 * times } else { 0 }),
        steals: [("L2", 0), ("L3", 6), ("memory", 11)]
            .map(|(level, n)| (level.to_owned(), native_spread(n * times)))
            .into(),
        failed_steals: native_spread(5 * times),
        sleeps: native_spread(3 * times),
    }
}

fn native_summary(scheduler: SchedulerKind, microseconds: u64) -> NativeSummary {
    let space_bounded = scheduler == SchedulerKind::Sb;
    let cluster = |cluster, level: &str, first_worker, last_worker| ClusterSummary {
        cluster,
        level: level.to_owned(),
        first_worker,
        last_worker,
        tasks: native_spread(4),
    };
    NativeSummary {
        program: "rrm".to_owned(),
        command: "rrm --n 1000000".to_owned(),
        scheduler,
        auto: (scheduler == SchedulerKind::Auto)
            .then(|| AutoSummary { policy: "homes".to_owned(), last_level_caches: 2 }),
        machine: "host".to_owned(),
        threads: 2,
        pinned: true,
        sigma: 0.5,
        mu: 0.2,
        repeats: 7,
        measured: Measured::Pools,
        time: time(microseconds),
        ratio: 1.0,
        process: time(microseconds + 10_000),
        pools_time: time(microseconds),
        pools: native_spread(1),
        total: worker(2, space_bounded),
        workers: vec![worker(1, space_bounded); 2],
        clusters: if space_bounded {
            vec![cluster(1, "L3", 0, 1), cluster(2, "L2", 0, 0)]
        } else {
            Vec::new()
        },
        tiers: (scheduler == SchedulerKind::CatsS).then(|| TiersSummary {
            source: "declared sizes".to_owned(),
            plain: String::new(),
            partitions: native_spread(1),
            root_bytes: native_spread(8 << 20),
            inter: native_spread(7),
            subtrees: native_spread(8),
            largest_bytes: native_spread(1 << 20),
            subtrees_run: native_spread(1_592),
            subtrees_moved: native_spread(12),
        }),
        counts: CountsSummary {
            private_misses: Some(native_spread(1_234_567)),
            task_clock: Some(time(30_000)),
            page_faults: Some(native_spread(4_000)),
            coverage: Some(1.0),
            ..CountsSummary::default()
        },
    }
}

fn native_example() -> NativeResults {
    NativeResults::new(
        vec![
            native_summary(SchedulerKind::Ws, 7_690),
            native_summary(SchedulerKind::Sb, 3_845),
            native_summary(SchedulerKind::CatsS, 5_000),
            native_summary(SchedulerKind::Auto, 3_500),
        ],
        vec![Event {
            quantity: Quantity::PrivateMisses,
            level: Some(Level(2)),
            name: "L2_LINES_IN.ALL",
        }],
        vec!["cannot count cycles: this processor has no event for it".to_owned()],
        vec!["the program builds very many pools".to_owned()],
    )
}

fn hold_against(file: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    if std::env::var_os("BEFIT_BLESS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap();
    assert!(text == expected, "output differs from {}:\n{text}", path.display());
}

/// Checks that `text` says the same as `report` and has the version `schema`.
fn read_back(text: &str, mut report: Value, schema: &str) {
    report["schema"] = schema.into();
    assert_eq!(from_str::<Value>(text).unwrap(), report);
}

/// Checks that `text` has so many rows, each with every column.
fn is_rectangular(text: &str, rows: usize) {
    let widths: Vec<usize> = text.lines().map(|l| l.split(',').count()).collect();
    assert!(widths.len() == rows && widths.iter().all(|w| *w == widths[0]), "{widths:?}");
}

#[test]
fn json_is_the_contract_and_is_read_back_as_it_was_written() {
    let (simulated, native) = (example(), native_example());
    let text = render(&simulated, &conclusions(), Format::Json).unwrap();
    hold_against("compare.json", &text);
    read_back(
        &text,
        json!({ "results": simulated, "conclusions": conclusions() }),
        "befit.compare/2",
    );
    let text = render_native(&native, Format::Json).unwrap();
    hold_against("run.json", &text);
    read_back(&text, to_value(&native).unwrap(), "befit.run/2");
}

#[test]
fn csv_has_the_fields_of_the_json_and_every_row_has_every_column() {
    let text = render(&example(), &[], Format::Csv).unwrap();
    hold_against("compare.csv", &text);
    is_rectangular(&text, 5);
    let text = render_native(&native_example(), Format::Csv).unwrap();
    hold_against("run.csv", &text);
    is_rectangular(&text, 5);
}

#[test]
fn tables_read_well_in_100_and_120_columns_and_have_no_escapes() {
    let simulated = render(&example(), &conclusions(), Format::Table(Width::ANY)).unwrap();
    hold_against("compare.txt", &simulated);
    let native = render_native(&native_example(), Format::Table(Width::ANY)).unwrap();
    hold_against("run.txt", &native);
    assert!(!simulated.contains('\x1b'));
    let lines = simulated.lines().chain(native.lines()).filter(|l| !l.starts_with("not counted"));
    let widest = lines.max_by_key(|l| l.chars().count()).unwrap();
    assert!(widest.chars().count() <= 120, "{widest}");
    let widest = simulated.lines().max_by_key(|l| l.chars().count()).unwrap();
    assert!(widest.chars().count() <= 100, "{widest}");
}

#[test]
fn no_results_give_an_empty_csv_and_an_empty_table() {
    assert_eq!(render(&[], &[], Format::Csv).unwrap(), "");
    assert_eq!(render(&[], &[], Format::Table(Width::ANY)).unwrap(), "");
}
