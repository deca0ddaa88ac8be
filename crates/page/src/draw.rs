//! A page as HTML, its plots drawn by plotly.

use plotly::{
    Bar, HeatMap, Layout, Scatter,
    common::{ErrorData, ErrorType, Mode},
    layout::{Axis, AxisType},
};

use crate::{Part, PlotKind, Point, Series};

/// The page as HTML that loads nothing from elsewhere: a page with plots has some 7 MB, nearly all
/// of it the script that draws them.
pub fn draw(page: &[Part]) -> String {
    let mut html = String::new();
    let mut plots = 0;
    for part in page {
        match part {
            Part::Html(text) => html.push_str(text),
            Part::Plot(from) => {
                if plots == 0 {
                    html.push_str(&plotly::Plot::offline_js_sources());
                }
                let inline = plot(from).to_inline_html(Some(&format!("plot-{plots}")));
                html.push_str(&format!("<div class=\"plot\">{inline}</div>\n"));
                plots += 1;
            }
        }
    }
    html
}

fn plot(from: &crate::Plot) -> plotly::Plot {
    let mut plot = plotly::Plot::new();
    match from.kind {
        PlotKind::Lines => from.series.iter().for_each(|series| plot.add_trace(lines(series))),
        PlotKind::Bars => from.series.iter().for_each(|series| plot.add_trace(bars(series))),
        PlotKind::HeatMap => plot.add_trace(heat_map(&from.series)),
    }
    plot.set_layout(
        Layout::new().title(from.title.as_str()).x_axis(axis(&from.x)).y_axis(axis(&from.y)),
    );
    plot
}

fn axis(from: &crate::Axis) -> Axis {
    let axis = Axis::new().title(from.title.as_str());
    if from.log { axis.type_(AxisType::Log) } else { axis }
}

fn xs(points: &[Point]) -> Vec<String> {
    points.iter().map(|point| point.x.clone()).collect()
}

fn ys(points: &[Point]) -> Vec<f64> {
    points.iter().map(|point| point.y).collect()
}

/// Bars from the low to the high end, where they are known.
fn errors(points: &[Point]) -> ErrorData {
    let part = |get: fn(f64, (f64, f64)) -> f64| {
        points.iter().map(|p| p.range.map_or(0.0, |r| get(p.y, r))).collect()
    };
    let seen = points.iter().any(|point| point.range.is_some());
    ErrorData::new(ErrorType::Data)
        .visible(seen)
        .symmetric(false)
        .array(part(|y, (_, high)| high - y))
        .array_minus(part(|y, (low, _)| y - low))
}

fn lines(series: &Series) -> Box<Scatter<String, f64>> {
    Scatter::new(xs(&series.points), ys(&series.points))
        .name(&series.name)
        .mode(Mode::LinesMarkers)
        .error_y(errors(&series.points))
}

fn bars(series: &Series) -> Box<Bar<String, f64>> {
    Bar::new(xs(&series.points), ys(&series.points))
        .name(&series.name)
        .error_y(errors(&series.points))
}

fn heat_map(series: &[Series]) -> Box<HeatMap<String, String, Vec<f64>>> {
    let columns = series.first().map_or_else(Vec::new, |row| xs(&row.points));
    let rows = series.iter().map(|row| row.name.clone()).collect();
    HeatMap::new(columns, rows, series.iter().map(|row| ys(&row.points)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bars(title: &str) -> Part {
        let points = vec![Point::new("ws", 47.2), Point::with_range("sb", 29.2, 28.0, 30.0)];
        let (x, series) = (crate::Axis::log("scheduler"), [Series::new("rrm", points)]);
        Part::Plot(crate::Plot::new(title, PlotKind::Bars, x, "millions", series))
    }

    #[test]
    fn a_page_holds_all_it_needs() {
        let page = [
            Part::Html("<h1>a</h1>".to_owned()),
            bars("one"),
            Part::Html("<p>b".to_owned()),
            bars("two"),
        ];
        let json = serde_json::to_string(&page).unwrap();
        assert_eq!(serde_json::from_str::<Vec<Part>>(&json).unwrap(), page);
        let html = draw(&page);
        assert!(
            html.starts_with("<h1>a</h1>") && html.contains("plot-0") && html.contains("plot-1")
        );
        assert_eq!(
            html.matches("Plotly.newPlot(").count()
                - plotly::Plot::offline_js_sources().matches("Plotly.newPlot(").count(),
            2
        );
        assert!(
            !html.contains("<script src") && !html.contains("<link"),
            "nothing is loaded from elsewhere"
        );
    }

    #[test]
    fn text_alone_needs_no_script() {
        assert_eq!(
            draw(&[Part::Html("<p>a".to_owned()), Part::Html("</p>".to_owned())]),
            "<p>a</p>"
        );
    }
}
