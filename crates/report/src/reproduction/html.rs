//! A repeated study as one page that needs nothing else: the script that draws the plots is part of it.

use std::fmt::Write;

use befit_lab::reproduce::{Reproduction, Table, Verdict};
use plotly::Plot;

use super::plot;

pub(crate) const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:75em;margin:2em auto;padding:0 1em}\
table{border-collapse:collapse;margin:1em 0}td,th{padding:.25em .75em;border-bottom:1px solid #ddd;text-align:left;vertical-align:top}\
.out{background:#fff1e5}.plot{height:28em}";

/// Writes the page: figures with verdicts, plots, tables. Some 7 MB, nearly all of it the plotting script.
pub fn render(r: &Reproduction) -> String {
    let mut page = String::new();
    let title = escape(r.study.about());
    // Writing to a String cannot fail.
    let _ = writeln!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>{title}</title>\n<style>{STYLE}</style>"
    );
    if !r.plots.is_empty() {
        page.push_str(&Plot::offline_js_sources());
    }
    let form = if r.quick { ", short form" } else { "" };
    let _ = writeln!(page, "<h1>{title}</h1>\n<p>On {}{form}.</p>\n<ul>", escape(&r.machine));
    for note in &r.notes {
        let _ = writeln!(page, "<li>{}</li>", escape(note));
    }
    page.push_str("</ul>\n");
    figures(&mut page, r);
    for (at, from) in r.plots.iter().enumerate() {
        let inline = plot::plot(from).to_inline_html(Some(&format!("plot-{at}")));
        let _ = writeln!(page, "<div class=\"plot\">{inline}</div>");
    }
    for from in &r.tables {
        table(&mut page, from);
    }
    page.push_str("</html>\n");
    page
}

fn figures(page: &mut String, r: &Reproduction) {
    page.push_str("<h2>Figures</h2>\n<table>\n");
    row(page, "th", "", ["figure", "what", "reported", "measured", "verdict", "why"]);
    for figure in &r.figures {
        let class = if figure.verdict() == Verdict::OutOfRange { "out" } else { "" };
        let (measured, verdict) = (figure.measured(), figure.verdict().to_string());
        let why = figure.why().unwrap_or_default();
        row(page, "td", class, [figure.id(), figure.what(), figure.reported(), &measured, &verdict, why]);
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
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
