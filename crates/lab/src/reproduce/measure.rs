//! From summaries to the numbers that studies compare, and to the cells of their tables.

use befit_sched::SchedulerKind;

use super::{Figure, Point, Range, Table};
use crate::{Interval, Summary};

/// The summary of one scheduler.
pub(in crate::reproduce) fn of(results: &[Summary], scheduler: SchedulerKind) -> &Summary {
    results.iter().find(|r| r.scheduler == scheduler).expect("it was simulated")
}

/// A change in percent, with its 95 % interval where there are seeds enough for one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::reproduce) struct Change {
    pub(in crate::reproduce) percent: f64,
    /// The interval's ends.
    range: Option<(f64, f64)>,
}

impl Change {
    /// What `interval` says; without one, the change from `base` to `value`.
    fn of(interval: Option<Interval>, base: u64, value: u64) -> Self {
        let percent = |ratio: f64| 100.0 * (ratio - 1.0);
        match interval {
            Some(Interval { estimate, low, high }) => {
                Self { percent: percent(estimate), range: Some((percent(low), percent(high))) }
            }
            None if base == 0 => Self { percent: 0.0, range: None },
            None => Self { percent: percent(value as f64 / base as f64), range: None },
        }
    }

    pub(in crate::reproduce) fn point(self, x: impl ToString) -> Point {
        Point { range: self.range, ..Point::new(x, self.percent) }
    }

    /// The figure that says this change. If it is out of range but its interval reaches into the
    /// range, the figure says so.
    pub(in crate::reproduce) fn figure(
        self,
        id: String,
        what: String,
        reported: impl Into<String>,
        range: Range,
    ) -> Figure {
        Figure::new(id, what, reported, range, self.percent, "%")
            .within(self.range)
            .if_out(|| self.by_seeds(range))
    }

    /// The reason for a change outside of `range`, if its interval reaches into it.
    pub(in crate::reproduce) fn by_seeds(self, range: Range) -> Option<String> {
        let (low, high) = self.range?;
        (low <= range.high && high >= range.low).then(|| {
            format!("the 95 % interval, {low:+.1} to {high:+.1} %, reaches into the range")
        })
    }

    /// The distance from the change to the end of its interval, as a cell.
    fn give(self) -> String {
        self.range.map_or_else(|| "-".to_owned(), |(_, high)| format!("{:.1}", high - self.percent))
    }
}

/// By how much the last level's misses differ.
pub(in crate::reproduce) fn miss_change(base: &Summary, summary: &Summary) -> Change {
    let [from, to] = [base, summary].map(|s| s.last_level_misses.median.0);
    Change::of(summary.misses_against(base), from, to)
}

/// By how much the running time differs.
pub(in crate::reproduce) fn time_change(base: &Summary, summary: &Summary) -> Change {
    let [from, to] = [base, summary].map(|s| s.time.median.0);
    Change::of(summary.time_against(base), from, to)
}

/// How many times faster `summary` is than `base`.
pub(in crate::reproduce) fn speed(base: &Summary, summary: &Summary) -> Speed {
    let [from, to] = [base, summary].map(|s| s.time.median.0 as f64);
    let interval = base.time_against(summary);
    let range = interval.map(|interval| (interval.low, interval.high));
    Speed { times: interval.map_or(from / to, |interval| interval.estimate), range }
}

/// A ratio of times, with its 95 % interval where there are seeds enough for one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::reproduce) struct Speed {
    pub(in crate::reproduce) times: f64,
    range: Option<(f64, f64)>,
}

impl Speed {
    pub(in crate::reproduce) fn point(self, x: impl ToString) -> Point {
        Point { range: self.range, ..Point::new(x, self.times) }
    }

    /// The figure that says it.
    pub(in crate::reproduce) fn figure(
        self,
        id: String,
        what: String,
        reported: impl Into<String>,
        range: Range,
    ) -> Figure {
        Figure::new(id, what, reported, range, self.times, "x").within(self.range)
    }
}

