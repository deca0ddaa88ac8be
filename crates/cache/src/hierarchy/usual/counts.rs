//! What was counted, per cache.
//!
//! An access counts once, by where it found its line: how often a cache was asked, and how often in
//! vain, follows.

use befit_machine::Lines;

use super::{
    Place, Seat, Usual,
    seats::{INNER, LAST, MEMORY, OUTER, REMOTE},
};
use crate::ClusterCounts;

impl Usual {
    /// The counts of cache number `cache`. O(workers).
    pub(in crate::hierarchy) fn counts(&self, cache: usize) -> Option<ClusterCounts> {
        let (level, number) = match *self.places.get(cache)? {
            Place::Inner(core) => (INNER, core),
            Place::Outer(core) => (OUTER, core),
            Place::Last(socket) => (LAST, socket),
        };
        let below = |s: &&Seat| if level == LAST { s.socket == number } else { s.core == number };
        let sum = |figure: &dyn Fn(&Seat) -> u64| {
            Lines(self.seats().iter().filter(below).map(figure).sum())
        };
        Some(ClusterCounts {
            accesses: sum(&|s| s.found[level..].iter().sum()),
            misses: sum(&|s| s.found[level + 1..].iter().sum()),
            coherence_misses: sum(&|s| s.coherence_misses[level]),
            writebacks: sum(&|s| s.writebacks[level]),
            invalidations: Lines(self.caches.lost[level][number as usize]),
        })
    }

    /// Lines read from memory.
    pub(in crate::hierarchy) fn memory_reads(&self) -> u64 {
        self.seats().iter().map(|s| s.found[MEMORY]).sum()
    }

    /// Lines written to memory.
    pub(in crate::hierarchy) fn memory_writes(&self) -> u64 {
        self.seats().iter().map(|s| s.writebacks[LAST] + s.shared).sum()
    }

    /// Accesses that found their line with another socket only.
    pub(in crate::hierarchy) fn remote_hits(&self) -> u64 {
        self.seats().iter().map(|s| s.found[REMOTE]).sum()
    }

    fn seats(&self) -> &[Seat] {
        &self.seats[..self.workers as usize]
    }
}
