//! A study that was repeated: as a table, JSON (`befit.reproduce/1`), CSV, or a page with plots.

pub mod json;
mod page;
mod table;

use befit_lab::reproduce::Reproduction;

pub(crate) use self::page::head;
pub use self::page::page;
use crate::{Format, ReportError, csv};

/// Writes it as text that ends in a line feed. CSV has a row for each figure; tables and plots are
/// in the other forms.
///
/// # Errors
/// When a value cannot be expressed in the format; none of `befit-lab` is of that kind.
pub fn render(reproduction: &Reproduction, format: Format) -> Result<String, ReportError> {
    match format {
        Format::Table => Ok(table::render(reproduction)),
        Format::Json => {
            let mut text = serde_json::to_string_pretty(&json::Report::from(reproduction))?;
            text.push('\n');
            Ok(text)
        }
        Format::Csv => csv::render(&json::Report::from(reproduction).figures),
    }
}

#[cfg(test)]
mod tests;
