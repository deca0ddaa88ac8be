//! The entries of all caches, set by set, and which entry makes room in a set.
//!
//! An entry is one `u32`: 30 bits of line number and two flags. The entries of a set lie side by
//! side, padded with [`EMPTY`] to a multiple of eight, so that one or a few vector comparisons find
//! a line. Under LRU the *order* in the set is the recency, most recent first, and empty places are
//! last: the victim is always the last way, whether or not the set is full, and there is no further
//! state. Under tree-PLRU and random, entries stay in their way.
//!
//! All caches share one array, so that the access path has one base address to keep.

mod geometry;

use befit_machine::{Cache, Replacement};

pub(crate) use crate::lanes::{EMPTY, Lookup};
use crate::{
    CacheError,
    hint::on_huge_pages,
    lanes::{LINE, Lanes},
};
pub(crate) use geometry::Geometry;

/// The entry is newer than the level above.
pub(crate) const DIRTY: u32 = 1 << 31;
/// The next cache of the same chain may not have the line (see the hierarchy's layout).
pub(crate) const ORPHAN: u32 = 1 << 30;

/// Entries per line of the host's caches.
const HOST_LINE: usize = 16;

/// Entries left out between two caches, so that equal sets of equal caches do not all fall into the
/// same set of the host's.
const SKEW: u64 = 3 * HOST_LINE as u64;

/// The sets of some caches.
#[derive(Clone, Debug, Default)]
pub(crate) struct Store {
    entries: Vec<u32>,
    /// Per cache.
    states: Vec<State>,
}

/// State of the replacement policy beside the order of the entries.
#[derive(Clone, Debug)]
enum State {
    Lru,
    TreePlru(Vec<u64>),
    Random(fastrand::Rng),
}

impl Store {
    /// The geometry of each of `caches`, one behind the other in a store. `name` names the i-th in
    /// errors.
    pub(crate) fn geometries(
        caches: &[Cache],
        name: impl Fn(usize) -> String,
    ) -> Result<Vec<Geometry>, CacheError> {
        let mut end = 0;
        let geometry = |(i, cache)| {
            let geometry = Geometry::new(cache, &name(i), end)?;
            end = (geometry.end() + SKEW).min(u64::from(u32::MAX)) as u32;
            Ok(geometry)
        };
        caches.iter().enumerate().map(geometry).collect()
    }

    /// The store for `caches` of these `geometries`, which it moves so that sets start where lines
    /// of the host's caches do; empty. `seed` seeds the random choices of the i-th.
    pub(crate) fn new(
        caches: &[Cache],
        geometries: &mut [Geometry],
        seed: impl Fn(usize) -> u64,
    ) -> Self {
        let state = |(i, (cache, geometry)): (usize, (&Cache, &Geometry))| match cache.replacement {
            Replacement::Lru => State::Lru,
            Replacement::TreePlru => State::TreePlru(vec![0; geometry.sets as usize]),
            Replacement::Random => State::Random(fastrand::Rng::with_seed(seed(i))),
        };
        let states = caches.iter().zip(&*geometries).enumerate().map(state).collect();
        let length = geometries.last().map_or(0, |g| g.end() as usize);
        let entries = on_huge_pages(EMPTY, length + HOST_LINE);
        // A copy of the store may lie otherwise.
        let skipped = entries.as_ptr().align_offset(HOST_LINE * 4).min(HOST_LINE) as u32;
        geometries.iter_mut().for_each(|g| g.first += skipped);
        Self { entries, states }
    }

    #[inline(always)]
    fn set(&self, of: &Geometry, line: u32) -> &[u32] {
        &self.entries[of.start(line)..][..of.stride as usize]
    }

    #[inline(always)]
    fn set_mut(&mut self, of: &Geometry, line: u32) -> &mut [u32] {
        &mut self.entries[of.start(line)..][..of.stride as usize]
    }

