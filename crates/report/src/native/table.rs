//! Native runs as text to read: time and where it went, what each worker did, where tasks were
//! anchored, what was counted.

use std::{fmt::Write, time::Duration};

use befit_counters::{Event, Quantity};
use befit_lab::{Measured, NativeResults, NativeSummary, Spread, WorkerSummary};

use super::tiers::tiers;
use crate::table::{Columns, Scale, change, percent};

pub(super) fn render(results: &NativeResults) -> String {
    let block = &results.summaries[..];
    let Some(first) = block.first() else { return String::new() };
    let mut text = String::new();
    let runs = match first.repeats {
        1 => "one run of each".to_owned(),
        n => format!("medians of {n} runs of each, in turn"),
    };
    let pinned = if block.iter().all(|s| s.pinned) { "pinned" } else { "not pinned" };
    let threads = if first.threads == 1 { "thread" } else { "threads" };
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "{} on {} ({} {threads}, {pinned}); {runs}\n\n{}",
        first.command,
        first.machine,
        first.threads,
        time(block)
    );
    let tables = [
        Some(times(block)),
        Some(counts(block)),
        anchors(block),
        tiers(block),
        counters(block, &results.events),
    ];
    for table in tables.into_iter().flatten() {
        let _ = writeln!(text, "\n{table}");
    }
    let notes = results.notes.iter().map(|note| format!("note: {note}"));
    let lines: Vec<String> =
        notes.chain(results.not_counted.iter().map(|why| format!("not counted: {why}"))).collect();
    if !lines.is_empty() {
        let _ = writeln!(text, "\n{}", lines.join("\n"));
    }
    text
}

/// Time against the first scheduler's, and the shares of all workers' time.
fn time(block: &[NativeSummary]) -> String {
    let first = &block[0];
    let mut columns = Columns::new(block, "\nscheduler", |s| s.scheduler.to_string());
    let unit = Unit::of(block.iter().map(|s| s.time().max));
    columns.add(&format!("time,\n{}", unit.name), |s| unit.show(s.time().median));
    if first.repeats > 1 {
        columns.add("\nmin", |s| unit.show(s.time().min));
        columns.add("\nmax", |s| unit.show(s.time().max));
    }
    if block.len() > 1 {
        let nanoseconds = |s: &NativeSummary| s.time().median.as_nanos() as u64;
        let base = |s: &NativeSummary| std::ptr::eq(s, first);
        columns.add(&format!("vs\n{}", first.scheduler), |s| {
            if base(s) { "base".to_owned() } else { change(nanoseconds(first), nanoseconds(s)) }
        });
    }
    if first.measured == Measured::Process {
        columns.add("of it\nin pools", |s| percent(share(s.pools_time.median, s.process.median)));
    }
    let all = |s: &NativeSummary| {
        let time = &s.total.time;
        [time.active, time.add, time.get, time.done, time.idle]
            .iter()
            .map(|part| part.median)
            .sum::<Duration>()
    };
    type Part = fn(&NativeSummary) -> Spread<Duration>;
    let parts: [(&str, Part); 5] = [
        ("workers:\nactive", |s| s.total.time.active),
        ("\nadd", |s| s.total.time.add),
        ("\nget", |s| s.total.time.get),
        ("\ndone", |s| s.total.time.done),
        ("\nidle", |s| s.total.time.idle),
    ];
    for (title, part) in parts {
        columns.add(title, |s| percent(share(part(s).median, all(s))));
    }
    columns.table()
}

/// One worker under one scheduler.
struct Row<'a> {
    scheduler: String,
    worker: String,
    did: &'a WorkerSummary,
}

fn rows(block: &[NativeSummary]) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for summary in block {
        for (at, did) in summary.workers.iter().enumerate() {
            let scheduler = if at == 0 { summary.scheduler.to_string() } else { String::new() };
            rows.push(Row { scheduler, worker: at.to_string(), did });
        }
    }
    rows
}

