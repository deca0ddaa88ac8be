//! A model of caches: the coherent hierarchy of a whole machine.
//!
//! [`Hierarchy`] is the caches of a [`befit_machine::Machine`]. Each access of a worker climbs from
//! its innermost cache towards memory, and the model says where the line was found, which copies a
//! write took away, and how much was written back. The crate's `README.md` has the scope of the
//! model, the protocol and the layout in memory.
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

pub mod footprint;
mod hierarchy;
mod hint;
mod lanes;
mod sets;

pub use hierarchy::{Hierarchy, LineAccess, PrefetchPlan};

use befit_machine::{ClusterId, Lines};

/// Why a machine's caches cannot be modelled: which cache, its fault and the remedy.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct CacheError(String);

/// Where the line was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// In this cache on the worker's own path.
    Own(ClusterId),
    /// Not on the path, but in a cache of another worker under the same cluster (a sibling's
    /// private cache, for example). Only where the common cluster's cache does not hold the line
    /// itself (non-inclusive and exclusive caches).
    Sibling(ClusterId),
    /// In a cache under another child of the root: under another last-level cache.
    Remote {
        /// That child. Where several have the line, one of the worker's own package before others,
        /// and of those the next to the right, the leftmost following the rightmost.
        from: ClusterId,
        /// Its copy was newer than memory; no other had one then.
        modified: bool,
    },
    /// Nowhere: memory supplied it.
    Memory,
}

/// The effects of one access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Where the line was found.
    pub found: Found,
    /// Other copies of the line were invalidated (the access is a write and others held the line).
    pub invalidated: bool,
    /// Dirty lines that this access pushed out to memory.
    pub written_back: u8,
}

/// Counts of one cluster's cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClusterCounts {
    /// Accesses that reached this cache (missed below).
    pub accesses: Lines,
    /// Those that did not find their line here.
    pub misses: Lines,
    /// Misses on a line that this cache held until another worker's write invalidated it.
    pub coherence_misses: Lines,
    /// Dirty lines that it evicted to the level above.
    pub writebacks: Lines,
    /// Lines that it lost to other workers' writes.
    pub invalidations: Lines,
}
