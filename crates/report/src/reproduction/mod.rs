//! A study that was repeated: as a table, JSON (`befit.reproduce/1`), CSV, or a page with plots.

mod page;
#[cfg(test)]
mod tests;

use std::fmt::Write;

use befit_lab::reproduce::{Figure, Reproduction, Table, Verdict};
use serde::Serialize;

pub(crate) use self::page::head;
pub use self::page::page;
use crate::{Format, ReportError, columns::Columns, csv, json};

/// The document `befit.reproduce/1`; docs/json.md says the same in prose, and what may change
/// without a new number.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ReproductionReport<'a> {
    /// Always `befit.reproduce/1`.
    pub schema: &'static str,
    /// The study's name, as users type it.
    pub study: &'static str,
    /// The simulated machine.
    pub machine: &'a str,
    /// Whether it was the short form.
    pub quick: bool,
    /// Remarks that readers need to judge the figures.
    pub notes: &'a [String],
    /// The paper's claims.
    pub figures: Vec<FigureRow>,
    /// All that was measured.
    pub tables: &'a [Table],
}

/// One claim of the paper beside the measured value.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FigureRow {
    /// Its name for programs.
    pub id: String,
    /// The measured quantity.
    pub what: String,
    /// The value that the paper gives.
    pub reported: String,
    /// The measured value, with unit and, where there are seeds, the spread.
    pub measured: String,
    /// `in range` or `out of range`.
    pub verdict: String,
    /// The reason; never null where it is out of range.
    pub why: Option<String>,
    /// The measured value, in `unit`.
    pub value: f64,
    /// The value's unit: `%`, `x`, …; empty for a bare number.
    pub unit: String,
    /// The smallest value that is in range; null if there is none.
    pub low: Option<f64>,
    /// The largest value that is in range; null if there is none.
    pub high: Option<f64>,
}

impl<'a> From<&'a Reproduction> for ReproductionReport<'a> {
    fn from(r: &'a Reproduction) -> Self {
        Self {
            schema: "befit.reproduce/1",
            study: r.study.name(),
            machine: &r.machine,
            quick: r.quick,
            notes: &r.notes,
            figures: r.figures.iter().map(FigureRow::from).collect(),
            tables: &r.tables,
        }
    }
}

impl From<&Figure> for FigureRow {
    fn from(f: &Figure) -> Self {
        let finite = |end: f64| end.is_finite().then_some(end);
        Self {
            id: f.id().to_owned(),
            what: f.what().to_owned(),
            reported: f.reported().to_owned(),
            measured: f.measured(),
            verdict: f.verdict().to_string(),
            why: f.why().map(str::to_owned),
            value: f.value(),
            unit: f.unit().to_owned(),
            low: finite(f.range().low),
            high: finite(f.range().high),
        }
    }
}

/// Writes it as text that ends in a line feed. CSV has a row for each figure; tables and plots are
/// in the other forms.
///
/// # Errors
/// When a value cannot be expressed in the format; none of `befit-lab` is of that kind.
pub fn render(reproduction: &Reproduction, format: Format) -> Result<String, ReportError> {
    let report = ReproductionReport::from(reproduction);
    match format {
        Format::Table => Ok(text(reproduction)),
        Format::Json => json(&report),
        Format::Csv => csv::render(&report.figures),
    }
}

/// Text to read: figures first, then the tables that they were made of.
fn text(r: &Reproduction) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{} on {}{}", r.study.about(), r.machine, form(r));
    for note in &r.notes {
        let _ = writeln!(text, "- {note}");
    }
    let (in_range, all) = (in_range(r), r.figures.len());
    let _ = writeln!(text, "\n{}\n\n{in_range} of {all} figures in range", figures(&r.figures));
    for figure in &r.figures {
        if let Some(why) = figure.why() {
            let _ = writeln!(text, "- {}: {why}", figure.id());
        }
    }
    for table in &r.tables {
        let _ = writeln!(text, "\n{}\n\n{}", table.title, cells(table));
    }
    text
}

fn form(r: &Reproduction) -> &'static str {
    if r.quick { ", short form" } else { "" }
}

fn in_range(r: &Reproduction) -> usize {
    r.figures.iter().filter(|figure| figure.verdict() == Verdict::InRange).count()
}

fn figures(figures: &[Figure]) -> String {
    let mut columns = Columns::new(figures, "figure", |f| f.id().to_owned());
    columns.name("what", |f| f.what().to_owned());
    columns.add("reported", |f| f.reported().to_owned());
    columns.add("measured", Figure::measured);
    columns.add("verdict", |f| f.verdict().to_string());
    columns.table()
}

fn cells(table: &Table) -> String {
    let title = |at: usize| table.columns.get(at).map_or("", String::as_str);
    let mut columns = Columns::new(&table.rows, title(0), |row| row[0].clone());
    for at in 1..table.columns.len() {
        columns.add(title(at), |row| row[at].clone());
    }
    columns.table()
}
