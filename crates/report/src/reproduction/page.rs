//! A repeated study as one page.

use std::fmt::Write;

use befit_lab::reproduce::{Reproduction, Table, Verdict};
use befit_page::{Page, Part};

use super::{form, in_range};

const STYLE: &str = "\
    body{font:15px/1.5 system-ui,sans-serif;max-width:75em;margin:2em auto;padding:0 1em}\
    table{border-collapse:collapse;margin:1em 0}\
    td,th{padding:.25em .75em;border-bottom:1px solid #ddd;text-align:left;vertical-align:top}\
    h1::first-letter{text-transform:uppercase}.out{background:#fff1e5}.plot{height:28em}";

/// The page: the study, its plots, its figures with verdicts, its tables.
pub fn page(r: &Reproduction) -> Page {
    let mut page = head(r.study.about());
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
    let mut tables = String::new();
    figures(&mut tables, r);
    for from in &r.tables {
        table(&mut tables, from);
    }
    tables.push_str("</html>\n");
    let plots = r.plots.iter().cloned().map(Part::Plot);
    [Part::Html(page)].into_iter().chain(plots).chain([Part::Html(tables)]).collect()
}

/// The beginning of a page, up to its first paragraph.
pub(crate) fn head(title: &str) -> String {
    let title = escape(title);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>{title}</title>\n\
         <style>{STYLE}</style>\n<h1>{title}</h1>\n"
    )
}

fn figures(page: &mut String, r: &Reproduction) {
    page.push_str("<h2>Figures</h2>\n<table>\n");
    row(page, "th", "", ["figure", "what", "reported", "measured", "verdict", "why"]);
    for figure in &r.figures {
        let class = if figure.verdict() == Verdict::OutOfRange { "out" } else { "" };
        let (measured, verdict) = (figure.measured(), figure.verdict().to_string());
        let why = figure.why().unwrap_or_default();
        row(
            page,
            "td",
            class,
            [&figure.id, &figure.what, &figure.reported, &measured, &verdict, why],
        );
    }
    page.push_str("</table>\n");
}

fn table(page: &mut String, from: &Table) {
    let _ = writeln!(page, "<h2>{}</h2>\n<table>", escape(&from.title));
    row(page, "th", "", from.columns.iter().map(String::as_str));
    for cells in &from.rows {
        row(page, "td", "", cells.iter().map(String::as_str));
    }
    page.push_str("</table>\n");
}

fn row<'a>(page: &mut String, tag: &str, class: &str, cells: impl IntoIterator<Item = &'a str>) {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    let _ = write!(page, "<tr{class}>");
    for cell in cells {
        let _ = write!(page, "<{tag}>{}</{tag}>", escape(cell));
    }
    page.push_str("</tr>\n");
}

/// Text that is shown as it is.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
