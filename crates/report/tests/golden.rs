//! Holds the output formats against files of expected output.
//!
//! `BEFIT_BLESS=1 cargo test -p befit-report` rewrites the files; a change of `compare.json` that
//! is more than an added field needs a new version of the contract.

use std::{fs, path::Path};

use befit_lab::{LevelSummary, Spread, Summary, WorkerTime};
use befit_machine::{Cycles, Level, Lines};
use befit_report::{Format, json, render};
use befit_sched::{Options, SchedulerKind};

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
        command: "rrm --n 10000000".to_owned(),
        machine: machine.to_owned(),
        mhz: 2270,
        workers: 32,
        scheduler,
        options: Options::default(),
        seeds: 3,
        time: cycles(time),
        levels: (1..=levels)
            .map(|level| LevelSummary {
                level: Level(level),
                accesses: lines(l3 * u64::from(10 - level)),
                misses: lines(l3 * u64::from(levels + 1 - level)),
                coherence_misses: lines(u64::from(level)),
            })
            .collect(),
        memory_reads: lines(l3),
        memory_writes: lines(l3 / 3),
        remote_hits: lines(8),
        sibling_hits: lines(0),
        worker_time: WorkerTime {
            active: cycles(time * 30),
            add: cycles(time / 4),
            get: cycles(time / 4),
            done: cycles(time / 2),
            idle: cycles(time),
        },
        steals: spread(if space_bounded { 0 } else { 12_345 }),
        near_steals: spread(if space_bounded { 0 } else { 2_400 }),
        failed_steals: spread(54_321),
        anchors: places
            .map(|p| (p, spread(if space_bounded && p != Some(Level(1)) { 200 } else { 0 })))
            .collect(),
        caches: Vec::new(),
        tasks: 98_765,
        strands: 123_456,
    }
}

fn example() -> Vec<Summary> {
    vec![
        summary("xeon-7560", 3, SchedulerKind::Ws, 155_000_000, 47_500_000),
        summary("xeon-7560", 3, SchedulerKind::SbD, 101_000_000, 28_800_000),
        summary("gems-sparc", 2, SchedulerKind::Ws, 3_155_000_000, 147_500_000),
        summary("gems-sparc", 2, SchedulerKind::SbD, 3_101_000_000, 128_800_000),
    ]
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

#[test]
fn json_is_the_contract() {
    hold_against("compare.json", &render(&example(), Format::Json).unwrap());
}

#[test]
fn csv_has_the_fields_of_the_json() {
    hold_against("compare.csv", &render(&example(), Format::Csv).unwrap());
}

#[test]
fn the_table_reads_well() {
    hold_against("compare.txt", &render(&example(), Format::Table).unwrap());
}

#[test]
fn json_is_read_back_as_it_was_written() {
    let text = render(&example(), Format::Json).unwrap();
    let report: json::Report = serde_json::from_str(&text).unwrap();
    assert_eq!(report, json::Report::from(&*example()));
    assert_eq!(report.schema, json::SCHEMA);
}

#[test]
fn the_table_of_three_levels_fits_in_120_columns_and_has_no_escapes() {
    let text = render(&example(), Format::Table).unwrap();
    let widest = text.lines().max_by_key(|l| l.chars().count()).unwrap();
    assert!(widest.chars().count() <= 120, "{widest}");
    assert!(!text.contains('\x1b'));
}

#[test]
fn every_csv_row_has_every_column() {
    let text = render(&example(), Format::Csv).unwrap();
    let widths: Vec<usize> = text.lines().map(|l| l.split(',').count()).collect();
    assert_eq!(widths.len(), 5);
    assert!(widths.iter().all(|w| *w == widths[0]), "{widths:?}");
}

#[test]
fn no_results_give_an_empty_csv_and_an_empty_table() {
    assert_eq!(render(&[], Format::Csv).unwrap(), "");
    assert_eq!(render(&[], Format::Table).unwrap(), "");
}