fn named<'a>(rows: &'a [Row<'a>]) -> Columns<'a, Row<'a>> {
    let mut columns = Columns::new(rows, "\nscheduler", |row| row.scheduler.clone());
    columns.name("\nworker", |row| row.worker.clone());
    columns
}

/// Where each worker's time went.
fn times(block: &[NativeSummary]) -> String {
    let rows = rows(block);
    let mut columns = named(&rows);
    // Calls into the scheduler are short.
    let unit = Unit::of(block.iter().map(|s| s.pools_time.max)).finer();
    type Part = fn(&WorkerSummary) -> Spread<Duration>;
    let first = format!("active,\n{}", unit.name);
    let parts: [(&str, Part); 5] = [
        (&first, |w| w.time.active),
        ("\nadd", |w| w.time.add),
        ("\nget", |w| w.time.get),
        ("\ndone", |w| w.time.done),
        ("\nidle", |w| w.time.idle),
    ];
    for (title, part) in parts {
        columns.add(title, |row| unit.show(part(row.did).median));
    }
    columns.add("\nsleeps", |row| row.did.sleeps.median.to_string());
    columns.table()
}

/// What each worker did.
fn counts(block: &[NativeSummary]) -> String {
    let rows = rows(block);
    let mut columns = named(&rows);
    let mut count = |title: &str, of: fn(&WorkerSummary) -> Spread<u64>| {
        columns.add(title, |row| of(row.did).median.to_string());
    };
    count("\nforks", |w| w.forks);
    count("handed\nout", |w| w.published);
    if block.iter().any(|s| s.total.spawned.max > 0) {
        count("\nspawned", |w| w.spawned);
    }
    count("tasks\nrun", |w| w.executed);
    if block.iter().any(|s| s.total.anchored.max > 0) {
        count("\nanchored", |w| w.anchored);
    }
    for level in stolen_levels(block) {
        let title = if level == "memory" {
            "stolen from\nother socket".to_owned()
        } else {
            format!("stolen\nin {level}")
        };
        let of = |row: &Row<'_>| {
            let at = row.did.steals.iter().find(|(of, _)| *of == level);
            at.map_or(0, |(_, steals)| steals.median).to_string()
        };
        columns.add(&title, of);
    }
    if block.iter().any(|s| s.total.failed_steals.max > 0) {
        columns.add("looked\nin vain", |row| row.did.failed_steals.median.to_string());
    }
    columns.table()
}

/// The levels at which anything was stolen.
fn stolen_levels(block: &[NativeSummary]) -> Vec<&str> {
    let steals = block.iter().flat_map(|s| &s.total.steals);
    let mut levels: Vec<&str> =
        steals.filter(|(_, n)| n.max > 0).map(|(level, _)| level.as_str()).collect();
    levels.sort_unstable();
    levels.dedup();
    levels
}

/// Where tasks were anchored, a row for each cluster; `None` if nowhere.
fn anchors(block: &[NativeSummary]) -> Option<String> {
    let mut clusters: Vec<_> = block.iter().flat_map(|s| &s.clusters).collect();
    clusters.sort_by_key(|c| c.cluster);
    clusters.dedup_by_key(|c| (c.cluster, c.first_worker, c.last_worker));
    if clusters.is_empty() {
        return None;
    }
    let mut columns =
        Columns::new(&clusters, "tasks anchored at", |c| match (c.first_worker, c.last_worker) {
            (first, last) if first == last => format!("{} of worker {first}", c.level),
            (first, last) => format!("{} of workers {first}–{last}", c.level),
        });
    for summary in block.iter().filter(|s| !s.clusters.is_empty()) {
        columns.add(summary.scheduler.name(), |c| {
            let same = |other: &&befit_lab::ClusterSummary| {
                (other.cluster, other.first_worker, other.last_worker)
                    == (c.cluster, c.first_worker, c.last_worker)
            };
            summary.clusters.iter().find(same).map_or(0, |found| found.tasks.median).to_string()
        });
    }
    Some(columns.table())
}

