//! Native runs: as a table, JSON (`befit.run/2`) or CSV. The table has time and where it went, each
//! worker's counts, where tasks were anchored, how the program was cut in tiers, and the counts of
//! the whole process.

use std::{collections::BTreeSet, fmt::Write, time::Duration};

use befit_counters::{Event, Quantity};
use befit_lab::{
    ClusterSummary, Measured, NativeResults, NativeSummary, Seconds, Spread, TiersSummary,
    WorkerSummary,
};
use befit_sched::Breakdown;

use crate::{
    Format, ReportError, Width,
    columns::{Columns, Scale, decimals, mib, percent},
    csv, json,
};

/// Writes `results` as text that ends in a line feed.
///
/// # Errors
/// When a result cannot be expressed in the format; none of `befit-lab` is of that kind.
pub fn render(results: &NativeResults, format: Format) -> Result<String, ReportError> {
    match format {
        Format::Table(width) => Ok(width.wrap(&tables(results, width))),
        Format::Json => json("befit.run/2", results),
        Format::Csv => csv::render(&results.summaries),
    }
}

fn tables(results: &NativeResults, width: Width) -> String {
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
        time(block, width)
    );
    let tables = [
        Some(times(block, width)),
        Some(counts(block, width)),
        anchors(block, width),
        tiers(block, width),
        counters(block, &results.events, width),
    ];
    for line in block.iter().filter_map(auto) {
        let _ = writeln!(text, "\n{line}");
    }
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
fn time(block: &[NativeSummary], width: Width) -> String {
    let first = &block[0];
    let mut columns = Columns::new(block, "\nscheduler", |s| s.scheduler.to_string());
    let unit = Unit::of(block.iter().map(|s| s.time.max));
    columns.add(&format!("time,\n{}", unit.name), |s| unit.show(s.time.median));
    if first.repeats > 1 {
        columns.add("\nmin", |s| unit.show(s.time.min));
        columns.add("\nmax", |s| unit.show(s.time.max));
    }
    if block.len() > 1 {
        columns.versus(first.scheduler, |s| s.time.median.0.as_nanos() as u64);
    }
    if first.measured == Measured::Process {
        columns.add("of it\nin pools", |s| share(s.pools_time.median, s.process.median));
    }
    for (part, title) in titles("workers:\nactive").iter().enumerate() {
        let cell = |s: &NativeSummary| {
            let time = s.total.time.map(|part| part.median);
            share(time.parts()[part], time.total())
        };
        // Active and idle say most.
        if part == 0 || part == 4 { columns.add(title, cell) } else { columns.minor(title, cell) }
    }
    columns.table(width)
}

/// What `auto` is here, and why.
fn auto(summary: &NativeSummary) -> Option<String> {
    let auto = summary.auto.as_ref()?;
    let threads = match summary.threads {
        1 => "thread is".to_owned(),
        n => format!("{n} threads are"),
    };
    let caches = match auto.last_level_caches {
        0 => "no last-level cache".to_owned(),
        1 => "one last-level cache".to_owned(),
        n => format!("{n} last-level caches"),
    };
    let why = match (&*auto.policy, auto.last_level_caches) {
        ("homes", _) => {
            let did = &summary.total;
            format!("; {} of its tasks have a size", sized(did))
        }
        (_, 2..) => ", but BEFIT_AUTO turns it off".to_owned(),
        _ => String::new(),
    };
    Some(format!("auto is {}: its {threads} under {caches}{why}", auto.policy))
}

/// The titles of the columns of a breakdown.
fn titles(first: &str) -> [String; 5] {
    let mut titles = Breakdown::<Duration>::NAMES.map(|name| format!("\n{name}"));
    titles[0] = first.to_owned();
    titles
}

/// The scheduler, named at its first worker only; the worker's number, and what it did.
type WorkerRow<'a> = (&'static str, usize, &'a WorkerSummary);

fn rows(block: &[NativeSummary]) -> Vec<WorkerRow<'_>> {
    let workers = block.iter().flat_map(|s| s.workers.iter().enumerate().map(move |w| (s, w)));
    let name = |s: &NativeSummary, at| if at == 0 { s.scheduler.name() } else { "" };
    workers.map(|(s, (at, did))| (name(s, at), at, did)).collect()
}

