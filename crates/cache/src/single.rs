//! One cache by itself.

use befit_machine::Cache as Shape;

use crate::{
    CacheError,
    lanes::{LINE, Portable},
    sets::{DIRTY, EMPTY, Geometry, Store},
};

/// One cache by itself: write-back, write-allocate, no coherence.
///
/// For questions about a single cache (what a task leaves behind in it, say). Marks per frame are
/// to be kept beside it, by line number: under LRU an entry has no fixed place in its set.
///
/// ```
/// use befit_cache::Cache;
/// use befit_machine::Machine;
///
/// let machine = Machine::find("gems-sparc").unwrap();
/// let l1 = machine.cluster(machine.workers()[0].leaf).cache.unwrap();
/// let mut cache = Cache::new(&l1, 1).unwrap();
/// assert!(!cache.access(7, true).hit);
/// // 16 KiB, direct-mapped: the line 256 further falls into the same place.
/// let out = cache.access(7 + 256, false).evicted.unwrap();
/// assert_eq!((out.line, out.dirty), (7, true));
/// ```
#[derive(Clone, Debug)]
pub struct Cache {
    geometry: Geometry,
    store: Store,
}

/// What an access to a [`Cache`] did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The line was there.
    pub hit: bool,
    /// The line that made room for it.
    pub evicted: Option<Evicted>,
}

/// A line that made room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Evicted {
    /// Its number.
    pub line: u32,
    /// It was written to, and must be written back.
    pub dirty: bool,
}

impl Cache {
    /// An empty cache of `shape`, whose level, latency and inclusion do not matter here; `seed`
    /// feeds random replacement.
    ///
    /// # Errors
    /// [`CacheError::Shape`] where its line or ways do not divide its size, or tree-PLRU is asked
    /// of ways that are no power of two or above 64.
    pub fn new(shape: &Shape, seed: u64) -> Result<Self, CacheError> {
        let shapes = std::slice::from_ref(shape);
        let mut geometries = Store::geometries(shapes, |_| format!("the {} cache", shape.level))?;
        let store = Store::new(shapes, &mut geometries, |_| seed);
        Ok(Self { geometry: geometries.remove(0), store })
    }

    /// Reads or writes `line`, bringing it in where it is not there. O(ways).
    ///
    /// # Panics
    /// Where `line` is 2³⁰ − 1 or more.
    pub fn access(&mut self, line: u32, write: bool) -> Outcome {
        assert!(line < LINE, "line {line} is beyond the {LINE} that can be modelled");
        let dirty = if write { DIRTY } else { 0 };
        let touch = self.store.touch(Portable, (0, &self.geometry), line, dirty, dirty);
        let evicted = (!touch.hit && touch.old != EMPTY)
            .then(|| Evicted { line: Store::line_of(touch.old), dirty: touch.old & DIRTY != 0 });
        Outcome { hit: touch.hit, evicted }
    }

    /// Whether `line` is there; not a use. O(ways).
    pub fn has(&self, line: u32) -> bool {
        line < LINE && self.store.peek(Portable, &self.geometry, line).is_some()
    }

    /// Takes `line` out; answers whether it was there and dirty. O(ways).
    pub fn remove(&mut self, line: u32) -> Option<Evicted> {
        let entry =
            if line < LINE { self.store.remove(Portable, &self.geometry, line) } else { None };
        entry.map(|e| Evicted { line, dirty: e & DIRTY != 0 })
    }

    /// The lines that are there, in no particular order.
    pub fn lines(&self) -> impl Iterator<Item = u32> + '_ {
        self.store.entries(&self.geometry).map(Store::line_of)
    }

    /// The set that `line` falls into.
    pub fn set_of(&self, line: u32) -> u32 {
        self.geometry.set_of(line)
    }
}

#[cfg(test)]
mod tests {
    use befit_machine::{Bytes, Cycles, Inclusion, Level, Replacement};

    use super::*;

    fn cache(lines: u64, ways: u32, replacement: Replacement) -> Cache {
        let shape = Shape {
            level: Level(1),
            size: Bytes(lines * 64),
            line: Bytes(64),
            ways,
            replacement,
            inclusion: Inclusion::NonInclusive,
            latency: Cycles(1),
        };
        Cache::new(&shape, 7).unwrap()
    }

    fn evictions(cache: &mut Cache, lines: &[u32]) -> Vec<Option<u32>> {
        lines.iter().map(|l| cache.access(*l, false).evicted.map(|e| e.line)).collect()
    }

    #[test]
    fn lru_evicts_the_line_not_used_for_longest() {
        let mut c = cache(4, 0, Replacement::Lru);
        assert_eq!(
            evictions(&mut c, &[1, 2, 3, 4, 1, 5, 2, 3]),
            [None, None, None, None, None, Some(2), Some(3), Some(4)]
        );
    }

    #[test]
    fn tree_plru_evicts_from_the_half_not_used_last() {
        let mut c = cache(4, 4, Replacement::TreePlru);
        // Ways 0..4 hold 1, 2, 3, 4; the use of 1 points to the right half, there away from 4: 3
        // goes. The fill of 5 points left, and there away from 1: 2 goes.
        assert_eq!(evictions(&mut c, &[1, 2, 3, 4, 1, 5, 6])[5..], [Some(3), Some(2)]);
    }

    #[test]
    fn random_replacement_is_the_same_for_the_same_seed_and_fills_free_ways_first() {
        let lines: Vec<u32> = (0..64).collect();
        let (mut a, mut b) = (cache(8, 8, Replacement::Random), cache(8, 8, Replacement::Random));
        let out = evictions(&mut a, &lines);
        assert_eq!(out, evictions(&mut b, &lines));
        assert!(out[..8].iter().all(Option::is_none) && out[8..].iter().all(Option::is_some));
    }

    #[test]
    fn a_direct_mapped_cache_keeps_the_last_line_of_each_set() {
        let mut c = cache(3, 1, Replacement::Lru);
        assert_eq!(
            evictions(&mut c, &[0, 1, 2, 3, 0, 4]),
            [None, None, None, Some(0), Some(3), Some(1)]
        );
    }

    #[test]
    fn a_removed_line_leaves_its_place_to_the_next() {
        let mut c = cache(2, 2, Replacement::Lru);
        c.access(1, true);
        c.access(2, false);
        assert_eq!(c.remove(1), Some(Evicted { line: 1, dirty: true }));
        assert_eq!((c.remove(1), c.has(1), c.has(2)), (None, false, true));
        assert_eq!(c.access(3, false).evicted, None);
        assert_eq!(c.access(4, false).evicted, Some(Evicted { line: 2, dirty: false }));
    }

    #[test]
    fn a_shape_that_cannot_be_says_why() {
        let error = |lines, ways, replacement| {
            let shape = Shape {
                level: Level(2),
                size: Bytes(lines),
                line: Bytes(64),
                ways,
                replacement,
                inclusion: Inclusion::NonInclusive,
                latency: Cycles(1),
            };
            Cache::new(&shape, 0).unwrap_err().to_string()
        };
        assert_eq!(
            error(100, 1, Replacement::Lru),
            "the L2 cache has 100 B, not a multiple of its line of 64 B"
        );
        assert_eq!(
            error(64 * 10, 4, Replacement::Lru),
            "the L2 cache has 10 lines, which 4 ways do not divide: change its size or its ways"
        );
        assert_eq!(
            error(64 * 12, 12, Replacement::TreePlru),
            "the L2 cache has 12 ways: tree-PLRU needs a power of two, at most 64"
        );
    }
}
