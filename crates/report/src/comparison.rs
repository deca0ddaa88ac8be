//! Simulated runs, compared: as a table, JSON (`befit.compare/1`) or CSV.
//!
//! The table has a block for each program and machine: time and where it went, then misses.
//! Everything is compared with the block's first scheduler, the *baseline*. Figures are medians
//! over the seeds; ± is half the distance from the smallest to the largest, in percent of the
//! median.

use std::{collections::BTreeMap, fmt::Write};

use befit_lab::{Spread, Summary};
use befit_machine::Lines;

use crate::{
    Format, ReportError,
    columns::{Columns, Scale, half_range, percent},
    csv, json,
};

/// Writes `results`, which end up in the given order, as text that ends in a line feed. The same
/// results give the same bytes.
///
/// # Errors
/// When a result cannot be expressed in the format; no result of `befit-lab` is of that kind.
pub fn render(results: &[Summary], format: Format) -> Result<String, ReportError> {
    match format {
        Format::Table => Ok(tables(results)),
        Format::Json => json("befit.compare/1", &BTreeMap::from([("results", results)])),
        Format::Csv => {
            let mut rows = results.to_vec();
            // A machine has dozens of caches, each of which would be ten columns.
            rows.iter_mut().for_each(|row| row.caches.clear());
            csv::render(&rows)
        }
    }
}

fn tables(results: &[Summary]) -> String {
    let same = |a: &Summary, b: &Summary| a.command == b.command && a.machine == b.machine;
    let blocks: Vec<String> = results.chunk_by(same).map(block).collect();
    blocks.join("\n")
}

fn block(block: &[Summary]) -> String {
    let first = &block[0];
    let seeds = match first.seeds {
        1 => "one seed".to_owned(),
        n => format!("medians of {n} seeds, ± half the range"),
    };
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "{} on {} ({} workers, {} MHz); {seeds}",
        first.command, first.machine, first.workers, first.mhz
    );
    let _ = writeln!(text, "\n{}", time(block));
    let _ = writeln!(text, "\n{}", misses(block));
    text
}

/// Time, where it went, steals and anchored tasks.
fn time(block: &[Summary]) -> String {
    let first = &block[0];
    let mut columns = rows(block);
    let scale = Scale::millions(block.iter().map(|s| s.time.median.0));
    columns.add("time,\nM cycles", |s| scale.show(s.time.median.0));
    if first.seeds > 1 {
        columns.add("\n±", |s| half_range(s.time.map(|t| t.0)));
    }
    if block.len() > 1 {
        columns.versus(first.scheduler, |s| s.time.median.0);
    }
    columns.add("running\nstrands", |s| percent(s.shares().active));
    columns.add("\nscheduling", |s| {
        let shares = s.shares();
        percent(shares.add + shares.get + shares.done)
    });
    columns.add("\nidle", |s| percent(s.shares().idle));
    columns.add("\nsteals", |s| s.steals.median.to_string());
    columns.add("of them\nnear", |s| match s.steals.median {
        0 => "-".to_owned(),
        all => percent((s.near_steals.median as f64 / all as f64).min(1.0)),
    });
    for (i, (place, _)) in first.anchors.iter().enumerate() {
        let used = block.iter().any(|s| s.anchors[i].1.max > 0);
        if let (Some(level), true) = (place, used) {
            columns.add(&format!("anchored\nat {level}"), |s| s.anchors[i].1.median.to_string());
        }
    }
    columns.table()
}

/// Cache misses and memory traffic.
fn misses(block: &[Summary]) -> String {
    let first = &block[0];
    let mut columns = rows(block);
    // The whole table has one number of decimals, so that columns can be compared: as many as the
    // last level's misses need.
    let scale =
        Scale::millions(block.iter().filter_map(|s| s.levels.last()).map(|l| l.misses.median.0));
    for (i, level) in first.levels.iter().enumerate() {
        let of = |s: &Summary| s.levels[i].misses;
        columns.lines(&format!("{}\nmisses, M", level.level), scale, of);
        if i + 1 == first.levels.len() && first.seeds > 1 {
            columns.add("\n±", |s| half_range(of(s).map(|l| l.0)));
        }
        if block.len() > 1 {
            columns.versus(first.scheduler, |s| of(s).median.0);
        }
    }
    columns.lines("memory\nreads, M", scale, |s| s.memory_reads);
    columns.lines("memory\nwrites, M", scale, |s| s.memory_writes);
    columns.lines("from other\nsockets, M", scale, |s| s.remote_hits);
    columns.table()
}

impl Columns<'_, Summary> {
    /// A column of medians in millions of lines.
    fn lines(&mut self, title: &str, scale: Scale, of: impl Fn(&Summary) -> Spread<Lines>) {
        self.add(title, |s| scale.show(of(s).median.0));
    }
}

fn rows(block: &[Summary]) -> Columns<'_, Summary> {
    Columns::new(block, "\nscheduler", |s| s.scheduler.to_string())
}
