//! The columns of the table.

use std::cmp::Ordering;

use befit_machine::{Level, Machine};
use befit_sched::{Breakdown, Options};
use befit_sim::Outcome;
use serde_json::Value as Json;

/// What a column holds; every value may be missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// UTF-8 text.
    Text,
    /// A whole number of 64 bits.
    Whole,
    /// A number.
    Number,
}

/// One column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: Kind,
}

/// One value of a row; `None` where it is missing.
pub(crate) type Cell = Option<Value>;

/// A value that is there.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// Of a column of text.
    Text(String),
    /// Of a column of whole numbers.
    Whole(i64),
    /// Of a column of numbers.
    Number(f64),
}

impl Value {
    /// The order of rows: numbers by value, text by its bytes.
    fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            (Self::Whole(a), Self::Whole(b)) => a.cmp(b),
            (Self::Number(a), Self::Number(b)) => a.total_cmp(b),
            (a, b) => a.rank().cmp(&b.rank()),
        }
    }

    /// As a field of a configuration. Numbers go as text, which every reader takes for the same.
    pub(crate) fn to_field(&self) -> Json {
        match self {
            Self::Text(text) => text.as_str().into(),
            Self::Whole(number) => (*number).into(),
            Self::Number(number) => number.to_string().into(),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Whole(_) => 0,
            Self::Number(_) => 1,
            Self::Text(_) => 2,
        }
    }
}

/// The order of rows by their first cells; what is missing comes first.
pub(crate) fn order(one: &[Cell], other: &[Cell]) -> Ordering {
    let each = one.iter().zip(other).map(|pair| match pair {
        (Some(a), Some(b)) => a.order(b),
        (a, b) => a.is_some().cmp(&b.is_some()),
    });
    each.fold(Ordering::Equal, Ordering::then)
}

/// All columns: those of the configuration, the recording's, the figures, and last the reason why
/// there are none.
pub fn columns() -> Vec<Column> {
    let column = |name: &str, kind| Column { name: name.to_owned(), kind };
    let recording = [column("command", Kind::Text), column("recording", Kind::Text)];
    let figures = figure_names().into_iter().map(|name| column(&name, Kind::Whole));
    let error = column("error", Kind::Text);
    configuration_columns().into_iter().chain(recording).chain(figures).chain([error]).collect()
}

/// The columns of a configuration, in the order in which rows are sorted by them.
pub(crate) fn configuration_columns() -> Vec<Column> {
    use Kind::{Text, Whole};
    let before = [
        ("program", Text),
        ("machine", Text),
        ("scheduler", Text),
        ("sizes", Text),
        ("shrink", Whole),
        ("bandwidth", Whole),
        ("sockets", Whole),
        ("cores", Whole),
    ];
    let defaults = Options::default();
    let options = Options::TABLE.iter().map(|option| (option.name, kind(&option.print(&defaults))));
    let all = before.into_iter().chain(options).chain([("seed", Whole)]);
    all.map(|(name, kind)| Column { name: name.to_owned(), kind }).collect()
}

/// What an option's values are, by the text of its default.
fn kind(default: &str) -> Kind {
    if default.parse::<i64>().is_ok() {
        Kind::Whole
    } else if default.parse::<f64>().is_ok() {
        Kind::Number
    } else {
        Kind::Text
    }
}

/// `text` as a value of `kind`; none where it is no such value.
pub(crate) fn value(text: &str, kind: Kind) -> Cell {
    match kind {
        Kind::Text => Some(Value::Text(text.to_owned())),
        Kind::Whole => text.parse().ok().map(Value::Whole),
        Kind::Number => text.parse().ok().map(Value::Number),
    }
}

/// Levels that have columns. A machine with fewer leaves theirs empty.
const LEVELS: u8 = 4;

fn by_level(name: &str) -> impl Iterator<Item = String> {
    (1..=LEVELS).map(move |level| format!("{name}_L{level}"))
}

/// The names of the figures, in the order of [`figures`].
pub(crate) fn figure_names() -> Vec<String> {
    let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let cycles = Breakdown::<u64>::NAMES.map(|part| format!("{part}_cycles"));
    let first = ["workers", "mhz", "tasks", "strands", "work_cycles", "span_cycles", "time_cycles"];
    own(&first)
        .into_iter()
        .chain(["accesses", "misses", "coherence_misses"].into_iter().flat_map(by_level))
        .chain(own(&[
            "last_level_misses",
            "memory_reads",
            "memory_writes",
            "remote_hits",
            "far_hits",
            "sibling_hits",
        ]))
        .chain(cycles)
        .chain(own(&["steals", "near_steals", "failed_steals"]))
        .chain(by_level("anchors"))
        .chain(own(&["anchors_memory"]))
        .collect()
}

/// The figures of one simulation, by their names in [`columns`]; what a machine does not have is
/// missing.
pub type Figures = Vec<Option<i64>>;

/// The figures of one simulation on `machine`, in the order of their columns: cycles of the
/// machine's fastest core, numbers of cache lines, tasks and steals.
pub fn figures(machine: &Machine, outcome: &Outcome) -> Figures {
    let whole = |figure: u64| Some(i64::try_from(figure).unwrap_or(i64::MAX));
    let at = |level: u8| outcome.levels.iter().find(move |counts| counts.level == Level(level));
    let anchored = |level: Option<u8>| {
        let here = outcome.anchors.iter().zip(machine.clusters());
        let here = here.filter(|(_, cluster)| cluster.cache.map(|cache| cache.level.0) == level);
        here.map(|(tasks, _)| tasks).sum::<u64>()
    };
    let anchored_at = |level: u8| at(level).and_then(|_| whole(anchored(Some(level))));
    let cycles = Breakdown::join(&outcome.workers, |parts| parts.into_iter().map(|c| c.0).sum());
    let levels = 1..=LEVELS;
    [
        machine.workers().len() as u64,
        u64::from(machine.mhz),
        outcome.tasks,
        outcome.strands,
        outcome.work.0,
        outcome.span.0,
        outcome.time.0,
    ]
    .into_iter()
    .map(whole)
    .chain(levels.clone().map(|level| at(level).and_then(|counts| whole(counts.accesses.0))))
    .chain(levels.clone().map(|level| at(level).and_then(|counts| whole(counts.misses.0))))
    .chain(levels.clone().map(|level| at(level).and_then(|c| whole(c.coherence_misses.0))))
    .chain(
        [
            outcome.memory_reads.0 + outcome.remote_hits.0,
            outcome.memory_reads.0,
            outcome.memory_writes.0,
            outcome.remote_hits.0,
            outcome.far_hits.0,
            outcome.sibling_hits.0,
        ]
        .map(whole),
    )
    .chain(cycles.parts().map(whole))
    .chain([outcome.steals, outcome.near_steals, outcome.failed_steals].map(whole))
    .chain(levels.map(anchored_at))
    .chain([whole(anchored(None))])
    .collect()
}
