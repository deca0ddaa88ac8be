//! Holds the formats of native runs against files of expected output; `BEFIT_BLESS=1 cargo test -p
//! befit-report` rewrites them. A change of `run.json` that is more than an added field needs a new
//! version of the contract.

use std::{fs, path::Path, time::Duration};

use befit_counters::{Event, Quantity};
use befit_lab::{
    ClusterSummary, CountsSummary, Measured, NativeResults, NativeSummary, Spread, TiersSummary,
    TimeSummary, WorkerSummary,
};
use befit_machine::Level;
use befit_report::{Format, native_json as json, render_native};
use befit_sched::SchedulerKind;

fn spread(median: u64) -> Spread<u64> {
    Spread { min: median - median / 10, median, max: median + median / 5 }
}

fn time(microseconds: u64) -> Spread<Duration> {
    spread(microseconds).map(Duration::from_micros)
}

fn worker(times: u64, space_bounded: bool) -> WorkerSummary {
    WorkerSummary {
        time: TimeSummary {
            active: time(6_000 * times),
            add: time(20 * times),
            get: time(30 * times),
            done: time(40 * times),
            idle: time(500 * times),
        },
        forks: spread(38 * times),
        published: spread(24 * times),
        spawned: spread(0),
        executed: spread(20 * times),
        anchored: spread(if space_bounded { 4 * times } else { 0 }),
        steals: [("L2", 0), ("L3", 6), ("memory", 11)]
            .map(|(level, n)| (level.to_owned(), spread(n * times)))
            .to_vec(),
        failed_steals: spread(5 * times),
        sleeps: spread(3 * times),
    }
}

fn summary(scheduler: SchedulerKind, microseconds: u64) -> NativeSummary {
    let space_bounded = scheduler == SchedulerKind::Sb;
    let cluster = |cluster, level: &str, first_worker, last_worker| ClusterSummary {
        cluster,
        level: level.to_owned(),
        first_worker,
        last_worker,
        tasks: spread(4),
    };
    NativeSummary {
        command: "rrm --n 1000000".to_owned(),
        scheduler,
        machine: "host".to_owned(),
        threads: 2,
        pinned: true,
        sigma: 0.5,
        mu: 0.2,
        repeats: 7,
        measured: Measured::Pools,
        process: time(microseconds + 10_000),
        pools_time: time(microseconds),
        pools: spread(1),
        total: worker(2, space_bounded),
        workers: vec![worker(1, space_bounded); 2],
        clusters: if space_bounded {
            vec![cluster(1, "L3", 0, 1), cluster(2, "L2", 0, 0)]
        } else {
            Vec::new()
        },
        tiers: (scheduler == SchedulerKind::CatsS).then(|| TiersSummary {
            sources: vec!["declared sizes".to_owned()],
            plain: Vec::new(),
            partitions: spread(1),
            root_bytes: spread(8 << 20),
            inter: spread(7),
            subtrees: spread(8),
            largest_bytes: spread(1 << 20),
            run: spread(1_592),
            moved: spread(12),
        }),
        counts: CountsSummary {
            private_misses: Some(spread(1_234_567)),
            task_clock: Some(time(30_000)),
            page_faults: Some(spread(4_000)),
            coverage: Some(1.0),
            ..CountsSummary::default()
        },
    }
}

fn example() -> NativeResults {
    NativeResults {
        summaries: vec![
            summary(SchedulerKind::Ws, 7_690),
            summary(SchedulerKind::Sb, 3_845),
            summary(SchedulerKind::CatsS, 5_000),
        ],
        events: vec![Event {
            quantity: Quantity::PrivateMisses,
            level: Some(Level(2)),
            name: "L2_LINES_IN.ALL",
        }],
        not_counted: vec!["cannot count cycles: this processor has no event for it".to_owned()],
        notes: vec!["the program builds very many pools".to_owned()],
    }
}

fn hold_against(file: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    if std::env::var_os("BEFIT_BLESS").is_some() {
        fs::write(&path, text).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap();
    assert!(text == expected, "output differs from {}:\n{text}", path.display());
}

#[test]
fn json_is_the_contract_and_is_read_back_as_it_was_written() {
    let text = render_native(&example(), Format::Json).unwrap();
    hold_against("run.json", &text);
    let report: json::Report = serde_json::from_str(&text).unwrap();
    assert_eq!(report, json::Report::from(&example()));
    assert_eq!(report.schema, json::SCHEMA);
}

#[test]
fn csv_has_the_fields_of_the_json() {
    let text = render_native(&example(), Format::Csv).unwrap();
    hold_against("run.csv", &text);
    let widths: Vec<usize> = text.lines().map(|l| l.split(',').count()).collect();
    assert!(widths.len() == 4 && widths.iter().all(|w| *w == widths[0]), "{widths:?}");
}

#[test]
fn the_table_reads_well_in_120_columns() {
    let text = render_native(&example(), Format::Table).unwrap();
    hold_against("run.txt", &text);
    let widest =
        text.lines().filter(|l| !l.starts_with("not counted")).map(|l| l.chars().count()).max();
    assert!(widest <= Some(120), "{widest:?}");
}
