//! What an access did.

use befit_machine::{ClusterId, Lines};

/// Where the line was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// In this cache on the worker's own path.
    Own(ClusterId),
    /// Not on the path, but in a cache of another worker under the same cluster (a sibling's
    /// private cache, for example). Only where the common cluster's cache does not hold the line
    /// itself (non-inclusive and exclusive caches).
    Sibling(ClusterId),
    /// In a cache under another child of the root: another socket's.
    Remote,
    /// Nowhere: memory supplied it.
    Memory,
}

/// What one access did.
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