    /// Uses `line` in cache number `cache`: a hit adds `on_hit` to its flags, a miss takes it in
    /// with the flags `on_miss`.
    #[inline(always)]
    pub(crate) fn touch<L: Lanes>(
        &mut self,
        lanes: L,
        (cache, of): (u32, &Geometry),
        line: u32,
        on_hit: u32,
        on_miss: u32,
    ) -> Lookup {
        if !of.lru {
            return self.touch_in_place(lanes, (cache, of), line, on_hit, on_miss);
        }
        let ways = of.ways as usize;
        lanes.touch(self.set_mut(of, line), ways, line, on_hit, on_miss)
    }

    #[inline(never)]
    fn touch_in_place<L: Lanes>(
        &mut self,
        lanes: L,
        (cache, of): (u32, &Geometry),
        line: u32,
        on_hit: u32,
        on_miss: u32,
    ) -> Lookup {
        let ways = of.ways as usize;
        let number = of.set_of(line) as usize;
        let start = of.start(line);
        let set = &mut self.entries[start..][..of.stride as usize];
        let state = &mut self.states[cache as usize];
        let found = lanes.find(set, line);
        let hit = found < set.len();
        let way = if hit {
            found
        } else {
            // An empty entry has all its bits set, those of the line number too.
            let free = set[..ways].iter().position(|e| *e == EMPTY);
            free.unwrap_or_else(|| match state {
                State::TreePlru(bits) => plru_victim(bits[number], ways),
                State::Random(rng) => rng.usize(..ways),
                State::Lru => ways - 1,
            })
        };
        let old = set[way];
        set[way] = if hit { old | on_hit } else { line | on_miss };
        if let State::TreePlru(bits) = state {
            bits[number] = plru_used(bits[number], ways, way);
        }
        Lookup { hit, old }
    }

    /// The entry of `line`, if it is here. Not a use.
    #[inline(always)]
    pub(crate) fn peek<L: Lanes>(&self, lanes: L, of: &Geometry, line: u32) -> Option<u32> {
        let set = self.set(of, line);
        set.get(lanes.find(set, line)).copied()
    }

    /// The entry in the last way of the set of `line`: under LRU the next to make room.
    #[inline(always)]
    pub(crate) fn last_in(&self, of: &Geometry, line: u32) -> u32 {
        let last = of.start(line) + of.ways as usize - 1;
        self.entries.get(last).copied().unwrap_or(EMPTY)
    }

    /// Adds to and takes from the flags of `line`; returns its entry as it was, if it is here. Not
    /// a use.
    #[inline(always)]
    pub(crate) fn flag<L: Lanes>(
        &mut self,
        lanes: L,
        of: &Geometry,
        line: u32,
        add: u32,
        take: u32,
    ) -> Option<u32> {
        let set = self.set_mut(of, line);
        let way = lanes.find(set, line);
        let entry = set.get_mut(way)?;
        let old = *entry;
        *entry = old & !take | add;
        Some(old)
    }

    /// Removes `line`; returns its entry, if it was here.
    #[inline(always)]
    pub(crate) fn remove<L: Lanes>(&mut self, lanes: L, of: &Geometry, line: u32) -> Option<u32> {
        let set = self.set_mut(of, line);
        if of.lru {
            return Some(lanes.remove(set, of.ways as usize, line)).filter(|old| *old != EMPTY);
        }
        let way = lanes.find(set, line);
        set.get_mut(way).map(|entry| std::mem::replace(entry, EMPTY))
    }

    /// Asks the host to bring the set of `line` near.
    #[inline(always)]
    pub(crate) fn prefetch(&self, of: &Geometry, line: u32) {
        let start = of.start(line);
        crate::hint::prefetch(&self.entries, start);
        if of.stride as usize > HOST_LINE {
            crate::hint::prefetch(&self.entries, start + HOST_LINE);
        }
    }

