//! Turns results into a table, JSON or CSV.
//!
//! JSON is a contract, which `docs/json.md` describes; a version stands in each document. Fields
//! may be added without a new version, so a reader must ignore fields that it does not know. A
//! field that goes, or changes its name, type, unit or meaning, gives a new version. CSV has the
//! same fields, one row a result. The table is for reading and may change at any time.
//!
//! ```
//! let results: Vec<befit_lab::Summary> = Vec::new();
//! let text = befit_report::render(&results, &[], befit_report::Format::Json)?;
//! assert_eq!(text, "{\n  \"schema\": \"befit.compare/2\",\n  \"results\": [],\n  \"conclusions\": []\n}\n");
//! # Ok::<(), befit_report::ReportError>(())
//! ```

mod columns;
mod comparison;
mod conclusion;
mod csv;
mod footprint;
mod kept;
mod learned;
mod lines;
mod matrix;
mod measured;
mod misses;
mod native;
mod page;
mod reproduction;
mod sizes;
mod trace;
mod verify;
mod width;

pub use comparison::render;
pub use footprint::{page as footprint_page, render as render_footprint};
pub use kept::{cleared, kept};
pub use learned::render as render_learned;
pub use lines::{findings, names, recording};
pub use matrix::{page as matrix_page, render as render_matrix};
pub use measured::{Measured, MeasuredError, render as render_measured};
pub use misses::{callgrind, render as render_misses};
pub use native::render as render_native;
pub use page::{
    comparison::page as comparison_page,
    measured::page as measured_page,
    native::page as native_page,
    sizes::{learned_page, page as sizes_page},
    verify::page as verify_page,
};
pub use reproduction::{page as reproduction_page, render as render_reproduction};
pub use sizes::render as render_sizes;
pub use trace::{native_trace, trace};
pub use verify::render as render_verified;
pub use width::Width;

use serde::Serialize;

/// How results are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// For reading, plain text without colours. With all columns it is at most 120 wide on machines
    /// with up to three cache levels.
    Table(Width),
    /// The contract: `befit.compare/2` and its like.
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

/// A document of the contract: its version, then the fields of what it holds.
#[derive(Serialize)]
struct Document<'a, T> {
    schema: &'static str,
    #[serde(flatten)]
    content: &'a T,
}

/// A document as JSON that ends in a line feed.
fn json(schema: &'static str, content: &impl Serialize) -> Result<String, ReportError> {
    Ok(serde_json::to_string_pretty(&Document { schema, content })? + "\n")
}