/// By how much more time `summary`'s workers spend in the policy or without work than `base`'s, in
/// percent of the running time of `base`.
pub(in crate::reproduce) fn overhead(base: &Summary, summary: &Summary) -> f64 {
    let beside = |summary: &Summary| {
        let t = &summary.worker_time;
        (t.add.median + t.get.median + t.done.median + t.idle.median).0 as f64
    };
    let whole = base.time.median.0 as f64 * f64::from(base.workers);
    100.0 * (beside(summary) - beside(base)) / whole
}

/// A count in millions.
pub(in crate::reproduce) fn millions(count: u64) -> f64 {
    count as f64 / 1e6
}

/// The share of the outermost caches that was given out on average, in percent; none under policies
/// that give nothing out.
pub(in crate::reproduce) fn occupancy(summary: &Summary) -> Option<f64> {
    let last = summary.caches.iter().map(|c| c.level).max();
    let outer = summary.caches.iter().filter(|c| Some(c.level) == last);
    let (mut given, mut size) = (0.0, 0.0);
    for cache in outer {
        given += cache.occupancy_mean.median.0 as f64;
        size += cache.size.0 as f64;
    }
    (size > 0.0).then(|| 100.0 * given / size)
}

/// A column: its heading, and the cell for a result beside the first result of its comparison.
pub(in crate::reproduce) type Column = (&'static str, fn(&Summary, &Summary) -> String);

pub(in crate::reproduce) const TIME: Column =
    ("time, M cycles", |_, r| format!("{:.2}", millions(r.time.median.0)));
pub(in crate::reproduce) const TIME_GIVE: Column =
    ("±, points", |base, r| time_change(base, r).give());
pub(in crate::reproduce) const TIME_CHANGE: Column =
    ("against ws, %", |base, r| format!("{:+.1}", time_change(base, r).percent));
pub(in crate::reproduce) const SPEED: Column =
    ("times ws's speed", |base, r| format!("{:.2}", speed(base, r).times));
pub(in crate::reproduce) const MISSES: Column =
    ("last-level misses, M", |_, r| format!("{:.3}", millions(r.last_level_misses.median.0)));
pub(in crate::reproduce) const MISSES_GIVE: Column =
    ("±, points", |base, r| miss_change(base, r).give());
pub(in crate::reproduce) const MISS_CHANGE: Column =
    ("against ws, %", |base, r| format!("{:+.1}", miss_change(base, r).percent));
pub(in crate::reproduce) const IDLE: Column =
    ("idle, %", |_, r| format!("{:.1}", 100.0 * r.shares().idle));
pub(in crate::reproduce) const GIVEN_OUT: Column = ("last level given out, %", |_, r| {
    occupancy(r).map_or_else(|| "-".to_owned(), |percent| format!("{percent:.0}"))
});

/// A table of results: what was varied, the scheduler, and a cell for each column.
pub(in crate::reproduce) struct ResultTable {
    pub(in crate::reproduce) table: Table,
    columns: &'static [Column],
}

impl ResultTable {
    pub(in crate::reproduce) fn new(
        title: &str,
        varied: &[&'static str],
        columns: &'static [Column],
    ) -> Self {
        let names = varied.iter().copied().chain(["scheduler"]);
        let headings = columns.iter().map(|(heading, _)| *heading);
        Self { table: Table::new(title, names.chain(headings)), columns }
    }

    /// Adds the results of one comparison; the first is what the others are compared with.
    pub(in crate::reproduce) fn add(&mut self, varied: &[&str], results: &[Summary]) {
        for result in results {
            let names = varied.iter().copied().chain([result.scheduler.name()]);
            let cells = self.columns.iter().map(|(_, cell)| cell(&results[0], result));
            self.table.row(names.map(str::to_owned).chain(cells));
        }
    }
}
