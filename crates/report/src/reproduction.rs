//! A study that was repeated: as a table, JSON (`befit.reproduce/1`), CSV, or a page with plots.

use std::fmt::Write;

use befit_lab::reproduce::{Figure, Reproduction, Table};
use befit_page::{Page, Part};

use crate::{
    Format, ReportError, Width,
    columns::Columns,
    csv, json,
    page::{escape, table},
};

/// Writes it as text that ends in a line feed. CSV has a row for each figure; tables and plots are
/// in the other forms.
///
/// # Errors
/// When a value cannot be expressed in the format; none of `befit-lab` is of that kind.
pub fn render(reproduction: &Reproduction, format: Format) -> Result<String, ReportError> {
    match format {
        Format::Table(width) => Ok(width.wrap(&text(reproduction, width))),
        Format::Json => json("befit.reproduce/1", reproduction),
        Format::Csv => csv::render(&reproduction.figures),
    }
}

/// Text to read: figures first, then the tables that they were made of.
fn text(r: &Reproduction, width: Width) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{} on {}{}", r.study.about(), r.machine, form(r));
    for note in &r.notes {
        let _ = writeln!(text, "- {note}");
    }
    let (in_range, all) = (in_range(r), r.figures.len());
    let _ =
        writeln!(text, "\n{}\n\n{in_range} of {all} figures in range", figures(&r.figures, width));
    for figure in &r.figures {
        if let Some(why) = figure.why() {
            let _ = writeln!(text, "- {}: {why}", figure.id);
        }
    }
    for table in &r.tables {
        let _ = writeln!(text, "\n{}\n\n{}", table.title, cells(table, width));
    }
    text
}

fn form(r: &Reproduction) -> &'static str {
    if r.quick { ", short form" } else { "" }
}

fn in_range(r: &Reproduction) -> usize {
    r.figures.iter().filter(|figure| figure.in_range()).count()
}

fn figures(figures: &[Figure], width: Width) -> String {
    let mut columns = Columns::new(figures, "figure", |f| f.id.clone());
    columns.name("what", |f| f.what.clone());
    columns.add("reported", |f| f.reported.clone());
    columns.add("measured", Figure::measured);
    columns.add("verdict", |f| f.verdict().to_owned());
    columns.table(width)
}

fn cells(table: &Table, width: Width) -> String {
    let title = |at: usize| table.columns.get(at).map_or("", String::as_str);
    let mut columns = Columns::new(&table.rows, title(0), |row| row[0].clone());
    for at in 1..table.columns.len() {
        columns.add(title(at), |row| row[at].clone());
    }
    columns.table(width)
}

/// The page: the study, its plots, its figures with verdicts, its tables.
pub fn page(r: &Reproduction) -> Page {
    let mut page = String::new();
    let (machine, form, in_range, all) =
        (escape(&r.machine), form(r), in_range(r), r.figures.len());
    // Writing to a String cannot fail.
    let _ = writeln!(
        page,
        "<p>On {machine}{form}. {in_range} of {all} figures in the reported range.</p>\n<ul>"
    );
    for note in &r.notes {
        let _ = writeln!(page, "<li>{}</li>", escape(note));
    }
    page.push_str("</ul>\n");
    let columns = ["figure", "what", "reported", "measured", "verdict", "why"];
    let figures = r.figures.iter().map(|f| {
        let class = if f.in_range() { "" } else { "out" };
        let why = f.why().unwrap_or_default().to_owned();
        let [id, what, reported] = [&f.id, &f.what, &f.reported].map(String::clone);
        (class, vec![id, what, reported, f.measured(), f.verdict().to_owned(), why])
    });
    let mut tables = table("Figures", columns, figures);
    for from in &r.tables {
        let rows = from.rows.iter().map(|row| ("", row.clone()));
        tables += &table(&from.title, from.columns.iter().map(String::as_str), rows);
    }
    let plots = r.plots.iter().cloned().map(Part::Plot);
    let parts = [Part::Html(page)].into_iter().chain(plots).chain([Part::Html(tables)]);
    Page { title: r.study.about().to_owned(), parts: parts.collect() }
}

#[cfg(test)]
mod tests {
    use befit_lab::reproduce::{Range, Study};
    use befit_page::{Axis, Plot, PlotKind, Point, Series};

    use super::*;

    fn reproduction() -> Reproduction {
        let figure = |id: &str, value| {
            Figure::new(id, "L3 misses <sb>", "-42 %", Range::new(-65.0, -25.0), value, "%")
        };
        let mut table = Table::new("misses", ["scheduler", "millions"]);
        table.row(["ws", "47.2"]);
        let (x, points) = (
            Axis::linear("scheduler"),
            [Point::new("ws", 47.2), Point::with_range("sb", 29.2, 28.0, 30.0)],
        );
        let series = [Series::new("rrm", points)];
        Reproduction {
            study: Study::SpaceBounded,
            machine: "xeon-7560".to_owned(),
            quick: true,
            notes: vec!["three seeds".to_owned()],
            figures: vec![figure("near", -38.0), figure("far", 3.0).because("it fits")],
            tables: vec![table],
            plots: vec![Plot::new("misses", PlotKind::Bars, x, "millions", series)],
        }
    }

    #[test]
    fn the_json_is_what_the_contract_says() {
        let text = render(&reproduction(), Format::Json).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["schema"], "befit.reproduce/1");
        let [near, far] = [&value["figures"][0], &value["figures"][1]];
        assert_eq!(
            (&near["verdict"], &near["why"]),
            (&"in range".into(), &serde_json::Value::Null)
        );
        assert_eq!((&far["verdict"], &far["why"]), (&"out of range".into(), &"it fits".into()));
        assert_eq!((&near["reported"], &near["measured"]), (&"-42 %".into(), &"-38.0 %".into()));
        let mut expected = serde_json::to_value(reproduction()).unwrap();
        expected["schema"] = value["schema"].clone();
        assert_eq!(value, expected);
    }

    #[test]
    fn the_table_shows_each_figure_and_why_it_is_out_of_range() {
        let text = render(&reproduction(), Format::Table(Width::ANY)).unwrap();
        assert!(text.contains("1 of 2 figures in range"), "{text}");
        assert!(text.contains("- far: it fits"), "{text}");
        assert!(text.contains("47.2"), "{text}");
    }

    #[test]
    fn csv_has_a_row_for_each_figure() {
        let text = render(&reproduction(), Format::Csv).unwrap();
        assert_eq!(text.lines().count(), 3);
        assert!(text.starts_with("id,what,reported,measured,verdict,why"), "{text}");
    }

    #[test]
    fn the_page_has_plots_then_figures_then_tables_and_shows_text_as_it_is() {
        let parts = page(&reproduction()).parts;
        let [Part::Html(head), Part::Plot(plot), Part::Html(tables)] = &parts[..] else {
            panic!("{parts:?}")
        };
        assert_eq!(*plot, reproduction().plots[0]);
        assert!(head.contains("1 of 2 figures"), "{head}");
        assert!(
            tables.contains("L3 misses &lt;sb&gt;") && tables.contains("class=\"out\""),
            "{tables}"
        );
        assert!(tables.contains("47.2"), "{tables}");
    }
}
