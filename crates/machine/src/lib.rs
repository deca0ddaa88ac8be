//! The tree of caches that a program runs on: detected, read from hwloc, or preset.
//!
//! ```
//! use befit_machine::{Machine, WorkerId};
//!
//! // A preset's name, `host`, a file that lstopo wrote, or a synthetic string.
//! let machine = Machine::find("xeon-7560").unwrap();
//! assert_eq!(machine.workers().len(), 32);
//!
//! // The caches above worker 9, from its L1 up to memory.
//! let caches = machine.path(WorkerId(9)).filter_map(|c| machine.cluster(c).cache);
//! let sizes: Vec<_> = caches.map(|c| c.size.to_string()).collect();
//! assert_eq!(sizes, ["32 KiB", "256 KiB", "24 MiB"]);
//! ```
//!
//! Every source describes the tree as a [`MachineSpec`]; [`MachineSpec::build`] numbers and checks
//! it.

pub mod assumed;
mod build;
mod calibration;
mod draw;
mod error;
mod host;
#[cfg(feature = "hwloc")]
mod hwloc;
mod preset;
mod prices;
pub mod synthetic;
mod tree;
mod units;
mod vary;
#[cfg(feature = "xml")]
mod xml;

pub use build::{MOST_OBJECTS, MachineSpec, Part};
pub use calibration::{calibration_file, processor};
pub use error::MachineError;
pub use host::{ControlGroup, Host, control_groups};
#[cfg(feature = "hwloc")]
pub use hwloc::detect_through_hwloc;
pub use preset::{preset, presets};
pub use prices::Prices;
#[cfg(test)]
use tree::invariants;
pub use tree::{
    Cache, CleanSource, Cluster, Frames, Inclusion, Issue, Link, MOST_PAGES, MOST_RUNS,
    MOST_TABLES, Machine, Memory, Pages, Placement, Replacement, Worker,
};
pub use units::{Bytes, ClusterId, Cycles, Level, Lines, WorkerId};
