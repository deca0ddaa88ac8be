//! Native runs: as a table, JSON (`befit.run/1`) or CSV.

pub mod json;
mod table;
mod tiers;

use befit_lab::NativeResults;

use crate::{Format, ReportError, csv};

/// Writes `results` as text that ends in a line feed.
///
/// # Errors
/// When a result cannot be expressed in the format; none of `befit-lab` is of that kind.
pub fn render(results: &NativeResults, format: Format) -> Result<String, ReportError> {
    let report = || json::Report::from(results);
    match format {
        Format::Table => Ok(table::render(results)),
        Format::Json => {
            let mut text = serde_json::to_string_pretty(&report())?;
            text.push('\n');
            Ok(text)
        }
        Format::Csv => csv::render(&report().results),
    }
}
