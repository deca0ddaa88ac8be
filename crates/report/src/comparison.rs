//! Simulated runs, compared: as a table, JSON (`befit.compare/2`) or CSV.
//!
//! The table has a block for each program and machine: time and where it went, misses of the inner
//! levels, and what the last level's misses were served by. Everything is compared with the block's
//! first scheduler, the *baseline*. Figures are medians over the seeds. A change of time or of
//! last-level misses is the mean over the seeds that both ran with, ± is its 95 % interval.
//! Below the tables stands what they mean.

use std::fmt::Write;

use befit_lab::{Conclusion, Estimate, Interval, Sampled, SizesFrom, Spread, Summary};
use befit_machine::Lines;
use serde::Serialize;

use crate::{
    Format, ReportError, Width,
    columns::{Columns, Scale, against, percent},
    conclusion, csv, json,
};

/// The document.
#[derive(Serialize)]
struct Comparison<'a> {
    results: &'a [Summary],
    conclusions: &'a [Conclusion],
}

/// Writes `results`, which end up in the given order, and the `conclusions` of some or all programs
/// and machines, as text that ends in a line feed. The same results give the same bytes. CSV has
/// no conclusions.
///
/// # Errors
/// When a result cannot be expressed in the format; no result of `befit-lab` is of that kind.
pub fn render(
    results: &[Summary],
    conclusions: &[Conclusion],
    format: Format,
) -> Result<String, ReportError> {
    match format {
        Format::Table(width) => Ok(width.wrap(&tables(results, conclusions, width))),
        Format::Json => json("befit.compare/2", &Comparison { results, conclusions }),
        Format::Csv => {
            let mut rows = results.to_vec();
            // A machine has dozens of caches, each of which would be ten columns.
            rows.iter_mut().for_each(|row| row.caches.clear());
            csv::render(&rows)
        }
    }
}

fn tables(results: &[Summary], conclusions: &[Conclusion], width: Width) -> String {
    let same = |a: &Summary, b: &Summary| a.command == b.command && a.machine == b.machine;
    let blocks = results.chunk_by(same).map(|results| {
        let first = &results[0];
        let is_its = |c: &&Conclusion| c.command == first.command && c.machine == first.machine;
        let conclusion = conclusions.iter().find(is_its);
        let text =
            conclusion.map(|conclusion| format!("\n{}", conclusion::text(conclusion, width)));
        block(results, width) + &text.unwrap_or_default()
    });
    blocks.collect::<Vec<_>>().join("\n")
}

fn block(block: &[Summary], width: Width) -> String {
    let first = &block[0];
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "{} on {} ({} workers, {} MHz)",
        first.command, first.machine, first.workers, first.mhz
    );
    let _ = writeln!(text, "{}", bounds(first));
    let _ = writeln!(text, "{}", seeds(block));
    if let Some(sizes) = sizes(first) {
        let _ = writeln!(text, "{sizes}");
    }
    if let Some(sampled) = &first.sampled {
        let _ = writeln!(
            text,
            "{}; the ± of a mean covers the figure of all lines",
            sampled_lines(sampled)
        );
    }
    let _ = writeln!(text, "\n{}", time(block, width));
    if first.levels.len() > 1 {
        let _ = writeln!(text, "\n{}", inner_misses(block, width));
    }
    let _ = writeln!(text, "\n{}", last_level_misses(block, width));
    if let Some(share) = first.recorded {
        let _ = writeln!(text, "\n{}", recorded(share));
    }
    text
}

/// Which of the cache lines the figures are of.
pub(crate) fn sampled_lines(of: &Sampled) -> String {
    format!("one cache line in {} was simulated, another sample with each seed", of.one_in)
}

/// How much of the program the figures are of.
pub(crate) fn recorded(share: f64) -> String {
    format!(
        "recorded: {} of the process's processor time; not the rest, before, after and beside its \
         parallel regions",
        percent(share)
    )
}

