//! A claim of a paper with what is measured of it here, and tables of all that was measured.

use serde::{Serialize, Serializer, ser::SerializeStruct};

use crate::Spread;

/// The range of a paper's figure: both ends belong to it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Range {
    /// The smallest value that agrees with the paper.
    pub low: f64,
    /// The largest.
    pub high: f64,
}

impl Range {
    /// From `low` to `high`.
    pub fn new(low: f64, high: f64) -> Self {
        Self { low, high }
    }

    /// Up to `high`.
    pub fn at_most(high: f64) -> Self {
        Self { low: f64::NEG_INFINITY, high }
    }

    /// From `low` up.
    pub fn at_least(low: f64) -> Self {
        Self { low, high: f64::INFINITY }
    }

    /// `value`, give or take `share` of it (0.1: 10 %).
    pub fn about(value: f64, share: f64) -> Self {
        let give = (value * share).abs();
        Self { low: value - give, high: value + give }
    }

    /// True if `value` lies in it.
    pub fn contains(self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// Stands for the reason of a figure that is out of range and that no calculation explains.
/// `.ci/reproduced` counts these.
const UNEXPLAINED: &str = "not explained";

/// One claim of a paper beside what is measured here.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    /// Its name for programs (`l3-misses/rrm/sb`), which never changes.
    pub id: String,
    /// The measured quantity, in words.
    pub what: String,
    /// The paper's figure as it stands there.
    pub reported: String,
    /// The values that agree with it.
    pub range: Range,
    /// The measured value.
    pub value: f64,
    /// The unit of the value: `%`, `points` (of percent), `x`; empty for a bare number.
    pub unit: &'static str,
    /// The ends of its range over runs, or of its 95 % interval.
    spread: Option<(f64, f64)>,
    why: Option<String>,
    /// It is a part of something, and no change.
    is_share: bool,
}

impl Figure {
    /// A figure with no spread and no reason; the arguments are its fields.
    pub fn new(
        id: impl Into<String>,
        what: impl Into<String>,
        reported: impl Into<String>,
        range: Range,
        value: f64,
        unit: &'static str,
    ) -> Self {
        let (id, what, reported) = (id.into(), what.into(), reported.into());
        Self { id, what, reported, range, value, unit, spread: None, why: None, is_share: false }
    }

    /// As [`new`](Self::new), with the median over the seeds as its value, and their range.
    pub fn over(
        id: impl Into<String>,
        what: impl Into<String>,
        reported: impl Into<String>,
        range: Range,
        of: Spread<f64>,
        unit: &'static str,
    ) -> Self {
        let figure = Self::new(id, what, reported, range, of.median, unit);
        Self { spread: Some((of.min, of.max)), ..figure }
    }

    /// The same with the ends of its 95 % interval.
    #[must_use]
    pub fn within(self, interval: Option<(f64, f64)>) -> Self {
        Self { spread: interval, ..self }
    }

    /// The same as a share, in percent: shown without the sign that a change has.
    #[must_use]
    pub fn share(self) -> Self {
        Self { is_share: true, ..self }
    }

    /// Gives the reason for its value, calculated from the run that made it: needed where it is out
    /// of range, welcome elsewhere.
    #[must_use]
    pub fn because(self, why: impl Into<String>) -> Self {
        Self { why: Some(why.into()), ..self }
    }

    /// As [`because`](Self::because) with the reason that `why` finds, if it is out of range and no
    /// reason is known yet.
    #[must_use]
    pub fn if_out(self, why: impl FnOnce() -> Option<String>) -> Self {
        let is_open = !self.in_range() && self.why.is_none();
        match is_open.then(why).flatten() {
            Some(why) => self.because(why),
            None => self,
        }
    }