/// What was counted of the whole process; `None` if nothing was.
fn counters(block: &[NativeSummary], events: &[Event]) -> Option<String> {
    let mut columns = Columns::new(block, "whole\nprocess", |s| s.scheduler.to_string());
    let level = |quantity| {
        events.iter().find(|event| event.quantity == quantity).and_then(|event| event.level)
    };
    let private =
        level(Quantity::PrivateMisses).map_or("private".to_owned(), |level| level.to_string());
    let mut any = false;
    let unit = Unit::of(block.iter().filter_map(|s| s.counts.task_clock).map(|time| time.max));
    type Of = fn(&NativeSummary) -> Option<Spread<u64>>;
    let millions: [(String, Of); 4] = [
        (format!("{private}\nmisses, M"), |s| s.counts.private_misses),
        ("last-level\nmisses, M".to_owned(), |s| s.counts.llc_misses),
        ("instruc-\ntions, M".to_owned(), |s| s.counts.instructions),
        ("\ncycles, M".to_owned(), |s| s.counts.cycles),
    ];
    for (title, of) in millions {
        if block.iter().any(|s| of(s).is_some()) {
            any = true;
            let scale = Scale::millions(block.iter().filter_map(of).map(|figure| figure.median));
            columns
                .add(&title, |s| of(s).map_or("-".to_owned(), |figure| scale.show(figure.median)));
        }
    }
    if block.iter().any(|s| s.counts.task_clock.is_some()) {
        any = true;
        columns.add(&format!("CPU time,\n{}", unit.name), |s| {
            s.counts.task_clock.map_or("-".to_owned(), |time| unit.show(time.median))
        });
    }
    let counts: [(&str, Of); 3] = [
        ("page\nfaults", |s| s.counts.page_faults),
        ("context\nswitches", |s| s.counts.context_switches),
        ("\nmigrations", |s| s.counts.migrations),
    ];
    for (title, of) in counts {
        if block.iter().any(|s| of(s).is_some()) {
            any = true;
            columns
                .add(title, |s| of(s).map_or("-".to_owned(), |figure| figure.median.to_string()));
        }
    }
    any.then(|| columns.table())
}

fn share(part: Duration, whole: Duration) -> f64 {
    if whole.is_zero() { 0.0 } else { part.as_secs_f64() / whole.as_secs_f64() }
}

/// Seconds or milliseconds, all with the same number of decimals: four digits of the largest.
struct Unit {
    name: &'static str,
    per_second: f64,
    decimals: usize,
}

impl Unit {
    fn of(times: impl Iterator<Item = Duration>) -> Self {
        let largest = times.max().unwrap_or_default().as_secs_f64();
        let (name, per_second) = if largest >= 1.0 { ("s", 1.0) } else { ("ms", 1e3) };
        let digits = (largest * per_second).max(1e-3).log10().floor() as i32;
        Self { name, per_second, decimals: (3 - digits).clamp(0, 6) as usize }
    }

    /// With a digit more.
    fn finer(self) -> Self {
        Self { decimals: self.decimals + 1, ..self }
    }

    fn show(&self, time: Duration) -> String {
        format!("{:.*}", self.decimals, time.as_secs_f64() * self.per_second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_show_four_digits_of_the_largest() {
        let show = |largest: u64, time: u64| {
            let unit = Unit::of([Duration::from_micros(largest)].into_iter());
            (unit.show(Duration::from_micros(time)), unit.name)
        };
        assert_eq!(show(12_345, 987), ("0.99".to_owned(), "ms"));
        assert_eq!(show(1_234_567, 50_000), ("0.050".to_owned(), "s"));
        assert_eq!(show(123, 5), ("0.0050".to_owned(), "ms"));
        assert_eq!(show(0, 0), ("0.000000".to_owned(), "ms"));
    }
}
