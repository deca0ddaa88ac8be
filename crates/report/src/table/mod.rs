//! Results as text to read: per program and machine one block of two tables, time and misses.
//!
//! Everything is compared with the block's first scheduler, the *baseline*. Figures are medians
//! over the seeds; ± is half the distance from the smallest to the largest, in percent of the
//! median.

mod columns;
mod numbers;

use std::fmt::Write;

use befit_lab::{Spread, Summary};
use befit_machine::Lines;

pub(crate) use columns::Columns;
use numbers::half_range;
pub(crate) use numbers::{Scale, change, percent};

pub(crate) fn render(results: &[Summary]) -> String {
    let mut text = String::new();
    let mut rest = results;
    while let Some(first) = rest.first() {
        let same = |s: &Summary| s.command == first.command && s.machine == first.machine;
        let (block, after) = rest.split_at(rest.iter().take_while(|s| same(s)).count());
        write_block(&mut text, block);
        rest = after;
    }
    text
}

fn write_block(text: &mut String, block: &[Summary]) {
    let first = &block[0];
    if !text.is_empty() {
        text.push('\n');
    }
    let seeds = match first.seeds {
        1 => "one seed".to_owned(),
        n => format!("medians of {n} seeds, ± half the range"),
    };
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "{} on {} ({} workers, {} MHz); {seeds}",
        first.command, first.machine, first.workers, first.mhz
    );
    let _ = writeln!(text, "\n{}", time(block));
    let _ = writeln!(text, "\n{}", misses(block));
}

/// Time, where it went, and what the scheduler did.
fn time(block: &[Summary]) -> String {
    let first = &block[0];
    let mut columns = rows(block);
    let scale = Scale::millions(block.iter().map(|s| s.time.median.0));
    columns.add("time,\nM cycles", |s| scale.show(s.time.median.0));
    if first.seeds > 1 {
        columns.add("\n±", |s| half_range(s.time.map(|t| t.0)));
    }
    if block.len() > 1 {
        columns.versus(|s| s.time.median.0);
    }
    columns.add("running\nstrands", |s| percent(s.shares().active));
    columns.add("\nscheduling", |s| percent(s.shares().policy));
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
    let last = first.levels.len().saturating_sub(1);
    // One number of decimals for the whole table, so that columns can be compared: what the last
    // level's misses need.
    let scale =
        Scale::millions(block.iter().filter_map(|s| s.levels.last()).map(|l| l.misses.median.0));
    for (i, level) in first.levels.iter().enumerate() {
        let of = |s: &Summary| s.levels[i].misses;
        columns.lines(&format!("{}\nmisses, M", level.level), scale, of);
        if i == last && first.seeds > 1 {
            columns.add("\n±", |s| half_range(of(s).map(|l| l.0)));
        }
        if block.len() > 1 {
            columns.versus(|s| of(s).median.0);
        }
    }
    columns.lines("memory\nreads, M", scale, |s| s.memory_reads);
    columns.lines("memory\nwrites, M", scale, |s| s.memory_writes);
    columns.lines("from other\nsockets, M", scale, |s| s.remote_hits);
    columns.table()
}

impl Columns<'_, Summary> {
    /// A column of changes against the baseline.
    fn versus(&mut self, of: impl Fn(&Summary) -> u64) {
        let first = &self.items()[0];
        let title = format!("vs\n{}", first.scheduler);
        self.add(&title, |s| {
            if std::ptr::eq(s, first) { "base".to_owned() } else { change(of(first), of(s)) }
        });
    }

    /// A column of medians in millions of lines.
    fn lines(&mut self, title: &str, scale: Scale, of: impl Fn(&Summary) -> Spread<Lines>) {
        self.add(title, |s| scale.show(of(s).median.0));
    }
}

fn rows(block: &[Summary]) -> Columns<'_, Summary> {
    Columns::new(block, "\nscheduler", |s| s.scheduler.to_string())
}
