//! Native runs: as a table, JSON (`befit.run/2`) or CSV.

mod table;

use befit_counters::Event;
use befit_lab::{NativeResults, NativeSummary};
use serde::Serialize;

use crate::{Format, ReportError, csv, json};

/// The document `befit.run/2`; docs/json.md says the same in prose, and what may change without a
/// new number.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct NativeReport<'a> {
    /// Always [`Self::SCHEMA`].
    pub schema: &'static str,
    /// One per scheduler, in the order in which they were asked for.
    pub results: &'a [NativeSummary],
    /// How each quantity of [`NativeSummary::counts`] was counted.
    pub events: Vec<EventRow>,
    /// A line for each quantity that was not counted, with the reason.
    pub not_counted: &'a [String],
    /// What a reader of the figures should know, a line each.
    pub notes: &'a [String],
}

/// How a quantity was counted.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct EventRow {
    /// The quantity's name.
    pub quantity: String,
    /// The event's name.
    pub event: &'static str,
    /// The level of the caches whose misses are counted, if that is known.
    pub level: Option<String>,
}

impl NativeReport<'_> {
    /// The version of the contract.
    pub const SCHEMA: &'static str = "befit.run/2";
}

impl<'a> From<&'a NativeResults> for NativeReport<'a> {
    fn from(results: &'a NativeResults) -> Self {
        let event = |event: &Event| EventRow {
            quantity: event.quantity.to_string(),
            event: event.name,
            level: event.level.map(|level| level.to_string()),
        };
        Self {
            schema: Self::SCHEMA,
            results: &results.summaries,
            events: results.events.iter().map(event).collect(),
            not_counted: &results.not_counted,
            notes: &results.notes,
        }
    }
}

/// Writes `results` as text that ends in a line feed.
///
/// # Errors
/// When a result cannot be expressed in the format; none of `befit-lab` is of that kind.
pub fn render(results: &NativeResults, format: Format) -> Result<String, ReportError> {
    match format {
        Format::Table => Ok(table::render(results)),
        Format::Json => json(&NativeReport::from(results)),
        Format::Csv => csv::render(&results.summaries),
    }
}
