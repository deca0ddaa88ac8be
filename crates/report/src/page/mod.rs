//! Pages with plots: what several of them need.

pub(crate) mod comparison;
pub(crate) mod measured;
pub(crate) mod native;
pub(crate) mod sizes;
mod spent;
pub(crate) mod verify;

pub(crate) use befit_page::html::{escape, prose};
use befit_page::{Part, Plot, html};

/// A heading over plots and texts.
pub(crate) fn heading(title: &str) -> Part {
    Part::Html(format!("<h2>{}</h2>\n", escape(title)))
}

/// A sentence or more.
pub(crate) fn paragraph(text: &str) -> Part {
    Part::Html(format!("<p>{}</p>\n", prose(text)))
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
    let columns: Vec<_> = columns.into_iter().map(str::to_owned).collect();
    let rows: Vec<_> = rows.into_iter().collect();
    format!("<h2>{}</h2>\n{}", escape(title), html::table(&columns, &rows))
}
