//! A repeated study as text to read: figures first, then what they were made of.

use std::fmt::Write;

use befit_lab::reproduce::{Figure, Reproduction, Table, Verdict};

use crate::table::Columns;

pub(super) fn render(r: &Reproduction) -> String {
    let mut text = String::new();
    let form = if r.quick { ", short form" } else { "" };
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{} on {}{form}", r.study.about(), r.machine);
    for note in &r.notes {
        let _ = writeln!(text, "- {note}");
    }
    let in_range = r.figures.iter().filter(|f| f.verdict() == Verdict::InRange).count();
    let _ = writeln!(
        text,
        "\n{}\n\n{in_range} of {} figures in range",
        figures(&r.figures),
        r.figures.len()
    );
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
