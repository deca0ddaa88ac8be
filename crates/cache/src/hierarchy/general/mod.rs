//! Any machine: the kind and the neighbours of each cache are looked up on the way.
//!
//! - [`access`] takes one access through the caches.
//! - [`coherence`] invalidates or cleans other workers' copies.
//! - [`evict`] hands on the lines that make room.
//! - [`directory`] knows which chains of caches have a line, by [`lists`] where they are many.

mod access;
mod coherence;
mod directory;
mod evict;
mod lists;

use befit_machine::WorkerId;

use super::{
    LineAccess, Totals,
    layout::{Layout, Role, has},
};
use crate::{
    ClusterCounts,
    sets::{EMPTY, ORPHAN, Store},
};
use coherence::bits;
use directory::Directory;

/// Of so many sharers' sets a write asks for: the host fetches only some lines at a time.
const PREFETCHED: usize = 8;

/// The state that accesses change. The layout is apart, so that the access path can hold on to
/// parts of it.
#[derive(Clone, Debug)]
pub(super) struct General {
    pub(super) store: Store,
    pub(super) directory: Directory,
    /// Per cache. Its accesses are those of workers directly under it; the others are its
    /// children's misses.
    pub(super) counts: Vec<ClusterCounts>,
    pub(super) totals: Totals,
    pub(super) lines: u32,
    /// The chains beside the worker's path that have the line of the access under way.
    others: Vec<u32>,
}

/// What stays the same while accesses run: the machine's layout, the host's lanes, and `H` words of
/// chains in a row of the directory, or none where it has lists. Its methods run accesses on a
/// [`General`].
#[derive(Clone, Copy)]
pub(super) struct On<'a, L, const H: usize> {
    pub(super) layout: &'a Layout,
    pub(super) lanes: L,
}

impl General {
    /// Empty caches for the machine of `layout`, with these sets.
    pub(super) fn new(layout: &Layout, store: Store, lines: u32) -> Self {
        Self {
            directory: Directory::new(layout, lines),
            counts: vec![ClusterCounts::default(); layout.caches.len()],
            totals: Totals::default(),
            others: Vec::new(),
            store,
            lines,
        }
    }

    /// The counts of cache number `cache`. O(caches directly below).
    pub(super) fn counts(&self, layout: &Layout, cache: usize) -> Option<ClusterCounts> {
        let counts = *self.counts.get(cache)?;
        let children = layout.children[cache].iter().map(|child| &self.counts[*child as usize]);
        let accesses = counts.accesses + children.map(|child| child.misses).sum();
        Some(ClusterCounts { accesses, ..counts })
    }

    /// Brings near the sets and the row of a line.
    ///
    /// An access to a random line looks at some six places that the host's own caches do not hold:
    /// the line's row, its set in the last-level cache, the rows of the lines that make room in the
    /// outer caches and, for a write, the sets of other copies. Waiting for them one after another
    /// would be most of the time.
    #[inline(always)]
    pub(in crate::hierarchy) fn prefetch(&self, layout: &Layout, access: &LineAccess) {
        let LineAccess { worker, line, .. } = *access;
        let Some(path) = layout.paths.get(worker.index()) else { return };
        self.directory.prefetch(line);
        for step in &layout.steps[path.far()] {
            self.store.prefetch(&step.geometry, line);
        }
    }

    /// Brings near the rows of the lines that will make room and, for a write, the sets of other
    /// copies, once [`Self::prefetch`] has brought the line's own sets near.
    #[inline(always)]
    pub(in crate::hierarchy) fn prepare(&self, layout: &Layout, access: &LineAccess) {
        let LineAccess { worker, line, write } = *access;
        let Some(path) = layout.paths.get(worker.index()) else { return };
        if path.private > 0 && self.directory.glance(line, layout.steps[path.start as usize].chain)
        {
            // It will be found near, and little will have to make room.
            return;
        }
        for step in &layout.steps[path.far()] {
            let entry = self.store.last_in(&step.geometry, line);
            // To ask for the row of no line has the host walk its page tables in vain.
            let leaves_quietly = step.role == Role::Inner && entry & ORPHAN == 0;
            if entry != EMPTY && !leaves_quietly {
                self.directory.prefetch(Store::line_of(entry));
            }
        }
        if write && line < self.lines {
            self.prefetch_others(layout, worker, line);
        }
    }

    /// The set of the outermost cache of each chain that holds a copy; of the first ones, where the
    /// directory has lists.
    fn prefetch_others(&self, layout: &Layout, worker: WorkerId, line: u32) {
        let prefetch = |chain: u32| {
            self.store.prefetch(&layout.chains[chain as usize].outermost, line);
        };
        if layout.words == 0 {
            let beside = |chain: &u32| !has(layout.under[*chain as usize], worker.0);
            let others = self.directory.lists(line).held().filter(beside);
            return others.take(PREFETCHED).for_each(prefetch);
        }
        let row = self.directory.row(line);
        let others = &layout.others[worker.index() * layout.words..][..layout.words];
        for (h, (word, mask)) in row.iter().zip(others).enumerate() {
            for bit in bits([word & mask]) {
                prefetch(h as u32 * 64 + bit);
            }
        }
    }
}