    /// The measured value as people read it, with its 95 % interval or its range over runs.
    pub fn measured(&self) -> String {
        let shown = |value: f64| {
            // Three digits are more than the spread allows for; signs matter for changes only.
            let digits = usize::from(value.abs() < 100.0) + usize::from(value.abs() < 10.0);
            match self.unit {
                "%" if self.is_share => format!("{value:.*}", digits.min(1)),
                "%" => format!("{value:+.*}", digits.min(1)),
                _ => format!("{value:.digits$}"),
            }
        };
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        match self.spread {
            Some((low, high)) => {
                format!("{}{unit} ({} to {})", shown(self.value), shown(low), shown(high))
            }
            None => format!("{}{unit}", shown(self.value)),
        }
    }

    /// True if the value agrees with the paper.
    pub fn in_range(&self) -> bool {
        self.range.contains(self.value)
    }

    /// The same in words.
    pub fn verdict(&self) -> &'static str {
        if self.in_range() { "in range" } else { "out of range" }
    }

    /// The reason for its value, or that it is not explained. A figure that is out of range always
    /// has one of them.
    pub fn why(&self) -> Option<&str> {
        self.why.as_deref().or((!self.in_range()).then_some(UNEXPLAINED))
    }
}

/// As `befit.reproduce/1` has it (docs/json.md): an end of the range that is infinite is null.
impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = to.serialize_struct("Figure", 10)?;
        fields.serialize_field("id", &self.id)?;
        fields.serialize_field("what", &self.what)?;
        fields.serialize_field("reported", &self.reported)?;
        fields.serialize_field("measured", &self.measured())?;
        fields.serialize_field("verdict", self.verdict())?;
        fields.serialize_field("why", &self.why())?;
        fields.serialize_field("value", &self.value)?;
        fields.serialize_field("unit", self.unit)?;
        fields.serialize_field("low", &self.range.low)?;
        fields.serialize_field("high", &self.range.high)?;
        fields.end()
    }
}

/// A table of measured values.
#[derive(Clone, PartialEq, Debug, Serialize)]
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

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(value: f64) -> Figure {
        let range = Range::new(-65.0, -25.0);
        Figure::new("l3/rrm", "L3 misses of rrm", "-42 to -44 %", range, value, "%")
    }

    #[test]
    fn the_verdict_follows_from_range_and_value_and_both_ends_are_in() {
        for value in [-65.0, -38.7, -25.0] {
            assert_eq!(figure(value).verdict(), "in range", "{value}");
        }
        for value in [-65.1, 0.0, f64::NAN] {
            assert_eq!(figure(value).verdict(), "out of range", "{value}");
        }
    }

    #[test]
    fn a_figure_that_is_out_of_range_always_says_why() {
        assert_eq!(figure(-30.0).why(), None);
        let found = || Some("it fits".to_owned());
        assert_eq!(figure(-30.0).if_out(found).why(), None);
        assert_eq!(figure(3.0).if_out(found).why(), Some("it fits"));
        assert_eq!(figure(3.0).if_out(found).if_out(|| None).why(), Some("it fits"));
        assert_eq!(figure(3.0).if_out(|| None).why(), Some(UNEXPLAINED));
    }

    #[test]
    fn changes_are_shown_with_their_sign_and_ratios_without() {
        let spread = Spread { min: -12.34, median: 3.04, max: 120.4 };
        let figure = Figure::over("a", "a", "5", Range::about(5.0, 0.1), spread, "%");
        assert_eq!(figure.measured(), "+3.0 % (-12.3 to +120)");
        assert_eq!(
            Figure::new("a", "a", "5", Range::about(5.0, 0.1), 4.984, "x").measured(),
            "4.98 x"
        );
    }

    #[test]
    fn a_share_has_its_unit_and_no_sign() {
        let share = |value| {
            let figure = Figure::new("a", "a", "90 %", Range::at_least(90.0), value, "%");
            figure.share().measured()
        };
        assert_eq!([97.53, 100.0].map(share), ["97.5 %", "100 %"]);
    }

    #[test]
    #[should_panic(expected = "as many cells")]
    fn a_row_that_does_not_fit_its_table_is_noticed_where_it_is_made() {
        Table::new("misses", ["program", "ws"]).row(["rrm"]);
    }
}
