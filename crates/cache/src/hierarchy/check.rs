//! The invariants that hold between accesses.

use super::{Hierarchy, Model, layout};
use crate::{
    lanes::Portable,
    sets::{DIRTY, ORPHAN, Store},
};

impl Hierarchy {
    /// Asserts the invariants that hold between accesses; for tests. O(lines × caches).
    ///
    /// # Panics
    /// Where the directory disagrees with the caches' contents, an inclusive cache misses a line
    /// that a cache below has, a line is in one cache twice, or a modified line has a copy that is
    /// neither above nor below the modified one.
    pub fn check(&self) {
        let mut in_caches = 0;
        for i in 0..self.layout.caches.len() {
            let mut lines = self.contents(i);
            in_caches += lines.len();
            lines.sort_unstable();
            assert!(lines.windows(2).all(|w| w[0] != w[1]), "cache {i} has a line twice");
        }
        let mut seen = 0;
        for line in 0..self.lines {
            let entries: Vec<Option<u32>> =
                (0..self.layout.caches.len()).map(|c| self.entry(c, line)).collect();
            seen += entries.iter().flatten().count();
            for (c, chain) in self.layout.chains.iter().enumerate() {
                let has = chain.caches.iter().any(|cache| entries[*cache as usize].is_some());
                assert_eq!(self.held(line, c), has, "directory: line {line}, chain {c}");
            }
            for (i, entry) in entries.iter().enumerate() {
                if let Some(entry) = entry {
                    self.check_entry(i, line, *entry, &entries);
                }
            }
        }
        assert_eq!(in_caches, seen, "a line is in the wrong set or beyond the known lines");
    }

    fn check_entry(&self, cache: usize, line: u32, entry: u32, entries: &[Option<u32>]) {
        let info = self.layout.caches[cache];
        if info.inner_of_chain && entry & ORPHAN == 0 {
            let there = entries[info.parent as usize].is_some();
            assert!(there, "line {line}: cache {cache} says that the next has it");
        }
        for above in self.above(cache).filter(|above| self.layout.caches[*above].inclusive) {
            let there = entries[above].is_some();
            assert!(there, "line {line}: in {cache}, not in inclusive {above}");
        }
        if entry & DIRTY == 0 || info.tracked {
            return;
        }
        assert!(self.modified(line), "line {line} is dirty in {cache}, not so in the directory");
        for other in (0..entries.len()).filter(|o| entries[*o].is_some() && *o != cache) {
            let related =
                self.above(cache).any(|a| a == other) || self.above(other).any(|a| a == cache);
            assert!(related, "line {line}: dirty in {cache}, and in {other}");
        }
    }

    /// The lines in cache number `cache`.
    fn contents(&self, cache: usize) -> Vec<u32> {
        match &self.model {
            Model::Inclusive(inclusive) => inclusive.contents(cache),
            Model::General(general) => general
                .store
                .entries(&self.layout.caches[cache].geometry)
                .map(Store::line_of)
                .collect(),
        }
    }

    /// The entry of `line` in cache number `cache`.
    pub(super) fn entry(&self, cache: usize, line: u32) -> Option<u32> {
        match &self.model {
            Model::Inclusive(inclusive) => inclusive.entry(cache, line),
            Model::General(general) => {
                general.store.peek(Portable, &self.layout.caches[cache].geometry, line)
            }
        }
    }

    /// Whether the directory says that `chain` has `line`.
    fn held(&self, line: u32, chain: usize) -> bool {
        match &self.model {
            Model::Inclusive(inclusive) => {
                inclusive.held(self.layout.chains[chain].caches[0] as usize, line)
            }
            Model::General(general) => general.directory.held(line, chain as u32),
        }
    }

    /// Whether the directory says that memory is older than some cache.
    fn modified(&self, line: u32) -> bool {
        match &self.model {
            Model::Inclusive(inclusive) => inclusive.modified(line),
            Model::General(general) => general.directory.modified(line),
        }
    }

    /// The caches above `cache`.
    fn above(&self, cache: usize) -> impl Iterator<Item = usize> + '_ {
        layout::above(&self.layout.caches, cache as u32).map(|c| c as usize)
    }
}
