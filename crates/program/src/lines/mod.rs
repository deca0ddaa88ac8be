//! From the lines of the recorded process to dense numbers.
//!
//! A process touches a few stretches of a huge address space. The builder notes which pages were
//! touched ([`PageSet`]); when it is done, runs of touched pages become [`Spans`], numbered one
//! after another from 0. Order is kept, neighbours stay neighbours, and a line keeps its place
//! within its page, so that the low bits of a cache's set index are those of the recorded process.

mod pages;
mod spans;

pub(crate) use pages::PageSet;
pub(crate) use spans::{Span, Spans};

/// Lines in a page: 4 KiB of 64 B lines.
pub(crate) const PAGE_LINES: u64 = 64;

/// Line numbers lie below this: a 64-bit address holds no more lines of 64 B.
pub(crate) const LINE_LIMIT: u64 = 1 << 58;
