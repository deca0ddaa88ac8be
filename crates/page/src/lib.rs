//! A page with plots, as data, and the program `befit-page`, which draws it.
//!
//! A [`Page`] is HTML with [`Plot`]s between. `befit-page` reads one as JSON and writes HTML that
//! needs nothing else: it includes the script that draws the plots and lets the reader look closer.
//! `befit-page` is a program of its own, which is built when it is first needed, because the
//! plotting crate takes long to build.
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

/// The parts of a page, from its first byte to its last.
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
