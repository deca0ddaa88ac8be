//! A page as HTML: its texts, its plots as data for the script that draws them, and under each plot
//! a table of its values.

use serde::Serialize;

use crate::{Part, Plot, PlotKind, Series, html::escape, table};

/// What pages look like, in light and in dark.
const STYLE: &str = include_str!("page.css");
/// Draws the plots, with plotly.
const SCRIPT: &str = include_str!("page.js");

/// With it the browser itself refuses whatever a page would load from elsewhere.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                      img-src data: blob:";

/// A page with plots has some 5 MB, nearly all of it plotly's script. It loads nothing from
/// elsewhere.
pub fn draw(title: &str, page: &[Part]) -> String {
    let title = escape(title);
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <title>{title}</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>{STYLE}</style>\n\
         <main>\n<h1>{title}</h1>\n"
    );
    let mut plots = 0;
    for part in page {
        match part {
            Part::Html(text) => html.push_str(text),
            Part::Plot(plot) => {
                let map = (plot.kind == PlotKind::Categories).then(|| Map::of(plot));
                let table = table::of_plot(plot);
                html += &match map {
                    Some(map) => figure(plots, &plot.title, &map, &table),
                    None => figure(plots, &plot.title, part, &table),
                };
                plots += 1;
            }
            Part::Tree(tree) => {
                html += &figure(plots, &tree.title, part, &table::of_tree(tree));
                plots += 1;
            }
        }
    }
    html.push_str("</main>\n");
    if plots > 0 {
        html += &format!("<script>{}</script>\n<script>{SCRIPT}</script>\n", plotly_script());
    }
    html + "</html>\n"
}

/// A plot of categories in fewer bytes: it has a million cells, easily.
#[derive(Serialize)]
struct Map<'a> {
    map: Plot,
    x: Vec<&'a str>,
    rows: Vec<&'a str>,
    cells: Vec<Vec<u32>>,
}

impl<'a> Map<'a> {
    fn of(plot: &'a Plot) -> Self {
        let first = plot.series.first();
        let cells = |row: &Series| row.points.iter().map(|point| point.y as u32).collect();
        Self {
            map: Plot { series: Vec::new(), ..plot.clone() },
            x: first.map_or_else(Vec::new, |row| row.points.iter().map(|p| &*p.x).collect()),
            rows: plot.series.iter().map(|row| &*row.name).collect(),
            cells: plot.series.iter().map(cells).collect(),
        }
    }
}

/// A plot's place, what is drawn there, and the same as a table.
fn figure(number: usize, title: &str, part: &impl Serialize, table: &str) -> String {
    // A page holds numbers and text; what is no number is null, a gap. No text can end the script.
    let data = serde_json::to_string(part).unwrap_or_default().replace('<', "\\u003c");
    let title = escape(title);
    format!(
        "<figure>\n<figcaption>{title}</figcaption>\n<div class=\"plot\" id=\"plot-{number}\" \
         tabindex=\"0\" role=\"img\" \
         aria-label=\"{title}; its values are in the table below\"></div>\n\
         <script type=\"application/json\">{data}</script>\n\
         <details><summary>as a table</summary>\n{table}</details>\n</figure>\n"
    )
}

/// plotly's own script, without that for mathematical formulas, which follows it.
fn plotly_script() -> &'static str {
    static BOTH: std::sync::LazyLock<String> =
        std::sync::LazyLock::new(plotly::Plot::offline_js_sources);
    let (begin, end) = ("<script type=\"text/javascript\">", "</script>");
    let first = BOTH.split_once(begin).and_then(|(_, rest)| rest.split_once(end));
    first.map_or("", |(script, _)| script)
}

#[cfg(test)]
mod tests {
    use crate::{Axis, Node, Point, Tree};

    use super::*;

    fn page() -> Vec<Part> {
        let points =
            vec![Point::new("ws", 47.2), Point::with_range("sb</script>", 29.2, 28.0, 30.0)];
        let (x, series) = (Axis::log("scheduler"), [Series::new("rrm", points)]);
        let tree = Tree {
            title: "machine".to_owned(),
            unit: "misses".to_owned(),
            most: 5.0,
            nodes: vec![Node::new("memory", None, 5.0), Node::new("L3", Some(0), 5.0)],
        };
        vec![
            Part::Html("<p>a</p>".to_owned()),
            Part::Plot(Plot::new("one", PlotKind::Bars, x, "millions", series)),
            Part::Tree(tree),
        ]
    }

    #[test]
    fn a_page_holds_all_it_needs_and_the_values_as_tables() {
        let page = page();
        let json = serde_json::to_string(&page).unwrap();
        assert_eq!(serde_json::from_str::<Vec<Part>>(&json).unwrap(), page);
        let html = draw("a < b", &page);
        assert!(html.starts_with("<!doctype html>") && html.contains("<h1>a &lt; b</h1>"));
        let drawn = 2;
        assert_eq!(html.matches("class=\"plot\"").count(), drawn);
        assert_eq!(html.matches("<details>").count(), drawn);
        assert!(html.contains(">47.2</td>") && html.contains("29.2 (28 to 30)"));
        assert!(!html.contains("sb</script>"), "no text ends the script");
        let own = html.replace(plotly_script(), "");
        assert!(!own.contains("src=\"http") && !own.contains("href=\"http"));
        assert!(plotly_script().len() > 1_000_000 && !plotly_script().contains("</script>"));
    }

    #[test]
    fn a_point_that_is_no_number_is_a_gap() {
        let points = vec![Point::new("a", f64::NAN), Point::with_range("b", 0.5, f64::NAN, 1.0)];
        let series = [Series::new("s", points)];
        let plot = Plot::new("p", PlotKind::Bars, Axis::linear("x"), "%", series);
        let json = serde_json::to_string(&vec![Part::Plot(plot)]).unwrap();
        let read: Vec<Part> = serde_json::from_str(&json).unwrap();
        let html = draw("t", &read);
        let data = r#"[{"x":"a","y":null},{"x":"b","y":0.5}]"#;
        assert!(html.contains(data), "drawn as a gap");
        assert!(html.contains(r#"<td>a</td><td class="n">-</td>"#), "a dash in the table");
    }

    #[test]
    fn a_cell_of_a_map_takes_few_bytes() {
        let rows = (0..50).map(|row| Series::new(row.to_string(), (0..1000).map(|x| (x, 3.0))));
        let plot = Plot::new("map", PlotKind::Categories, Axis::linear("x"), "worker", rows);
        let html = draw("a", &[Part::Plot(plot)]);
        let own = html.len() - plotly_script().len() - SCRIPT.len();
        assert!(own < 50_000 * 9 / 4, "{own}");
    }

    #[test]
    fn text_alone_needs_no_script() {
        assert!(!draw("a", &page()[..1]).contains("<script"));
    }
}
