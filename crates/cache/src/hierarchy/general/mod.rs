//! Any machine: what each cache is, and who is above and below whom, is looked up on the way.
//!
//! [`access`] is the way of one access through the caches, [`coherence`] what it does to other
//! workers' copies, [`evict`] where the lines go that make room; [`directory`] knows who has which
//! line; [`prefetch`] brings near what a later access will look at.

mod access;
mod coherence;
mod directory;
mod evict;
mod prefetch;

use befit_machine::Lines;

use super::layout::Layout;
use crate::{ClusterCounts, sets::Store};
use directory::Directory;

/// What accesses change. (The layout is apart so that the access path can hold on to parts of it.)
#[derive(Clone, Debug)]
pub(super) struct General {
    pub(super) store: Store,
    pub(super) directory: Directory,
    pub(super) tallies: Vec<Tally>,
    pub(super) lines: u32,
    pub(super) memory_reads: u64,
    pub(super) memory_writes: u64,
    pub(super) remote_hits: u64,
    pub(super) sibling_hits: u64,
}

/// What is counted of one cache while it runs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    /// Accesses of workers that stand directly under it; the others are its children's misses.
    pub(super) direct: u64,
    pub(super) misses: u64,
    pub(super) coherence_misses: u64,
    pub(super) writebacks: u64,
    pub(super) invalidations: u64,
}

impl General {
    /// Empty caches for the machine of `layout`, with these sets.
    pub(super) fn new(layout: &Layout, store: Store, lines: u32) -> Self {
        Self {
            directory: Directory::new(layout, lines),
            tallies: vec![Tally::default(); layout.caches.len()],
            store,
            lines,
            memory_reads: 0,
            memory_writes: 0,
            remote_hits: 0,
            sibling_hits: 0,
        }
    }

    /// The counts of cache number `cache`. O(caches).
    pub(super) fn counts(&self, layout: &Layout, cache: usize) -> Option<ClusterCounts> {
        let tally = self.tallies.get(cache)?;
        let children = layout
            .caches
            .iter()
            .zip(&self.tallies)
            .filter(|(info, _)| info.parent as usize == cache);
        Some(ClusterCounts {
            accesses: Lines(tally.direct + children.map(|(_, child)| child.misses).sum::<u64>()),
            misses: Lines(tally.misses),
            coherence_misses: Lines(tally.coherence_misses),
            writebacks: Lines(tally.writebacks),
            invalidations: Lines(tally.invalidations),
        })
    }
}
