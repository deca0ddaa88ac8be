//! A model of caches: one cache, and a coherent hierarchy of them.
//!
//! [`Hierarchy`] is the caches of a whole [`befit_machine::Machine`]: each access of a worker
//! climbs from its innermost cache towards memory, and the model says where the line was found,
//! which copies a write took away, and what was written back. [`Cache`] is one cache by itself.
//! What is modelled and what is not, the protocol and the layout in memory are in the crate's
//! `README.md`.
//!
//! ```
//! use befit_cache::{Found, Hierarchy};
//! use befit_machine::{ClusterId, Machine, WorkerId};
//!
//! let machine = Machine::find("xeon-7560").unwrap();
//! let mut caches = Hierarchy::new(&machine, 1 << 20, 1).unwrap();
//! // One core walks over 1 MiB twice: more than its L2, less than its socket's L3.
//! for line in (0..16384).chain(0..16384) {
//!     caches.access(WorkerId(0), line, false);
//! }
//! let l3 = caches.counts(machine.last_level(WorkerId(0)));
//! assert_eq!((l3.accesses.0, l3.misses.0), (32768, 16384));
//! ```

mod error;
pub mod footprint;
mod hierarchy;
mod hint;
mod lanes;
mod outcome;
mod sets;
mod single;

pub use error::CacheError;
pub use hierarchy::{Hierarchy, Plan, Touch};
pub use outcome::{Access, ClusterCounts, Found};
pub use single::{Cache, Evicted, Outcome};
