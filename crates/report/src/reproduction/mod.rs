//! A study that was repeated: as a table, JSON (`befit.reproduce/1`), CSV, or a page with plots.

mod page;
#[cfg(test)]
mod tests;

use std::fmt::Write;

use befit_lab::reproduce::{Figure, Reproduction, Table, Verdict};

pub(crate) use self::page::head;
pub use self::page::page;
use crate::{Format, ReportError, columns::Columns, csv, json};

/// Writes it as text that ends in a line feed. CSV has a row for each figure; tables and plots are
/// in the other forms.
///
/// # Errors
/// When a value cannot be expressed in the format; none of `befit-lab` is of that kind.
pub fn render(reproduction: &Reproduction, format: Format) -> Result<String, ReportError> {
    match format {
        Format::Table => Ok(text(reproduction)),
        Format::Json => json("befit.reproduce/1", reproduction),
        Format::Csv => csv::render(&reproduction.figures),
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
            let _ = writeln!(text, "- {}: {why}", figure.id);
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
    let mut columns = Columns::new(figures, "figure", |f| f.id.clone());
    columns.name("what", |f| f.what.clone());
    columns.add("reported", |f| f.reported.clone());
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
