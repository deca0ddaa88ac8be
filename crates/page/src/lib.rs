//! A page with plots, as data, and the program `befit-page`, which draws it.
//!
//! A [`Page`] has a title, and HTML with plots between. `befit-page` reads one as JSON and writes
//! HTML that needs nothing else: it includes the script that draws the plots and lets the reader
//! look closer. Under each plot its values stand as a table. `befit-page` is a program of its own,
//! which is built when it is first needed, because the plotting crate takes long to build.
//!
//! ```text
//! echo '{"title": "misses", "parts": []}' | cargo run --release -p befit-page > misses.html
//! ```

#[cfg(feature = "draw")]
mod draw;
pub mod html;
#[cfg(feature = "draw")]
mod table;

#[cfg(feature = "draw")]
pub use draw::draw;

use serde::{Deserialize, Deserializer, Serialize};

/// A page.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Page {
    /// What it is about, in a few words.
    pub title: String,
    /// What stands below the title.
    pub parts: Vec<Part>,
}

/// A part of a page.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// Text with its tags, as it is.
    Html(String),
    /// A picture.
    Plot(Plot),
    /// A picture of parts within parts.
    Tree(Tree),
}

/// How a plot is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlotKind {
    /// Points joined by lines, over a numeric or a categorical x.
    Lines,
    /// Lines that go on level until the next point.
    Steps,
    /// Points over two axes of one unit, beside the line on which both are equal.
    Points,
    /// Bars side by side, one group per x.
    Bars,
    /// Bars on top of one another, one stack per x.
    Stacked,
    /// A matrix of colours: each series is a row, each point's x a column.
    HeatMap,
    /// The same of ratios, with two colours for those below and above 1, and written in.
    Ratios,
    /// The same with a colour for each of [`Plot::categories`]; a point's y is the number of one.
    Categories,
}

/// One axis.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Axis {
    /// The quantity and its unit.
    pub title: String,
    /// Whether equal distances are equal ratios.
    pub log: bool,
    /// Whether the values are numbers of bytes.
    #[serde(default)]
    pub bytes: bool,
}

impl Axis {
    /// A linear axis.
    pub fn linear(title: impl Into<String>) -> Self {
        Self { title: title.into(), log: false, bytes: false }
    }

    /// A logarithmic axis.
    pub fn log(title: impl Into<String>) -> Self {
        Self { title: title.into(), log: true, bytes: false }
    }

    /// A logarithmic axis of bytes, whose values are shown in the unit that suits.
    pub fn bytes(title: impl Into<String>) -> Self {
        Self { title: title.into(), log: true, bytes: true }
    }
}

/// One value of a series.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Point {
    /// Its place on the x axis: a number in text, or a name.
    pub x: String,
    /// The value. What is no finite number is `null` in JSON, and a gap in the plot.
    #[serde(deserialize_with = "or_gap")]
    pub y: f64,
    /// The ends of its bar: the smallest and the largest of several runs, or a 95 % interval.
    #[serde(default, deserialize_with = "or_none", skip_serializing_if = "Option::is_none")]
    pub range: Option<(f64, f64)>,
}

fn or_gap<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
}

fn or_none<'de, D: Deserializer<'de>>(from: D) -> Result<Option<(f64, f64)>, D::Error> {
    let ends: Option<(Option<f64>, Option<f64>)> = Option::deserialize(from)?;
    Ok(ends.and_then(|(low, high)| low.zip(high)))
}

impl Point {
    /// A point without a range.
    pub fn new(x: impl ToString, y: f64) -> Self {
        Self { x: x.to_string(), y, range: None }
    }

    /// A point with a bar from `low` to `high`.
    pub fn with_range(x: impl ToString, y: f64, low: f64, high: f64) -> Self {
        Self { x: x.to_string(), y, range: Some((low, high)) }
    }
}

impl<X: ToString> From<(X, f64)> for Point {
    fn from((x, y): (X, f64)) -> Self {
        Self::new(x, y)
    }
}

/// Values that belong together: those of one scheduler, say.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// Its values.
    pub points: Vec<Point>,
}

impl Series {
    /// A series of these points; `(x, y)` is one.
    pub fn new(
        name: impl Into<String>,
        points: impl IntoIterator<Item = impl Into<Point>>,
    ) -> Self {
        Self { name: name.into(), points: points.into_iter().map(Into::into).collect() }
    }
}

/// A picture.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Plot {
    /// The title above it.
    pub title: String,
    /// How it is drawn.
    pub kind: PlotKind,
    /// The axis to the right.
    pub x: Axis,
    /// The axis upward.
    pub y: Axis,
    /// The values.
    pub series: Vec<Series>,
    /// The names that the values of [`PlotKind::Categories`] stand for; the first one means that
    /// nothing is there.
    #[serde(default)]
    pub categories: Vec<String>,
}

impl Plot {
    /// A plot of `series` over `x`; `y` has a linear scale.
    pub fn new(
        title: impl Into<String>,
        kind: PlotKind,
        x: Axis,
        y: &str,
        series: impl IntoIterator<Item = Series>,
    ) -> Self {
        let series = series.into_iter().collect();
        Self { title: title.into(), kind, x, y: Axis::linear(y), series, categories: Vec::new() }
    }
}

/// Parts within parts, such as the caches of a machine, coloured by a value.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Tree {
    /// The title above it.
    pub title: String,
    /// The quantity and its unit.
    pub unit: String,
    /// The value at the end of the scale of colours.
    pub most: f64,
    /// The parts, each after the one that it is in.
    pub nodes: Vec<Node>,
}

/// A part.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// The place of the part that it is in; none of the whole.
    pub parent: Option<usize>,
    /// Its colour's value.
    pub value: f64,
}

impl Node {
    /// A part called `name` in the one at `parent`.
    pub fn new(name: impl Into<String>, parent: Option<usize>, value: f64) -> Self {
        Self { name: name.into(), parent, value }
    }
}