/// The program's work, span and parallelism on this machine.
fn bounds(of: &Summary) -> String {
    let parallelism = of.work.0 as f64 / of.span.0.max(1) as f64;
    let show = |cycles: u64| Scale::millions([cycles].into_iter()).show(cycles);
    let (work, span) = (show(of.work.0), show(of.span.0));
    let mut text = format!(
        "work T₁ {work} M cycles, its longest chain T∞ {span} M, both without waits; parallelism \
         T₁ / T∞ {parallelism:.1}"
    );
    if parallelism < f64::from(of.workers) {
        // With waits it may keep more of them busy: they wait beside one another.
        let _ = write!(
            text,
            "\nits operations alone, without waits, keep no more than {parallelism:.1} workers busy"
        );
    }
    text
}

/// Where the tasks' sizes come from, if not from declarations.
fn sizes(of: &Summary) -> Option<String> {
    Some(match of.sizes {
        SizesFrom::Declared if of.sized_tasks > 0 => return None,
        SizesFrom::Declared => "no task declares a size: each has its parent's".to_owned(),
        SizesFrom::Nowhere => "no sizes: what tasks declare is ignored".to_owned(),
        SizesFrom::Measured => {
            "sizes: each task's footprint, measured in this recording".to_owned()
        }
        SizesFrom::Learned => format!("sizes declared or learned, {}", share(of)),
        SizesFrom::LearnedHere => format!("sizes learned from this recording, {}", share(of)),
        SizesFrom::OnlyLearned => {
            format!("sizes learned, whatever tasks declare, {}", share(of))
        }
    })
}

/// The share of the tasks that have a size of their own. The root, not forked, seldom has one.
fn share(of: &Summary) -> String {
    let share = (of.sized_tasks as f64 / (of.tasks - 1).max(1) as f64).min(1.0);
    format!("which {} of the tasks have", percent(share))
}

/// The number of seeds, and how figures come from them.
fn seeds(block: &[Summary]) -> String {
    let first = block[0].seeds;
    if first == 1 && block.len() == 1 {
        return "one seed".to_owned();
    }
    if first == 1 {
        return "one seed: it does not tell whether a difference is more than chance".to_owned();
    }
    let number = if block.iter().all(|s| s.seeds == first) {
        format!("{first} random runs (seeds)")
    } else {
        let each: Vec<_> = block.iter().map(|s| format!("{} {}", s.scheduler, s.seeds)).collect();
        format!("random runs (seeds: {})", each.join(", "))
    };
    let intervals = if block.len() > 1 { "; ± is the 95 % interval" } else { "" };
    match block.iter().any(|s| s.sampled.is_some()) {
        true => format!("of {number}: means where a ± stands, else medians{intervals}"),
        false => format!("medians of {number}{intervals}"),
    }
}

/// Time, where it went, steals and anchored tasks.
fn time(block: &[Summary], width: Width) -> String {
    let first = &block[0];
    let mut columns = rows(block);
    let scale = Scale::millions(block.iter().map(|s| s.time.median.0));
    columns.add("time,\nM cycles", |s| {
        figure(scale, s.time.median.0, s.sampled.as_ref().and_then(|s| s.time))
    });
    versus(&mut columns, |s| s.time.median.0, |s| s.ratio);
    columns.add("in the\nprogram", |s| percent(s.shares().active));
    columns.add("in the\nscheduler", |s| {
        let shares = s.shares();
        percent(shares.add + shares.get + shares.done)
    });
    columns.add("\nidle", |s| percent(s.shares().idle));
    columns.add("\nsteals", |s| s.steals.median.to_string());
    columns.minor("of them\nnear", |s| match s.steals.median {
        0 => "-".to_owned(),
        all => percent((s.near_steals.median as f64 / all as f64).min(1.0)),
    });
    for (i, (place, _)) in first.anchors.iter().enumerate() {
        let used = block.iter().any(|s| s.anchors[i].1.max > 0);
        if let (Some(level), true) = (place, used) {
            columns.minor(&format!("bound to\nan {level}"), |s| s.anchors[i].1.median.to_string());
        }
    }
    columns.narrow(width)
}

/// Misses of the levels below the last.
fn inner_misses(block: &[Summary], width: Width) -> String {
    let first = &block[0];
    let mut columns = rows(block);
    let scale = misses_scale(block);
    for i in 0..first.levels.len() - 1 {
        let of = |s: &Summary| s.levels[i].misses;
        let level = first.levels[i].level;
        let estimate = |s: &Sampled| s.misses.get(&level).copied().flatten();
        columns.sampled_lines(&format!("{level}\nmisses, M"), scale, of, estimate);
        if block.len() > 1 {
            columns.versus(first.scheduler, |s| shown(of(s).median.0, sampled(s, estimate)));
        }
    }
    columns.narrow(width)
}

