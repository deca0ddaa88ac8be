//! What a study shows beside its figures and plots.

/// A table of all that was measured.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// The columns' names, with units.
    pub columns: Vec<String>,
    /// As many cells a row as there are columns. Columns after the first are numbers, or text,
    /// ready to be read.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// With no rows.
    pub fn new(
        title: impl Into<String>,
        columns: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        Self {
            title: title.into(),
            columns: columns.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If it has not as many cells as there are columns.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        let cells: Vec<_> = cells.into_iter().map(Into::into).collect();
        assert_eq!(
            cells.len(),
            self.columns.len(),
            "a row of '{}' has as many cells as there are columns",
            self.title
        );
        self.rows.push(cells);
    }
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
