//! What a study shows beside its figures: tables and plots, as data.

/// A table of all that was measured.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// The columns' names, with units.
    pub columns: Vec<String>,
    /// As many cells a row as there are columns. Columns after the first are numbers, or text, ready to be read.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// With no rows.
    pub fn new(title: impl Into<String>, columns: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { title: title.into(), columns: columns.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If it has not as many cells as there are columns.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        let cells: Vec<_> = cells.into_iter().map(Into::into).collect();
        assert_eq!(cells.len(), self.columns.len(), "a row of '{}' has as many cells as there are columns", self.title);
        self.rows.push(cells);
    }
}

/// How a plot is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlotKind {
    /// Points joined by lines, over a numeric or a categorical x.
    Lines,
    /// Bars side by side, one group per x.
    Bars,
    /// A matrix of colours: each series is a row, each point's x a column.
    HeatMap,
}

/// One axis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Axis {
    /// What it shows, with its unit.
    pub title: String,
    /// Whether equal distances are equal ratios.
    pub log: bool,
}

impl Axis {
    /// A linear axis.
    pub fn linear(title: impl Into<String>) -> Self {
        Self { title: title.into(), log: false }
    }

    /// A logarithmic one.
    pub fn log(title: impl Into<String>) -> Self {
        Self { title: title.into(), log: true }
    }
}

/// One value of a series.
#[derive(Clone, PartialEq, Debug)]
pub struct Point {
    /// Its place: a number in text, or a name.
    pub x: String,
    /// The value (a median, where there are seeds).
    pub y: f64,
    /// The smallest and the largest over the seeds.
    pub range: Option<(f64, f64)>,
}

impl Point {
    /// Without a range.
    pub fn new(x: impl ToString, y: f64) -> Self {
        Self { x: x.to_string(), y, range: None }
    }

    /// With the smallest and the largest over the seeds.
    pub fn with_range(x: impl ToString, y: f64, low: f64, high: f64) -> Self {
        Self { x: x.to_string(), y, range: Some((low, high)) }
    }
}

/// What one scheduler, say, did.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// Its values.
    pub points: Vec<Point>,
}

/// A picture.
#[derive(Clone, PartialEq, Debug)]
pub struct Plot {
    /// What it shows.
    pub title: String,
    /// How it is drawn.
    pub kind: PlotKind,
    /// The axis to the right.
    pub x: Axis,
    /// The axis upward.
    pub y: Axis,
    /// What is drawn.
    pub series: Vec<Series>,
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
