//! The values of a plot as a table, for those who would rather read them.

use std::collections::HashSet;

use crate::{Axis, Plot, PlotKind, Point, Tree, html};

/// Rows beyond these are left out, and that is said.
const MOST: usize = 500;

/// The values of `plot`: of lines and bars a row for each x and a column for each series, of maps
/// a row for each series, of categories the share of each.
pub(crate) fn of_plot(plot: &Plot) -> String {
    match plot.kind {
        PlotKind::Categories => categories(plot),
        PlotKind::HeatMap | PlotKind::Ratios => {
            let columns = plot.series.first().map_or(&[][..], |row| &row.points);
            let head = std::iter::once(plot.y.title.clone());
            let head = head.chain(columns.iter().map(|point| point.x.clone()));
            let rows = plot.series.iter().map(|row| {
                let cells = row.points.iter().map(value);
                std::iter::once(row.name.clone()).chain(cells).collect()
            });
            table(head.collect(), rows.collect())
        }
        PlotKind::Points => points(plot),
        _ => {
            let points = plot.series.iter().flat_map(|series| &series.points);
            let mut seen = HashSet::new();
            let xs = points.map(|point| &*point.x).filter(|x| seen.insert(*x));
            let xs: Vec<&str> = xs.collect();
            let head = std::iter::once(plot.x.title.clone());
            let head = head.chain(plot.series.iter().map(|series| series.name.clone()));
            let rows = xs.iter().take(MOST).map(|x| {
                let cells = plot.series.iter().map(|series| {
                    let found = series.points.iter().find(|point| point.x == *x);
                    found.map_or_else(String::new, value)
                });
                std::iter::once((*x).to_owned()).chain(cells).collect()
            });
            cut(head.collect(), rows.collect(), xs.len())
        }
    }
}

/// A row for each point.
fn points(plot: &Plot) -> String {
    let shown = |axis: &Axis, value: f64| if axis.bytes { bytes(value) } else { number(value) };
    let head = vec![String::new(), plot.x.title.clone(), plot.y.title.clone()];
    let rows = plot.series.iter().flat_map(|series| {
        series.points.iter().map(move |point| {
            let x = point.x.parse().map_or_else(|_| point.x.clone(), |x| shown(&plot.x, x));
            let y = shown(&plot.y, point.y);
            let y = point.range.map_or(y.clone(), |(low, high)| {
                format!("{y} ({} to {})", shown(&plot.y, low), shown(&plot.y, high))
            });
            vec![series.name.clone(), x, y]
        })
    });
    table(head, rows.collect())
}

/// A number of bytes in the unit that suits.
fn bytes(value: f64) -> String {
    if !value.is_finite() {
        return number(value);
    }
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = (value.max(1.0).log2() / 10.0).floor().clamp(0.0, 4.0);
    format!("{} {}", number(value / 1024_f64.powf(unit)), units[unit as usize])
}

/// How much of each row is of which category.
fn categories(plot: &Plot) -> String {
    let head = std::iter::once(plot.y.title.clone()).chain(plot.categories.iter().cloned());
    let rows = plot.series.iter().map(|row| {
        let all = row.points.len().max(1) as f64;
        let shares = (0..plot.categories.len()).map(|category| {
            let of = row.points.iter().filter(|point| point.y == category as f64).count() as f64;
            format!("{:.1} %", 100.0 * of / all)
        });
        std::iter::once(row.name.clone()).chain(shares).collect()
    });
    table(head.collect(), rows.collect())
}

/// Each node with the one above it.
pub(crate) fn of_tree(tree: &Tree) -> String {
    let rows = tree.nodes.iter().map(|node| {
        let above = node.parent.and_then(|at| tree.nodes.get(at));
        let above = above.map_or_else(String::new, |above| above.name.clone());
        vec![node.name.clone(), above, number(node.value)]
    });
    table(vec!["part".to_owned(), "in".to_owned(), tree.unit.clone()], rows.collect())
}

fn value(point: &Point) -> String {
    let shown = number(point.y);
    point.range.map_or(shown.clone(), |(low, high)| {
        format!("{shown} ({} to {})", number(low), number(high))
    })
}

/// Four digits, or all of a whole number; a dash for what is none.
fn number(value: f64) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    if value.fract() == 0.0 {
        return format!("{value}");
    }
    let digits = (3 - value.abs().max(1e-3).log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{value:.digits$}");
    if digits == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}

fn table(head: Vec<String>, rows: Vec<Vec<String>>) -> String {
    let all = rows.len();
    cut(head, rows, all)
}

/// A table of the first [`MOST`] of `rows`, which says that there are `all`.
fn cut(head: Vec<String>, rows: Vec<Vec<String>>, all: usize) -> String {
    let shown: Vec<_> = rows.into_iter().take(MOST).map(|row| ("", row)).collect();
    let text = html::table(&head, &shown);
    if all > MOST { text + &format!("<p>The first {MOST} of {all} rows.</p>\n") } else { text }
}

#[cfg(test)]
mod tests {
    use crate::Series;

    use super::*;

    fn plot(kind: PlotKind, series: Vec<Series>) -> Plot {
        let categories = vec!["idle".to_owned(), "L3 0".to_owned()];
        Plot { categories, ..Plot::new("t", kind, Axis::linear("x"), "worker", series) }
    }

    #[test]
    fn lines_have_a_row_for_each_x_and_a_column_for_each_series() {
        let series = vec![Series::new("a", [(1, 0.5), (2, 2.0)]), Series::new("b", [(2, 1234.5)])];
        let text = of_plot(&plot(PlotKind::Lines, series));
        assert!(text.contains("<th>x</th><th class=\"n\">a</th><th class=\"n\">b</th>"), "{text}");
        assert!(text.contains("<td>1</td><td class=\"n\">0.5</td><td class=\"n\"></td>"), "{text}");
        assert!(
            text.contains("<td>2</td><td class=\"n\">2</td><td class=\"n\">1234</td>"),
            "{text}"
        );
    }

    #[test]
    fn points_of_bytes_have_their_units() {
        let point = Point::with_range(65536, 1536.0, 64.0, 3145728.0);
        let both = Plot { y: Axis::bytes("measured"), ..plot(PlotKind::Points, Vec::new()) };
        let series = vec![Series::new("a.rs:3", [point])];
        let text = of_plot(&Plot { x: Axis::bytes("declared"), series, ..both });
        assert!(
            text.contains("<th></th><th class=\"n\">declared</th><th class=\"n\">measured</th>"),
            "{text}"
        );
        for cell in ["<td>a.rs:3<", ">64 KiB<", ">1.5 KiB (64 B to 3 MiB)<"] {
            assert!(text.contains(cell), "{text}");
        }
    }

    #[test]
    fn categories_are_shares_of_their_row() {
        let series = vec![Series::new("0", [(0, 0.0), (1, 1.0), (2, 1.0), (3, 1.0)])];
        let text = of_plot(&plot(PlotKind::Categories, series));
        assert!(
            text.contains("<td>0</td><td class=\"n\">25.0 %</td><td class=\"n\">75.0 %</td>"),
            "{text}"
        );
    }

    #[test]
    fn a_long_table_is_cut_and_says_so() {
        let series = vec![Series::new("a", (0..2000).map(|x| (x, 1.0)))];
        assert!(of_plot(&plot(PlotKind::Lines, series)).contains("The first 500 of 2000 rows."));
    }
}
