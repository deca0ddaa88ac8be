//! Counts what a thread did: cache misses, instructions and cycles where the machine counts them,
//! stand-ins elsewhere.
//!
//! ```
//! use befit_counters::{Chosen, Source};
//! use befit_machine::Bytes;
//!
//! // On the thread that is to be counted. Where the machine has no hardware counters, declared sizes stand in, and
//! // `why` says in one line what is missing and how to get it.
//! let (mut source, why) = Chosen::open(Bytes(64));
//! if let Some(why) = why {
//!     eprintln!("befit: {why}; going on with {}", source.kind());
//! }
//!
//! source.declare(Bytes::kib(48)); // used only if declared sizes stand in
//! // ... the strand runs ...
//! let counts = source.read()?;
//! println!("{:?} bytes moved into the private caches", counts.moved(Bytes(64)));
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
//! | [`Declared`] | the sizes that the program declares, in cache lines | everywhere |
//! | others' | a simulated cache, for one, implements [`Source`] | |
//!
//! [`Children`] counts whole processes, with the same events: what a command did, from its start to
//! its end.
//!
//! [`Hardware`] and [`Software`] are groups of the kernel's perf events, read by one and the same
//! code, so that the code is tested on machines that have no hardware events.

mod chosen;
mod counts;
mod declared;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
mod error;
#[cfg(target_os = "linux")]
mod perf;
mod source;

pub use chosen::Chosen;
pub use counts::{Counts, Coverage};
pub use declared::Declared;
#[cfg(not(target_os = "linux"))]
pub use elsewhere::{Children, Hardware, Software};
pub use error::CountersError;
#[cfg(target_os = "linux")]
pub use perf::{Children, Hardware, Software};
pub use source::{Event, Quantity, Source, SourceKind};
