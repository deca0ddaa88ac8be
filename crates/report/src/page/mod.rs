//! Pages with plots: what several of them need.

pub(crate) mod comparison;
pub(crate) mod native;
pub(crate) mod sizes;
pub(crate) mod verify;

use std::fmt::Write;

use befit_page::{Part, Plot};

/// A heading over plots and texts.
pub(crate) fn heading(title: &str) -> Part {
    Part::Html(format!("<h2>{}</h2>\n", escape(title)))
}

/// A sentence or more.
pub(crate) fn paragraph(text: &str) -> Part {
    Part::Html(format!("<p>{}</p>\n", escape(text)))
}

/// Two plots, side by side where there is room.
pub(crate) fn pair(plots: [Plot; 2]) -> [Part; 4] {
    let [one, two] = plots.map(Part::Plot);
    let html = |text: &str| Part::Html(text.to_owned());
    [html("<div class=\"pair\">\n"), one, two, html("</div>\n")]
}

/// A table of rows, each with the class that it is shown in.
pub(crate) fn table<'a>(
    title: &str,
    columns: impl IntoIterator<Item = &'a str>,
    rows: impl IntoIterator<Item = (&'a str, Vec<String>)>,
) -> String {
    let cells = |tag: &str, cells: Vec<String>| -> String {
        cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escape(cell))).collect()
    };
    let columns = columns.into_iter().map(str::to_owned).collect();
    let mut table = format!("<h2>{}</h2>\n<div class=\"wide\"><table>\n", escape(title));
    let _ = writeln!(table, "<tr>{}</tr>", cells("th", columns));
    for (class, row) in rows {
        let _ = writeln!(table, "<tr{class}>{}</tr>", cells("td", row));
    }
    table + "</table></div>\n"
}

/// Text that is shown as it is.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
