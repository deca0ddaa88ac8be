//! Short ways to make plots.

use super::super::{Axis, Plot, PlotKind, Point, Series};

/// Lines or bars.
pub(super) fn plot(title: &str, kind: PlotKind, x: Axis, y: &str, series: Vec<Series>) -> Plot {
    Plot { title: title.to_owned(), kind, x, y: Axis::linear(y), series }
}

/// A series of `(x, y)`.
pub(super) fn series<X: ToString>(
    name: impl Into<String>,
    points: impl IntoIterator<Item = (X, f64)>,
) -> Series {
    Series {
        name: name.into(),
        points: points.into_iter().map(|(x, y)| Point::new(x, y)).collect(),
    }
}
