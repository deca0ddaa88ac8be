//! A plot, as plotly draws it.

use befit_lab::reproduce::{self as lab, PlotKind, Point, Series};
use plotly::{
    Bar, HeatMap, Layout, Plot, Scatter,
    common::{ErrorData, ErrorType, Mode},
    layout::{Axis, AxisType},
};

/// The plot, to be put on a page.
pub(crate) fn plot(from: &lab::Plot) -> Plot {
    let mut plot = Plot::new();
    match from.kind {
        PlotKind::Lines => from.series.iter().for_each(|series| plot.add_trace(lines(series))),
        PlotKind::Bars => from.series.iter().for_each(|series| plot.add_trace(bars(series))),
        PlotKind::HeatMap => plot.add_trace(heat_map(&from.series)),
    }
    plot.set_layout(Layout::new().title(from.title.as_str()).x_axis(axis(&from.x)).y_axis(axis(&from.y)));
    plot
}

fn axis(from: &lab::Axis) -> Axis {
    let axis = Axis::new().title(from.title.as_str());
    if from.log { axis.type_(AxisType::Log) } else { axis }
}

fn xs(points: &[Point]) -> Vec<String> {
    points.iter().map(|point| point.x.clone()).collect()
}

fn ys(points: &[Point]) -> Vec<f64> {
    points.iter().map(|point| point.y).collect()
}

/// Bars from the smallest to the largest value over the seeds, where they are known.
fn errors(points: &[Point]) -> ErrorData {
    let part = |get: fn(f64, (f64, f64)) -> f64| points.iter().map(|p| p.range.map_or(0.0, |r| get(p.y, r))).collect();
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
    Bar::new(xs(&series.points), ys(&series.points)).name(&series.name).error_y(errors(&series.points))
}

fn heat_map(series: &[Series]) -> Box<HeatMap<String, String, Vec<f64>>> {
    let columns = series.first().map_or_else(Vec::new, |row| xs(&row.points));
    let rows = series.iter().map(|row| row.name.clone()).collect();
    HeatMap::new(columns, rows, series.iter().map(|row| ys(&row.points)).collect())
}
