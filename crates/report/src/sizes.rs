//! Declared sizes beside measured ones, as a table, JSON (`befit.sizes/1`) or CSV.

use std::fmt::Write;

use befit_lab::{Sizes, TaskSize};
use befit_machine::{Bytes, Level};

use crate::{Format, ReportError, Width, columns::Columns, csv, json};

/// Writes `sizes` as text that ends in a line feed. The table is for reading; JSON is the contract
/// `befit.sizes/1`; CSV has the tasks of the JSON, a row each.
///
/// # Errors
/// As [`crate::render`].
pub fn render(sizes: &Sizes, format: Format) -> Result<String, ReportError> {
    match format {
        Format::Table(width) => Ok(width.wrap(&tables(sizes, width))),
        Format::Json => json("befit.sizes/1", sizes),
        Format::Csv => csv::render(&sizes.worst),
    }
}

/// The length of a task's path in a table: of a longer one the end is shown.
const LONGEST: usize = 40;

fn tables(sizes: &Sizes, width: Width) -> String {
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
    let _ = writeln!(text, "{}", columns.table(width));
    let under = sizes.worst.partition_point(|task| task.measured > task.declared);
    let (under, over) = sizes.worst.split_at(under);
    tasks_of(&mut text, "touch over a tenth more than they declare", under, width);
    tasks_of(&mut text, "touch over a tenth less than they declare", over, width);
    text
}

fn tasks_of(text: &mut String, what: &str, tasks: &[TaskSize], width: Width) {
    if tasks.is_empty() {
        let _ = writeln!(text, "\nNo tasks {what}.");
        return;
    }
    let _ = writeln!(text, "\nThe tasks that {what}, by most bytes:\n");
    let mut columns = Columns::new(tasks, "\ntask", |t: &TaskSize| path(&t.path));
    columns.add("forked\nat", |t| t.source.clone().unwrap_or_else(|| "-".to_owned()));
    columns.add("\ndeclared", |t| bytes(t.declared));
    columns.add("\nmeasured", |t| bytes(t.measured));
    columns.add("\nratio", |t| format!("{:.2}", t.ratio));
    columns.add("largest strand,\ndeclared", |t| t.declared_strand.map_or("-".to_owned(), bytes));
    columns.add("\nmeasured", |t| bytes(t.measured_strand));
    let _ = writeln!(text, "{}", columns.table(width));
}

pub(crate) fn path(path: &str) -> String {
    match path {
        "" => "the root".to_owned(),
        long if long.len() > LONGEST => format!("…{}", &long[long.len() - LONGEST..]),
        short => short.to_owned(),
    }
}

/// A size with three digits, in the unit that suits.
pub(crate) fn bytes(bytes: Bytes) -> String {
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
