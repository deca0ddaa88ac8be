//! From summaries to the numbers that the study compares, and to the cells of its tables.

use befit_sched::SchedulerKind;

use crate::{
    Interval, Summary,
    reproduce::{Figure, Point, Range, Table},
};

/// The summary of one scheduler.
pub(super) fn of(results: &[Summary], scheduler: SchedulerKind) -> &Summary {
    results.iter().find(|r| r.scheduler == scheduler).expect("it was simulated")
}

/// A change in percent, with its 95 % interval where there are seeds enough for one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Change {
    pub(super) percent: f64,
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

    pub(super) fn point(self, x: impl ToString) -> Point {
        Point { range: self.range, ..Point::new(x, self.percent) }
    }

    /// The figure that says this change. If it is out of range but its interval reaches into the
    /// range, the figure says so.
    pub(super) fn figure(
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
    pub(super) fn by_seeds(self, range: Range) -> Option<String> {
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
pub(super) fn miss_change(base: &Summary, summary: &Summary) -> Change {
    let [from, to] = [base, summary].map(|s| s.last_level_misses.median.0);
    Change::of(summary.misses_against(base), from, to)
}

/// By how much the running time differs.
pub(super) fn time_change(base: &Summary, summary: &Summary) -> Change {
    let [from, to] = [base, summary].map(|s| s.time.median.0);
    Change::of(summary.time_against(base), from, to)
}

/// By how much more time `summary`'s workers spend in the policy or without work than `base`'s, in
/// percent of the running time of `base`.
pub(super) fn overhead(base: &Summary, summary: &Summary) -> f64 {
    let beside = |summary: &Summary| {
        let t = &summary.worker_time;
        (t.add.median + t.get.median + t.done.median + t.idle.median).0 as f64
    };
    let whole = base.time.median.0 as f64 * f64::from(base.workers);
    100.0 * (beside(summary) - beside(base)) / whole
}

/// A count in millions.
pub(super) fn millions(count: u64) -> f64 {
    count as f64 / 1e6
}

/// The share of the outermost caches that was given out on average, in percent; none under policies
/// that give nothing out.
pub(super) fn occupancy(summary: &Summary) -> Option<f64> {
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
pub(super) type Column = (&'static str, fn(&Summary, &Summary) -> String);

pub(super) const TIME: Column =
    ("time, M cycles", |_, r| format!("{:.2}", millions(r.time.median.0)));
pub(super) const TIME_GIVE: Column = ("±, points", |base, r| time_change(base, r).give());
pub(super) const TIME_CHANGE: Column =
    ("against ws, %", |base, r| format!("{:+.1}", time_change(base, r).percent));
pub(super) const MISSES: Column =
    ("L3 misses, M", |_, r| format!("{:.3}", millions(r.last_level_misses.median.0)));
pub(super) const MISSES_GIVE: Column = ("±, points", |base, r| miss_change(base, r).give());
pub(super) const MISS_CHANGE: Column =
    ("against ws, %", |base, r| format!("{:+.1}", miss_change(base, r).percent));
pub(super) const IDLE: Column = ("idle, %", |_, r| format!("{:.1}", 100.0 * r.shares().idle));
pub(super) const GIVEN_OUT: Column = ("L3 given out, %", |_, r| {
    occupancy(r).map_or_else(|| "-".to_owned(), |percent| format!("{percent:.0}"))
});

/// A table of results: what was varied, the scheduler, and a cell for each column.
pub(super) struct ResultTable {
    pub(super) table: Table,
    columns: &'static [Column],
}

impl ResultTable {
    pub(super) fn new(title: &str, varied: &[&'static str], columns: &'static [Column]) -> Self {
        let names = varied.iter().copied().chain(["scheduler"]);
        let headings = columns.iter().map(|(heading, _)| *heading);
        Self { table: Table::new(title, names.chain(headings)), columns }
    }

    /// Adds the results of one comparison; the first is what the others are compared with.
    pub(super) fn add(&mut self, varied: &[&str], results: &[Summary]) {
        for result in results {
            let names = varied.iter().copied().chain([result.scheduler.name()]);
            let cells = self.columns.iter().map(|(_, cell)| cell(&results[0], result));
            self.table.row(names.map(str::to_owned).chain(cells));
        }
    }
}
