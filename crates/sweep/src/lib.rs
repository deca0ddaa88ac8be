//! Sweeps: many simulations, one row each, in one Parquet table.
//!
//! ```text
//! grid ──► configurations ──┬─► batches ──► any worker ──► figures ──► journal ──► table
//!           (sorted)        └─◄ what the journal has already
//! ```
//!
//! A simulation is a pure function of a recording and a [`Configuration`]. So it does not matter
//! who runs it, where, or in which order: the table is sorted by configuration, and the same
//! [`Grid`] gives the same bytes. [`Sweep`] keeps what is done in a folder beside the table until
//! all is done. [`run_batch`] is what workers run: the threads of [`Sweep::run`], or processes of
//! any engine that carries bytes from one machine to another. [`merge`] puts shards together.

mod batch;
mod column;
mod configuration;
mod folder;
mod grid;
mod journal;
mod machines;
mod manifest;
mod merge;
mod meter;
mod programs;
mod run;
mod simulator;
mod sweep;
mod table;
#[cfg(test)]
mod tests;

pub use batch::{BatchResult, run_batch};
pub use column::{Column, Figures, Kind, Value, columns, figures};
pub use configuration::{Configuration, vary};
pub use grid::{Grid, Shard};
pub use merge::{Merged, merge};
pub use programs::file_hash;
pub use sweep::{Resume, Sweep};

/// The version of befit, and a fingerprint of what figures depend on: its sources, and the version
/// of the generator of random numbers.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("BEFIT_MODEL"));
