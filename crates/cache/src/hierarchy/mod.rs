//! A coherent hierarchy of caches.

use befit_machine::{ClusterId, Lines, Machine, WorkerId};

use crate::{Access, CacheError, ClusterCounts};

/// A coherent hierarchy of caches, one per cluster of a machine.
#[derive(Debug)]
pub struct Hierarchy {}

impl Hierarchy {
    /// Empty caches for `machine`.
    pub fn new(machine: &Machine, lines: u32, seed: u64) -> Result<Self, CacheError> {
        let _ = (machine, lines, seed);
        todo!()
    }
    /// Hint.
    #[inline]
    pub fn prefetch(&self, worker: WorkerId, line: u32) {
        let _ = (worker, line);
    }
    /// One access.
    #[inline]
    pub fn access(&mut self, worker: WorkerId, line: u32, write: bool) -> Access {
        let _ = (worker, line, write);
        todo!()
    }
    /// Counts of a cluster's cache.
    pub fn counts(&self, cluster: ClusterId) -> ClusterCounts {
        let _ = cluster;
        todo!()
    }
    /// Lines read from memory.
    pub fn memory_reads(&self) -> Lines {
        todo!()
    }
    /// Lines written back to memory.
    pub fn memory_writes(&self) -> Lines {
        todo!()
    }
    /// Accesses found in a cache under another child of the root.
    pub fn remote_hits(&self) -> Lines {
        todo!()
    }
    /// Accesses found in another worker's cache below a common cache that does not hold the line.
    pub fn sibling_hits(&self) -> Lines {
        todo!()
    }
}