    /// All entries of one cache that hold a line.
    pub(crate) fn entries(&self, of: &Geometry) -> impl Iterator<Item = u32> + '_ {
        let first = of.first as usize;
        let all = &self.entries[first..][..of.sets as usize * of.stride as usize];
        all.iter().copied().filter(|e| *e != EMPTY)
    }

    /// The line of an entry.
    #[inline(always)]
    pub(crate) fn line_of(entry: u32) -> u32 {
        entry & LINE
    }
}

/// The way that makes room under tree-PLRU: one bit per inner node of a binary tree over the ways.
///
/// Bit n (nodes numbered as in a heap, the root 1) says in which half the next victim is: 0 left, 1
/// right. A use makes the bits on its way down point to the other half.
fn plru_victim(bits: u64, ways: usize) -> usize {
    let mut node = 1;
    while node < ways {
        node = 2 * node + (bits >> node & 1) as usize;
    }
    node - ways
}

/// The bits after a use of `way`.
fn plru_used(mut bits: u64, ways: usize, way: usize) -> u64 {
    let mut node = way + ways;
    while node > 1 {
        let right = node & 1;
        node /= 2;
        bits = bits & !(1 << node) | u64::from(right == 0) << node;
    }
    bits
}

#[cfg(test)]
mod tests {
    use befit_machine::{Bytes, Cycles, Inclusion, Level};

    use super::*;
    use crate::lanes::Portable;

    /// An L2 of `size` bytes, in lines of 64.
    pub(super) fn shape(size: u64, ways: u32, replacement: Replacement) -> Cache {
        Cache {
            level: Level(2),
            size: Bytes(size),
            line: Bytes(64),
            ways,
            replacement,
            inclusion: Inclusion::NonInclusive,
            link: None,
            latency: Cycles(1),
            transfer: None,
            stream: None,
        }
    }

    /// One cache of `lines` lines by itself.
    fn one(lines: u64, ways: u32, replacement: Replacement) -> (Geometry, Store) {
        let shapes = [shape(lines * 64, ways, replacement)];
        let mut geometries = Store::geometries(&shapes, |_| "the cache".into()).unwrap();
        let store = Store::new(&shapes, &mut geometries, |_| 7);
        (geometries.remove(0), store)
    }

    /// Reads `line`; returns the line that makes room for it.
    fn read((geometry, store): &mut (Geometry, Store), line: u32) -> Option<u32> {
        let lookup = store.touch(Portable, (0, geometry), line, 0, 0);
        (!lookup.hit && lookup.old != EMPTY).then(|| Store::line_of(lookup.old))
    }

    #[test]
    fn each_policy_evicts_its_line() {
        use Replacement::{Lru, TreePlru};
        let evicted = |lines, ways, replacement, reads: &[u32]| {
            let mut cache = one(lines, ways, replacement);
            reads.iter().filter_map(|line| read(&mut cache, *line)).collect::<Vec<_>>()
        };
        // LRU: the line not used for longest.
        assert_eq!(evicted(4, 0, Lru, &[1, 2, 3, 4, 1, 5, 2, 3]), [2, 3, 4]);
        // Tree-PLRU: ways 0..4 hold 1, 2, 3, 4. The use of 1 points to the right half, there away
        // from 4: 3 goes. The fill of 5 points left, and there away from 1: 2 goes.
        assert_eq!(evicted(4, 4, TreePlru, &[1, 2, 3, 4, 1, 5, 6]), [3, 2]);
        // A direct-mapped cache keeps the last line of each set.
        assert_eq!(evicted(3, 1, Lru, &[0, 1, 2, 3, 0, 4]), [0, 3, 1]);
    }

    #[test]
    fn random_replacement_is_the_same_for_the_same_seed_and_fills_free_ways_first() {
        let evictions = || {
            let mut cache = one(8, 8, Replacement::Random);
            (0..64).map(|line| read(&mut cache, line)).collect::<Vec<_>>()
        };
        let out = evictions();
        assert_eq!(out, evictions());
        assert!(out[..8].iter().all(Option::is_none) && out[8..].iter().all(Option::is_some));
    }