/// Misses of the last level, and what they were served by.
fn last_level_misses(block: &[Summary], width: Width) -> String {
    let Some(last) = block[0].levels.last() else { return String::new() };
    let level = last.level;
    let mut columns = rows(block);
    let scale = misses_scale(block);
    columns.sampled_lines(
        &format!("{level}\nmisses, M"),
        scale,
        |s| s.last_level_misses,
        |s| s.last_level_misses,
    );
    versus(&mut columns, |s| s.last_level_misses.median.0, |s| s.misses_ratio);
    let from_memory = "of them from\nmemory";
    columns.sampled_lines(from_memory, scale, |s| s.memory_reads, |s| s.memory_reads);
    // Told apart only where there are both.
    let any = |of: fn(&Summary) -> Spread<Lines>| block.iter().any(|s| of(s).max.0 > 0);
    if any(|s| s.near_hits) && any(|s| s.far_hits) {
        columns.lines(&format!("from\nnear {level}s"), scale, |s| s.near_hits);
        columns.lines(&format!("from\nfar {level}s"), scale, |s| s.far_hits);
    } else {
        columns.lines(&format!("from\nother {level}s"), scale, |s| s.remote_hits);
    }
    if block.iter().any(|s| s.sibling_hits.max.0 > 0) {
        columns.lines("not counted:\nfrom siblings", scale, |s| s.sibling_hits);
    }
    let writes = "memory\nwrites, M";
    columns.sampled_lines(writes, scale, |s| s.memory_writes, |s| s.memory_writes);
    columns.narrow(width)
}

/// All tables of misses have one number of decimals, so that columns can be compared: as many as
/// the last level's misses need.
fn misses_scale(block: &[Summary]) -> Scale {
    Scale::millions(block.iter().map(|s| s.last_level_misses.median.0))
}

/// A column that compares with the first row, where there is more than one: by the interval, or by
/// the medians where one seed gives none.
fn versus(
    columns: &mut Columns<'_, Summary>,
    median: impl Fn(&Summary) -> u64,
    ratio: impl Fn(&Summary) -> Option<Interval>,
) {
    let [first, _, ..] = columns.items() else { return };
    if first.seeds == 1 {
        columns.versus(first.scheduler, median);
    } else {
        columns.compared(first.scheduler, |s| against(ratio(s)));
    }
}

/// The median, or of a sampled simulation the mean with the half of its interval: `122.8 ±0.6%`.
fn figure(scale: Scale, median: u64, estimate: Option<Estimate>) -> String {
    let shown = scale.show(shown(median, estimate));
    estimate.map_or(shown.clone(), |mean| format!("{shown} ±{}", percent(mean.half())))
}

/// The median, or of a sampled simulation the mean.
pub(crate) fn shown(median: u64, estimate: Option<Estimate>) -> u64 {
    estimate.map_or(median, |mean| mean.estimate as u64)
}

/// What `estimate` says of a simulation, if that is a sampled one.
pub(crate) fn sampled(
    summary: &Summary,
    estimate: impl Fn(&Sampled) -> Option<Estimate>,
) -> Option<Estimate> {
    summary.sampled.as_ref().and_then(estimate)
}

impl Columns<'_, Summary> {
    /// As [`Self::lines`], with intervals where not all lines were simulated.
    fn sampled_lines(
        &mut self,
        title: &str,
        scale: Scale,
        of: impl Fn(&Summary) -> Spread<Lines>,
        estimate: impl Fn(&Sampled) -> Option<Estimate>,
    ) {
        self.add(title, |s| figure(scale, of(s).median.0, sampled(s, &estimate)));
    }

    /// A column of medians in millions of lines.
    fn lines(&mut self, title: &str, scale: Scale, of: impl Fn(&Summary) -> Spread<Lines>) {
        self.add(title, |s| scale.show(of(s).median.0));
    }
}

fn rows(block: &[Summary]) -> Columns<'_, Summary> {
    Columns::new(block, "\nscheduler", |s| s.scheduler.to_string())
}
