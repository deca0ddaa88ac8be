//! The tree of caches that a program runs on: detected, read from hwloc, or preset.
//!
//! ```
//! use befit_machine::{Machine, WorkerId};
//!
//! // Any way of naming a machine: a preset, `host`, a file that lstopo wrote, or a synthetic string.
//! let machine = Machine::find("xeon-7560").unwrap();
//! assert_eq!(machine.workers().len(), 32);
//!
//! // The caches above worker 9, from its L1 up to memory.
//! let sizes: Vec<_> = machine.path(WorkerId(9)).filter_map(|c| machine.cluster(c).cache).map(|c| c.size).collect();
//! assert_eq!(format!("{}, {}, {}", sizes[0], sizes[1], sizes[2]), "32 KiB, 256 KiB, 24 MiB");
//! ```
//!
//! Every source describes what stands under what as a [`MachineSpec`]; [`MachineSpec::build`]
//! numbers and checks it.

pub mod assumed;
mod build;
mod draw;
mod error;
mod find;
mod host;
#[cfg(feature = "hwloc")]
mod hwloc;
#[cfg(test)]
mod invariants;
mod preset;
pub mod synthetic;
mod tree;
mod units;
mod vary;
#[cfg(feature = "xml")]
mod xml;

pub use build::{MOST_OBJECTS, MachineSpec, Part};
pub use error::MachineError;
pub use host::Host;
#[cfg(feature = "hwloc")]
pub use hwloc::detect_through_hwloc;
pub use preset::{preset, presets};
pub use tree::{Cache, Cluster, Inclusion, Issue, Machine, Memory, Placement, Replacement, Worker};
pub use units::{Bytes, ClusterId, Cycles, Level, Lines, WorkerId};
