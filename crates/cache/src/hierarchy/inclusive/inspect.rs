//! Counts per cache, and the contents of the caches for callers that look without using.
//!
//! An access counts once, by where it found its line. The accesses and misses of each cache follow.

use befit_machine::Lines;

use super::{
    CacheOwner, Inclusive, PENDING, WorkerState,
    rows::{MODIFIED, core_bit, socket_bit},
    worker::{INNER, LAST, MEMORY, OUTER, REMOTE},
};
use crate::{
    ClusterCounts,
    hierarchy::Totals,
    lanes::{EMPTY, Entries, LINE, NO_TAG, Portable, Short, Tags},
};

impl Inclusive {
    /// The counts of cache number `cache`. O(workers).
    pub(in crate::hierarchy) fn counts(&self, cache: usize) -> Option<ClusterCounts> {
        let (level, number) = match *self.owners.get(cache)? {
            CacheOwner::Inner(core) => (INNER, core),
            CacheOwner::Outer(core) => (OUTER, core),
            CacheOwner::Last(socket) => (LAST, socket),
        };
        let owner = |w: &WorkerState| if level == LAST { w.socket } else { w.core };
        let sum = |figure: &dyn Fn(&WorkerState) -> u64| {
            Lines(self.workers().iter().filter(|w| owner(w) == number).map(figure).sum())
        };
        Some(ClusterCounts {
            accesses: sum(&|w| w.found[level..].iter().sum()),
            misses: sum(&|w| w.found[level + 1..].iter().sum()),
            coherence_misses: sum(&|w| w.coherence_misses[level]),
            writebacks: sum(&|w| w.writebacks[level]),
            invalidations: Lines(self.caches.lost[level][number as usize]),
        })
    }

    /// Counts of the whole machine. O(workers).
    pub(in crate::hierarchy) fn totals(&self) -> Totals {
        let found = |at: usize| self.workers().iter().map(|w| Lines(w.found[at])).sum();
        let written = |w: &WorkerState| Lines(w.writebacks[LAST] + w.shared);
        Totals {
            memory_reads: found(MEMORY),
            memory_writes: self.workers().iter().map(written).sum(),
            remote_hits: found(REMOTE),
            // The last-level cache has all that is below it.
            sibling_hits: Lines(0),
        }
    }

    fn workers(&self) -> &[WorkerState] {
        &self.workers[..self.worker_count as usize]
    }

    /// The entry of `line` in cache number `cache`.
    pub(in crate::hierarchy) fn entry(&self, cache: usize, line: u32) -> Option<u32> {
        let shape = &self.caches.shape;
        let entry = |sets: &[Entries], number: u32| {
            let set = &sets[number as usize];
            set.0.get(Portable.find(set, line).trailing_zeros() as usize).copied()
        };
        match self.owners[cache] {
            CacheOwner::Inner(core) => entry(self.inner(core), line & shape.inner_sets),
            CacheOwner::Outer(core) => {
                entry(self.outer(core), line & shape.outer_sets).map(|e| e & !PENDING)
            }
            CacheOwner::Last(socket) => {
                let (tag, number) = shape.place(line);
                self.last(socket)[number as usize].0.contains(&tag).then_some(line)
            }
        }
    }

    /// The lines in cache number `cache`.
    pub(in crate::hierarchy) fn contents(&self, cache: usize) -> Vec<u32> {
        let private = |sets: &[Entries]| {
            sets.iter().flat_map(|s| s.0).filter(|e| *e != EMPTY).map(|e| e & LINE).collect()
        };
        match self.owners[cache] {
            CacheOwner::Inner(core) => private(self.inner(core)),
            CacheOwner::Outer(core) => private(self.outer(core)),
            CacheOwner::Last(socket) => {
                let sets = self.last(socket).iter().zip(0..);
                sets.flat_map(|(set, number)| set.0.map(|tag| (tag, number)))
                    .filter(|(tag, _)| *tag != NO_TAG)
                    .map(|(tag, number)| self.caches.shape.line(tag, number) as u32)
                    .collect()
            }
        }
    }

    fn inner(&self, core: u32) -> &[Entries] {
        nth(&self.caches.inner, core, self.caches.shape.inner_stride())
    }

    fn outer(&self, core: u32) -> &[Entries] {
        nth(&self.caches.outer, core, self.caches.shape.outer_stride())
    }

    fn last(&self, socket: u32) -> &[Tags] {
        nth(&self.caches.last, socket, self.caches.shape.last_stride())
    }

    /// Whether the directory says that cache number `cache`, or the other of its pair, has `line`.
    pub(in crate::hierarchy) fn held(&self, cache: usize, line: u32) -> bool {
        let bit = match self.owners[cache] {
            CacheOwner::Inner(core) | CacheOwner::Outer(core) => core_bit(core),
            CacheOwner::Last(socket) => socket_bit(socket),
        };
        self.caches.rows.look(line)[0] & bit != 0
    }

    /// Whether the directory says that memory is older.
    pub(in crate::hierarchy) fn modified(&self, line: u32) -> bool {
        self.caches.rows.look(line)[0] & MODIFIED != 0
    }
}

/// The sets of cache number `number`, of `stride` sets each.
fn nth<T>(sets: &[T], number: u32, stride: u32) -> &[T] {
    &sets[number as usize * stride as usize..][..stride as usize]
}
