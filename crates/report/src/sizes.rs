//! Declared sizes beside measured ones, as a table, JSON (`befit.sizes/1`) or CSV.

use std::fmt::Write;

use befit_lab::{Befitting, Sizes, TaskSize};
use befit_machine::{Bytes, Level};
use serde::Serialize;

use crate::{Format, ReportError, columns::Columns, csv, json};

/// The document `befit.sizes/1`; docs/json.md says the same in prose.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SizesReport<'a> {
    /// Always `befit.sizes/1`.
    pub schema: &'static str,
    /// The command that was recorded.
    pub command: &'a str,
    /// The machine that tasks are to befit.
    pub machine: &'a str,
    /// Dilation σ.
    pub sigma: f64,
    /// All tasks.
    pub tasks: u64,
    /// Tasks that declare a size.
    pub declaring: u64,
    /// How many of them touch at most 0.5 of what they declare, 0.9, 1.1, 2 times, and more.
    pub ratios: [u64; 5],
    /// Tasks with a strand larger than the strand size that they declare.
    pub strands_exceeding: u64,
    /// By cache level, ascending, memory last.
    pub befitting: Vec<LevelRow>,
    /// The worst tasks: those that exceed what they declare, then those that fall short of it, each
    /// by bytes.
    pub worst: Vec<TaskRow>,
}

/// How many tasks befit the caches of one level.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LevelRow {
    /// `L1`, …, or `memory`.
    pub level: String,
    /// By what they declare.
    pub declared: u64,
    /// By what they touch.
    pub measured: u64,
    /// By what they declare, though they touch more.
    pub overflowing: u64,
}

/// One task.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TaskRow {
    /// Which child of which it is, from the root down.
    pub path: String,
    /// The size that it declares.
    pub declared: Bytes,
    /// The bytes that it touches.
    pub measured: Bytes,
    /// The second over the first; null where it declares 0.
    pub ratio: Option<f64>,
    /// The size that it declares of its strands, or null.
    pub declared_strand: Option<Bytes>,
    /// The size of its largest strand.
    pub measured_strand: Bytes,
}

impl<'a> From<&'a Sizes> for SizesReport<'a> {
    fn from(s: &'a Sizes) -> Self {
        let level = |b: &Befitting| LevelRow {
            level: Level::name_of(b.level),
            declared: b.declared,
            measured: b.measured,
            overflowing: b.overflowing,
        };
        let task = |t: &TaskSize| TaskRow {
            path: t.path.clone(),
            declared: t.declared,
            measured: t.measured,
            ratio: Some(t.ratio()).filter(|ratio| ratio.is_finite()),
            declared_strand: t.declared_strand,
            measured_strand: t.measured_strand,
        };
        Self {
            schema: "befit.sizes/1",
            command: &s.command,
            machine: &s.machine,
            sigma: s.sigma,
            tasks: s.tasks,
            declaring: s.declaring,
            ratios: s.ratios,
            strands_exceeding: s.strands_exceeding,
            befitting: s.befitting.iter().map(level).collect(),
            worst: s.under.iter().chain(&s.over).map(task).collect(),
        }
    }
}

/// Writes `sizes` as text that ends in a line feed. The table is for reading; JSON is the contract
/// `befit.sizes/1`; CSV has the tasks of the JSON, a row each.
///
/// # Errors
/// As [`crate::render`].
pub fn render(sizes: &Sizes, format: Format) -> Result<String, ReportError> {
    match format {
        Format::Table => Ok(tables(sizes)),
        Format::Json => json(&SizesReport::from(sizes)),
        Format::Csv => csv::render(&SizesReport::from(sizes).worst),
    }
}

/// The length of a task's path in a table: of a longer one the end is shown.
const LONGEST: usize = 40;

fn tables(sizes: &Sizes) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let Sizes { command, machine, sigma, tasks, declaring, .. } = sizes;
    let _ = writeln!(text, "{command}: {declaring} of {tasks} tasks declare a size");
    let [half, less, right, more, double] = sizes.ratios;
    let _ = writeln!(
        text,
        "\nThey touch, of what they declare: up to half {half}; up to 0.9 {less}; \
         up to 1.1 {right}; up to twice {more}; more {double}."
    );
    if sizes.strands_exceeding > 0 {
        let _ = writeln!(
            text,
            "{} tasks have a strand more than a tenth larger than they declare.",
            sizes.strands_exceeding
        );
    }
    let _ =
        writeln!(text, "\nThe smallest caches that they befit on {machine}, at sigma {sigma}:\n");
    let mut columns = Columns::new(&sizes.befitting, "\ncache", |b| Level::name_of(b.level));
    columns.add("by what\nthey declare", |b| b.declared.to_string());
    columns.add("by what\nthey touch", |b| b.measured.to_string());
    columns.add("declare it,\ntouch more", |b| b.overflowing.to_string());
    let _ = writeln!(text, "{}", columns.table());
    tasks_of(&mut text, "touch more than they declare", &sizes.under);
    tasks_of(&mut text, "touch less than they declare", &sizes.over);
    text
}

fn tasks_of(text: &mut String, what: &str, tasks: &[TaskSize]) {
    if tasks.is_empty() {
        let _ = writeln!(text, "\nNo tasks {what}.");
        return;
    }
    let _ = writeln!(text, "\nThe tasks that {what}, by most bytes:\n");
    let mut columns = Columns::new(tasks, "\ntask", |t: &TaskSize| path(&t.path));
    columns.add("\ndeclared", |t| bytes(t.declared));
    columns.add("\nmeasured", |t| bytes(t.measured));
    columns.add("\nratio", |t| format!("{:.2}", t.ratio()));
    columns.add("largest strand,\ndeclared", |t| t.declared_strand.map_or("-".to_owned(), bytes));
    columns.add("\nmeasured", |t| bytes(t.measured_strand));
    let _ = writeln!(text, "{}", columns.table());
}

fn path(path: &str) -> String {
    match path {
        "" => "the root".to_owned(),
        long if long.len() > LONGEST => format!("…{}", &long[long.len() - LONGEST..]),
        short => short.to_owned(),
    }
}

/// A size with three digits, in the unit that suits.
fn bytes(bytes: Bytes) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut value, mut unit) = (bytes.0 as f64, 0);
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = if unit == 0 || value >= 100.0 { 0 } else { 1 };
    format!("{value:.digits$} {}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_the_unit_that_suits() {
        let shown = [0, 1000, 1536, 200 << 10, 12_600_000].map(|n| bytes(Bytes(n)));
        assert_eq!(shown, ["0 B", "1000 B", "1.5 KiB", "200 KiB", "12.0 MiB"]);
    }

    #[test]
    fn of_a_long_path_the_end_is_shown() {
        assert_eq!((path(""), path("0.1")), ("the root".to_owned(), "0.1".to_owned()));
        assert_eq!(path(&"0.".repeat(50)).chars().count(), LONGEST + 1);
    }
}
