//! Declared sizes beside measured ones, as a table, JSON or CSV.

mod json;
mod table;

pub use json::{Report, Task};

use befit_lab::Sizes;

use crate::{Format, ReportError, csv};

/// Writes `sizes` as text that ends in a line feed. The table is for reading; JSON is the contract
/// `befit.sizes/1`; CSV has the tasks of the JSON, a row each.
///
/// # Errors
/// As [`crate::render`].
pub fn render(sizes: &Sizes, format: Format) -> Result<String, ReportError> {
    match format {
        Format::Table => Ok(table::render(sizes)),
        Format::Json => {
            let mut text = serde_json::to_string_pretty(&Report::from(sizes))?;
            text.push('\n');
            Ok(text)
        }
        Format::Csv => csv::render(&Report::from(sizes).worst),
    }
}