fn named<'a>(rows: &'a [WorkerRow<'a>]) -> Columns<'a, WorkerRow<'a>> {
    let mut columns = Columns::new(rows, "\nscheduler", |(scheduler, ..)| scheduler.to_string());
    columns.name("\nworker", |(_, at, _)| at.to_string());
    columns
}

/// Where each worker's time went.
fn times(block: &[NativeSummary], width: Width) -> String {
    let rows = rows(block);
    let mut columns = named(&rows);
    // Calls into the scheduler are short.
    let unit = Unit::of(block.iter().map(|s| s.pools_time.max)).finer();
    for (part, title) in titles(&format!("active,\n{}", unit.name)).iter().enumerate() {
        columns.add(title, |(.., did)| unit.show(did.time.parts()[part].median));
    }
    columns.add("\nsleeps", |(.., did)| did.sleeps.median.to_string());
    columns.table(width)
}

/// Each worker's counts.
fn counts(block: &[NativeSummary], width: Width) -> String {
    let rows = rows(block);
    let mut columns = named(&rows);
    type Of = fn(&WorkerSummary) -> Spread<u64>;
    let mut count = |title: &str, of: Of, always: bool| {
        if always || block.iter().any(|s| of(&s.total).max > 0) {
            columns.add(title, |(.., did)| of(did).median.to_string());
        }
    };
    count("\nforks", |w| w.forks, true);
    count("\npublished", |w| w.published, true);
    count("\nspawned", |w| w.spawned, false);
    count("tasks\nrun", |w| w.executed, true);
    count("\nanchored", |w| w.anchored, false);
    // A share of those published and spawned.
    if block.iter().any(|s| s.total.sized.max > 0) {
        columns.add("with a\nsize", |(.., did)| sized(did));
    }
    // The levels at which anything was stolen.
    let steals = block.iter().flat_map(|s| &s.total.steals).filter(|(_, steals)| steals.max > 0);
    for level in steals.map(|(level, _)| level).collect::<BTreeSet<_>>() {
        let title = match level.as_str() {
            "memory" => "stolen from\nother socket".to_owned(),
            level => format!("stolen\nin {level}"),
        };
        columns.add(&title, |(.., did)| {
            did.steals.get(level).map_or(0, |steals| steals.median).to_string()
        });
    }
    if block.iter().any(|s| s.total.failed_steals.max > 0) {
        columns.add("looked\nin vain", |(.., did)| did.failed_steals.median.to_string());
    }
    columns.table(width)
}

/// The share of the tasks given to the scheduler that had a size.
fn sized(did: &WorkerSummary) -> String {
    let given = did.published.median + did.spawned.median;
    percent(if given == 0 { 0.0 } else { did.sized.median as f64 / given as f64 })
}

/// Where tasks were anchored, a row for each cluster; `None` if nowhere.
fn anchors(block: &[NativeSummary], width: Width) -> Option<String> {
    let place = |c: &ClusterSummary| (c.cluster, c.first_worker, c.last_worker);
    let mut clusters: Vec<_> = block.iter().flat_map(|s| &s.clusters).collect();
    clusters.sort_by_key(|c| c.cluster);
    clusters.dedup_by_key(|c| place(c));
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
            let same = summary.clusters.iter().find(|other| place(other) == place(c));
            same.map_or(0, |found| found.tasks.median).to_string()
        });
    }
    Some(columns.table(width))
}

/// How schedulers with two tiers have cut the program; `None` if there is no such scheduler.
fn tiers(block: &[NativeSummary], width: Width) -> Option<String> {
    let rows: Vec<_> =
        block.iter().filter_map(|s| Some((s.scheduler.to_string(), s.tiers.as_ref()?))).collect();
    if rows.is_empty() {
        return None;
    }
    let mut columns =
        Columns::new(&rows, "tiers of\nscheduler", |(scheduler, _)| scheduler.clone());
    columns.name("\nsizes from", |(_, tiers)| source(tiers));
    columns.add("an iteration,\nMiB", |(_, tiers)| mib(tiers.root_bytes.median));
    columns.add("inter-socket\ntasks", |(_, tiers)| tiers.inter.median.to_string());
    columns.add("\nsubtrees", |(_, tiers)| tiers.subtrees.median.to_string());
    columns.add("largest,\nMiB", |(_, tiers)| mib(tiers.largest_bytes.median));
    columns.add("times\ncut", |(_, tiers)| tiers.partitions.median.to_string());
    columns.add("subtrees\nrun", |(_, tiers)| tiers.subtrees_run.median.to_string());
    columns.add("on another\nsocket", |(_, tiers)| tiers.subtrees_moved.median.to_string());
    Some(columns.table(width))
}

