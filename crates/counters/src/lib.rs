//! Counts what a thread did: cache misses, instructions and cycles where the machine counts them,
//! and what the kernel counts everywhere.
//!
//! ```
//! use befit_counters::{Hardware, Source};
//!
//! // On the thread that is to be counted.
//! match Hardware::open() {
//!     Ok(mut hardware) => {
//!         // ... the strand runs ...
//!         println!("{:?} private misses", hardware.read()?.private_misses);
//!     }
//!     // One line that says what is missing and how to get it.
//!     Err(why) => eprintln!("befit: {why}"),
//! }
//! # Ok::<(), befit_counters::CountersError>(())
//! ```
//!
//! Everything that counts is a [`Source`]: it gives the [`Counts`] of one thread since it was last
//! read.
//!
//! | source | what it counts | where |
//! |---|---|---|
//! | [`Hardware`] | misses of the last private and of the last-level cache, instructions, cycles | Linux with a PMU, where the kernel permits it |
//! | [`Software`] | time on a processor, page faults, context switches, migrations | Linux, virtual machines included |
//!
//! [`Children`] counts a command from its start to its end, with the same events.
//!
//! [`Hardware`] and [`Software`] are groups of the kernel's perf events that the same code reads,
//! so that the code is tested on machines that have no hardware events.

mod counts;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
mod error;
#[cfg(target_os = "linux")]
mod perf;
mod source;

pub use counts::{Counts, Coverage};
#[cfg(not(target_os = "linux"))]
pub use elsewhere::{Children, Hardware, Software};
pub use error::CountersError;
#[cfg(target_os = "linux")]
pub use perf::{Children, Hardware, Software};
pub use source::{Event, Quantity, Source};
