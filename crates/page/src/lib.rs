//! A page with plots: what is on it, as data, and the program `befit-page`, which draws it.
//!
//! A [`Page`] is HTML with [`Plot`]s between. `befit-page` reads one as JSON and writes HTML that
//! needs nothing else: the script that draws the plots, and lets the reader look closer, is part of
//! it. It is a program of its own, built when it is first needed, because it takes a quarter as
//! long to build as all the rest of the `befit` command.
//!
//! ```text
//! echo '[{"html": "<h1>Misses</h1>"}]' | cargo run --release -p befit-page > misses.html
//! ```

#[cfg(feature = "draw")]
mod draw;
mod plot;

#[cfg(feature = "draw")]
pub use draw::draw;
pub use plot::{Axis, Plot, PlotKind, Point, Series};

use serde::{Deserialize, Serialize};

/// What stands on a page, from its first byte to its last.
pub type Page = Vec<Part>;

/// A part of a page.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// Text with its tags, as it is.
    Html(String),
    /// A picture.
    Plot(Plot),
}