/// Where sizes come from, or why there are no tiers.
fn source(tiers: &TiersSummary) -> String {
    match (tiers.source.as_str(), tiers.plain.as_str()) {
        ("", "") => "nothing measured".to_owned(),
        (source, "") => source.to_owned(),
        (_, plain) => format!("no tiers: {plain}"),
    }
}

/// The counts of the whole process; `None` if nothing was counted.
fn counters(block: &[NativeSummary], events: &[Event], width: Width) -> Option<String> {
    let mut columns = Columns::new(block, "whole\nprocess", |s| s.scheduler.to_string());
    let level = |quantity| {
        events.iter().find(|event| event.quantity == quantity).and_then(|event| event.level)
    };
    let private =
        level(Quantity::PrivateMisses).map_or("private".to_owned(), |level| level.to_string());
    let mut any = false;
    type Of<T> = fn(&NativeSummary) -> Option<Spread<T>>;
    let millions: [(String, Of<u64>); 4] = [
        (format!("{private}\nmisses, M"), |s| s.counts.private_misses),
        ("last-level\nmisses, M".to_owned(), |s| s.counts.llc_misses),
        ("instruc-\ntions, M".to_owned(), |s| s.counts.instructions),
        ("\ncycles, M".to_owned(), |s| s.counts.cycles),
    ];
    for (title, of) in millions {
        let scale = Scale::millions(block.iter().filter_map(of).map(|figure| figure.median));
        any |= columns.known(&title, of, |count| scale.show(count));
    }
    let unit = Unit::of(block.iter().filter_map(|s| s.counts.task_clock).map(|time| time.max));
    let title = format!("CPU time,\n{}", unit.name);
    any |= columns.known(&title, |s| s.counts.task_clock, |time| unit.show(time));
    let counts: [(&str, Of<u64>); 3] = [
        ("page\nfaults", |s| s.counts.page_faults),
        ("context\nswitches", |s| s.counts.context_switches),
        ("\nmigrations", |s| s.counts.migrations),
    ];
    for (title, of) in counts {
        any |= columns.known(title, of, |count| count.to_string());
    }
    any.then(|| columns.table(width))
}

impl Columns<'_, NativeSummary> {
    /// A column of medians, `-` where one is unknown; returns whether any is known, without which
    /// there is no column.
    fn known<T>(
        &mut self,
        title: &str,
        of: impl Fn(&NativeSummary) -> Option<Spread<T>>,
        show: impl Fn(T) -> String,
    ) -> bool {
        let any = self.items().iter().any(|s| of(s).is_some());
        if any {
            self.add(title, |s| of(s).map_or("-".to_owned(), |figure| show(figure.median)));
        }
        any
    }
}

fn share(part: Seconds, whole: Seconds) -> String {
    percent(if whole.0.is_zero() { 0.0 } else { part.number() / whole.number() })
}

/// Seconds or milliseconds, all with the same number of decimals: four digits of the largest.
struct Unit {
    name: &'static str,
    per_second: f64,
    decimals: usize,
}

impl Unit {
    fn of(times: impl Iterator<Item = Seconds>) -> Self {
        let largest = times.max().unwrap_or_default().number();
        let (name, per_second) = if largest >= 1.0 { ("s", 1.0) } else { ("ms", 1e3) };
        Self { name, per_second, decimals: decimals((largest * per_second).max(1e-3)) }
    }

    /// With a digit more.
    fn finer(self) -> Self {
        Self { decimals: self.decimals + 1, ..self }
    }

    fn show(&self, time: Seconds) -> String {
        format!("{:.*}", self.decimals, time.number() * self.per_second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_show_four_digits_of_the_largest() {
        let micros = |time: u64| Seconds(Duration::from_micros(time));
        let show = |largest: u64, time: u64| {
            let unit = Unit::of([micros(largest)].into_iter());
            (unit.show(micros(time)), unit.name)
        };
        assert_eq!(show(12_345, 987), ("0.99".to_owned(), "ms"));
        assert_eq!(show(1_234_567, 50_000), ("0.050".to_owned(), "s"));
        assert_eq!(show(123, 5), ("0.0050".to_owned(), "ms"));
        assert_eq!(show(0, 0), ("0.000000".to_owned(), "ms"));
    }
}
