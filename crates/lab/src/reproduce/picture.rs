//! Tables and plots of a study, beside its figures.

use befit_page::{Axis, Plot, PlotKind, Point, Series};

/// A table of measured values.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct Table {
    /// Its title.
    pub title: String,
    /// The columns' names, with units.
    pub columns: Vec<String>,
    /// The rows, each with as many cells as there are columns. Cells after the first are numbers or
    /// text, ready to be read.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with no rows.
    pub fn new(
        title: impl Into<String>,
        columns: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let columns = columns.into_iter().map(Into::into).collect();
        Self { title: title.into(), columns, rows: Vec::new() }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If the row has not as many cells as there are columns.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        let cells: Vec<_> = cells.into_iter().map(Into::into).collect();
        let (cells_here, columns, title) = (cells.len(), self.columns.len(), &self.title);
        assert_eq!(cells_here, columns, "a row of '{title}' has as many cells as columns");
        self.rows.push(cells);
    }
}

/// A plot of `series` over `x`; `y` has a linear scale.
pub(super) fn plot(
    title: impl Into<String>,
    kind: PlotKind,
    x: Axis,
    y: &str,
    series: impl IntoIterator<Item = Series>,
) -> Plot {
    let series = series.into_iter().collect();
    Plot { title: title.into(), kind, x, y: Axis::linear(y), series }
}

/// A series of `(x, y)`.
pub(super) fn series<X: ToString>(
    name: impl Into<String>,
    points: impl IntoIterator<Item = (X, f64)>,
) -> Series {
    let points = points.into_iter().map(|(x, y)| Point::new(x, y)).collect();
    Series { name: name.into(), points }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "as many cells")]
    fn a_row_that_does_not_fit_its_table_is_noticed_where_it_is_made() {
        Table::new("misses", ["program", "ws"]).row(["rrm"]);
    }
}
