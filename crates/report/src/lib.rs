//! From results to what people look at: a table, JSON or CSV.
//!
//! JSON is a contract: [`json::Report`] and `docs/json.md` describe it, and a version stands in it.
//! CSV has the same fields, one row a result. The table is for reading and may change at any time.
//!
//! ```
//! let results: Vec<befit_lab::Summary> = Vec::new();
//! let text = befit_report::render(&results, befit_report::Format::Json)?;
//! assert_eq!(text, "{\n  \"schema\": \"befit.compare/1\",\n  \"results\": []\n}\n");
//! # Ok::<(), befit_report::ReportError>(())
//! ```
//!
//! Native runs have a contract of their own: [`native_json`], written by [`render_native`]; so do
//! repeated studies: [`reproduction_json`], [`render_reproduction`].

mod csv;
mod footprint;
pub mod json;
mod names;
mod native;
mod recording;
mod reproduction;
mod sizes;
mod table;

pub use footprint::{json as footprint_json, page as footprint_page, render as render_footprint};
pub use names::names;
pub use native::{json as native_json, render as render_native};
pub use recording::recording;
pub use reproduction::{
    json as reproduction_json, page as reproduction_page, render as render_reproduction,
};
pub use sizes::{Report as SizesReport, Task as SizesTask, render as render_sizes};

use befit_lab::Summary;

/// How results are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Format {
    /// For reading: at most 120 columns wide on machines with up to three cache levels, plain text
    /// without colours.
    #[default]
    Table,
    /// The contract `befit.compare/1`.
    Json,
    /// The fields of the JSON, one row a result.
    Csv,
}

/// Why results cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// A result is not valid JSON: a number that is not finite, say.
    #[error("cannot write the results as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A result is not valid CSV.
    #[error("cannot write the results as CSV: {0}")]
    Csv(#[from] ::csv::Error),
}

/// Writes `results`, which end up in the given order, as text that ends in a line feed. The same
/// results give the same bytes.
///
/// # Errors
/// When a result cannot be expressed in the format; no result of `befit-lab` is of that kind.
pub fn render(results: &[Summary], format: Format) -> Result<String, ReportError> {
    match format {
        Format::Table => Ok(table::render(results)),
        Format::Json => {
            let mut text = serde_json::to_string_pretty(&json::Report::from(results))?;
            text.push('\n');
            Ok(text)
        }
        Format::Csv => {
            let mut rows = json::Report::from(results).results;
            // A machine has dozens of caches, each of which would be ten columns.
            rows.iter_mut().for_each(|row| row.caches.clear());
            csv::render(&rows)
        }
    }
}
