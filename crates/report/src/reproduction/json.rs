//! The JSON contract `befit.reproduce/1`. `docs/json.md` says the same in prose.
//!
//! What may change without a new version number: fields are added. A reader must ignore fields that
//! it does not know. What gives a new number: a field goes, or changes its name, type, unit or
//! meaning.

use befit_lab::reproduce;
use serde::{Deserialize, Serialize};

/// The version of the contract, as written in [`Report::schema`].
pub const SCHEMA: &str = "befit.reproduce/1";

/// The whole document.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Report {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The study's name, as users type it.
    pub study: String,
    /// The simulated machine.
    pub machine: String,
    /// Whether it was the short form.
    pub quick: bool,
    /// What readers must know to judge the figures.
    pub notes: Vec<String>,
    /// The paper's claims.
    pub figures: Vec<Figure>,
    /// All that was measured.
    pub tables: Vec<Table>,
}

/// One claim of the paper and what is measured of it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Figure {
    /// Its name for programs.
    pub id: String,
    /// What is measured.
    pub what: String,
    /// What the paper says.
    pub reported: String,
    /// What was measured, with unit and, where there are seeds, the spread.
    pub measured: String,
    /// `in range` or `out of range`.
    pub verdict: String,
    /// Why; never null where it is out of range.
    pub why: Option<String>,
    /// The measured value, in `unit`.
    pub value: f64,
    /// The value's unit: `%`, `x`, …; empty for a bare number.
    pub unit: String,
    /// The smallest value that is in range; null if there is none.
    pub low: Option<f64>,
    /// The largest value that is in range; null if there is none.
    pub high: Option<f64>,
}

/// A table: cells as text.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// The columns' names.
    pub columns: Vec<String>,
    /// As many cells a row as there are columns.
    pub rows: Vec<Vec<String>>,
}

impl From<&reproduce::Reproduction> for Report {
    fn from(r: &reproduce::Reproduction) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            study: r.study.name().to_owned(),
            machine: r.machine.clone(),
            quick: r.quick,
            notes: r.notes.clone(),
            figures: r.figures.iter().map(Figure::from).collect(),
            tables: r.tables.iter().map(Table::from).collect(),
        }
    }
}

impl From<&reproduce::Figure> for Figure {
    fn from(f: &reproduce::Figure) -> Self {
        let finite = |end: f64| end.is_finite().then_some(end);
        Self {
            id: f.id().to_owned(),
            what: f.what().to_owned(),
            reported: f.reported().to_owned(),
            measured: f.measured(),
            verdict: f.verdict().to_string(),
            why: f.why().map(str::to_owned),
            value: f.value(),
            unit: f.unit().to_owned(),
            low: finite(f.range().low),
            high: finite(f.range().high),
        }
    }
}

impl From<&reproduce::Table> for Table {
    fn from(t: &reproduce::Table) -> Self {
        Self { title: t.title.clone(), columns: t.columns.clone(), rows: t.rows.clone() }
    }
}