    #[test]
    fn a_removed_line_leaves_its_place_to_the_next() {
        let mut cache = one(2, 2, Replacement::Lru);
        cache.1.touch(Portable, (0, &cache.0), 1, DIRTY, DIRTY);
        read(&mut cache, 2);
        assert_eq!(cache.1.remove(Portable, &cache.0, 1), Some(1 | DIRTY));
        assert_eq!(cache.1.remove(Portable, &cache.0, 1), None);
        assert_eq!([1, 2].map(|line| cache.1.peek(Portable, &cache.0, line)), [None, Some(2)]);
        assert_eq!((read(&mut cache, 3), read(&mut cache, 4)), (None, Some(2)));
    }

    #[test]
    fn a_shape_that_cannot_be_says_why() {
        use Replacement::{Lru, TreePlru};
        for (size, ways, replacement, why) in [
            (100, 1, Lru, "has 100 B, not a multiple of its line of 64 B"),
            (640, 4, Lru, "has 10 lines, which 4 ways do not divide: change its size or its ways"),
            (768, 12, TreePlru, "has 12 ways: tree-PLRU needs a power of two, at most 64"),
        ] {
            let error = Store::geometries(&[shape(size, ways, replacement)], |_| "it".into());
            assert_eq!(error.unwrap_err().to_string(), format!("it {why}"));
        }
    }

    #[test]
    fn a_cache_of_no_lines_or_of_more_than_have_numbers_says_so() {
        use Replacement::Lru;
        let geometries = |caches: &[Cache]| {
            let all = Store::geometries(caches, |i| format!("cache {i}"));
            all.map_err(|error| error.to_string())
        };
        let most = u64::from(LINE);
        let largest = shape(most * 64, LINE, Lru);
        let [geometry] = geometries(&[largest]).unwrap()[..] else { panic!("of one cache") };
        assert_eq!((geometry.sets, geometry.ways), (1, LINE));
        for (cache, why) in [
            (shape(0, 1, Lru), "has 0 B, not a multiple of its line of 64 B"),
            (Cache { line: Bytes(0), ..largest }, "has lines of 0 bytes: give it a line length"),
            (
                shape((most + 1) * 64, 1, Lru),
                "has 1073741824 lines, more than the 1073741823 that can be modelled",
            ),
            (
                shape(1 << 40, 1, Lru),
                "has 17179869184 lines, more than the 1073741823 that can be modelled",
            ),
            // A set of one way takes the room of eight.
            (
                shape(64 << 29, 1, Lru),
                "makes the machine's caches too large together to be modelled: more than 2³² \
                 entries",
            ),
        ] {
            assert_eq!(geometries(&[cache]).unwrap_err(), format!("cache 0 {why}"));
        }
        // Seven times 2²⁹ lines have room, and eight times have not.
        let half = shape(64 << 29, 8, Lru);
        assert_eq!(geometries(&[half; 7]).unwrap()[6].sets, 1 << 26);
        let error = geometries(&[half; 8]).unwrap_err();
        assert!(error.starts_with("cache 7 makes the machine's caches too large"), "{error}");
    }

    #[test]
    fn the_victim_is_in_the_half_not_used_last() {
        let bits = (0..4).fold(0, |bits, way| plru_used(bits, 4, way));
        let first = plru_used(bits, 4, 0);
        let second = plru_used(first, 4, 2);
        assert_eq!([bits, first, second].map(|bits| plru_victim(bits, 4)), [0, 2, 1]);
    }

    #[test]
    fn the_way_just_used_is_never_the_victim() {
        let mut bits = 0;
        for i in 0..1000usize {
            let way = i * 7 % 64;
            bits = plru_used(bits, 64, way);
            assert_ne!(plru_victim(bits, 64), way);
        }
    }
}
