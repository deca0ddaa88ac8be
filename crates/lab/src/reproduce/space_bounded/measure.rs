//! From summaries to the numbers that the study compares.

use befit_machine::Lines;
use befit_sched::SchedulerKind;

use super::super::Point;
use crate::{Spread, Summary};

/// The summary of one scheduler.
pub(super) fn of(results: &[Summary], scheduler: SchedulerKind) -> &Summary {
    results.iter().find(|r| r.scheduler == scheduler).expect("it was simulated")
}

/// Misses of the last cache level, in lines.
pub(super) fn misses(summary: &Summary) -> Spread<Lines> {
    summary.levels.last().map(|level| level.misses).unwrap_or_default()
}

/// A change in percent, and the smallest and the largest over the seeds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    pub(super) median: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Change {
    /// Of `spread` against the median of `base`.
    fn of(base: u64, spread: Spread<u64>) -> Self {
        let percent =
            |value: u64| if base == 0 { 0.0 } else { 100.0 * (value as f64 / base as f64 - 1.0) };
        Self { median: percent(spread.median), low: percent(spread.min), high: percent(spread.max) }
    }

    pub(super) fn point(self, x: impl ToString) -> Point {
        Point::with_range(x, self.median, self.low, self.high)
    }
}

/// By how much the last level's misses differ.
pub(super) fn miss_change(base: &Summary, summary: &Summary) -> Change {
    Change::of(misses(base).median.0, misses(summary).map(|l| l.0))
}

/// By how much the running time differs.
pub(super) fn time_change(base: &Summary, summary: &Summary) -> Change {
    Change::of(base.time.median.0, summary.time.map(|c| c.0))
}

/// What the workers do beside running strands, all together, in cycles: in the policy, and without
/// work.
fn beside(summary: &Summary) -> f64 {
    let t = &summary.worker_time;
    (t.add.median + t.get.median + t.done.median + t.idle.median).0 as f64
}

/// What `summary`'s workers do more beside running strands than `base`'s, in percent of the running
/// time of `base`.
pub(super) fn overhead(base: &Summary, summary: &Summary) -> f64 {
    let whole = base.time.median.0 as f64 * f64::from(base.workers);
    100.0 * (beside(summary) - beside(base)) / whole
}

/// A count in millions.
pub(super) fn millions(count: u64) -> f64 {
    count as f64 / 1e6
}

/// Half the range over the seeds in percent of the median.
pub(super) fn give(spread: Spread<u64>) -> String {
    if spread.median == 0 {
        return "0.0".to_owned();
    }
    format!("{:.1}", 50.0 * (spread.max - spread.min) as f64 / spread.median as f64)
}

/// The share of the outermost caches that was given out on average, in percent; `-` under policies
/// that give none.
pub(super) fn occupancy(summary: &Summary) -> String {
    let last = summary.caches.iter().map(|c| c.level).max();
    let outer = summary.caches.iter().filter(|c| Some(c.level) == last);
    let (mut given, mut size) = (0.0, 0.0);
    for cache in outer {
        given += cache.occupancy_mean.median.0 as f64;
        size += cache.size.0 as f64;
    }
    if size > 0.0 { format!("{:.0}", 100.0 * given / size) } else { "-".to_owned() }
}
