//! Sets of a fixed length: eight entries, or 32 tags of two bytes.
//!
//! As [`Lanes`](super::Lanes) for sets of any length, for the two lengths that the inclusive model
//! needs. With the length known a set is one vector and every step one instruction, without a loop
//! and without a branch on where the line is.
//!
//! The order of the ways is the order of recency, as in all LRU sets here; ways that hold nothing
//! and the places beyond the last way hold [`EMPTY`] (or [`NO_TAG`]).

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;

use super::{EMPTY, LINE, Portable};

/// Ways of a set of entries, at most.
pub(crate) const ENTRIES: usize = 8;
/// Ways of a set of tags, at most.
pub(crate) const TAGS: usize = 32;
/// Sets that are looked at together.
pub(crate) const BATCH: usize = 16;
/// Figures of a table.
pub(crate) const TABLE: usize = 64;
/// No line here.
pub(crate) const NO_TAG: u16 = u16::MAX;

/// Up to eight entries. Half of a line of the host's caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(align(32))]
pub(crate) struct Entries(pub(crate) [u32; ENTRIES]);

/// Up to 32 tags: line numbers divided by the number of sets, without flags. One line of the host's
/// caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(align(64))]
pub(crate) struct Tags(pub(crate) [u16; TAGS]);

/// How many ways of a set of entries are in use.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "the vector code reads them"))]
pub(crate) struct Ways {
    /// The last of them.
    last: u8,
    /// A bit for each.
    lanes: u8,
    /// All bits of the entry of each.
    entries: Entries,
}

impl Ways {
    /// `ways` of them, 1 to [`ENTRIES`].
    pub(crate) fn new(ways: usize) -> Self {
        let last = (ways.clamp(1, ENTRIES) - 1) as u8;
        let entries = std::array::from_fn(|way| if way <= last as usize { u32::MAX } else { 0 });
        Self { last, lanes: u8::MAX >> (ENTRIES as u8 - 1 - last), entries: Entries(entries) }
    }

    /// The last of them.
    #[inline(always)]
    pub(crate) fn last(&self) -> usize {
        self.last as usize % ENTRIES
    }
}

/// A way to run the inner loops of short sets.
///
/// A set of *hits* has bit i set where way i is of the line in question: at most one, as no set has
/// a line twice.
pub(crate) trait Short: Copy {
    /// Where `line` is.
    fn find(self, set: &Entries, line: u32) -> u32;

    /// Brings the entry of `hits`, which is not empty, to the front, adding `flags`; returns it as
    /// it was.
    fn to_front(self, set: &mut Entries, hits: u32, flags: u32) -> u32;

    /// Puts `entry` in front; returns the one that makes room, which is in the last of `ways`.
    fn push(self, set: &mut Entries, ways: &Ways, entry: u32) -> u32;

    /// Adds `flags` to the entry of `line`, if it is here; returns where.
    fn flag(self, set: &mut Entries, line: u32, flags: u32) -> u32;

    /// Brings `tag` to the front; where it is not here, lets the one in way `last` make room for
    /// it. Returns whether it was here, and the tag that it took the place of.
    fn touch(self, set: &mut Tags, last: usize, tag: u16) -> (bool, u16);

    /// Takes `tag` out and closes the gap; nothing where it is not here.
    fn take_out(self, set: &mut Tags, tag: u16);

    /// The figures of `table` at these places, each modulo its length.
    #[inline(always)]
    fn pick(self, table: &[u32; TABLE], at: &[u32; BATCH]) -> [u32; BATCH] {
        at.map(|at| table[at as usize % TABLE])
    }

    /// The entry in `way` of the sets at these places; of one out of range, any.
    #[inline(always)]
    fn entries(self, sets: &[Entries], at: &[u32; BATCH], way: usize) -> [u32; BATCH] {
        at.map(|at| sets.get(at as usize).map_or(EMPTY, |set| set.0[way % ENTRIES]))
    }

    /// The tag in `way` of the sets at these places; of one out of range, any.
    #[inline(always)]
    fn tags(self, sets: &[Tags], at: &[u32; BATCH], way: usize) -> [u32; BATCH] {
        at.map(|at| u32::from(sets.get(at as usize).map_or(NO_TAG, |set| set.0[way % TAGS])))
    }

    /// The first words of the rows at these places; of one out of range, any.
    #[inline(always)]
    fn words(self, rows: &[[u64; 2]], at: &[u32; BATCH]) -> [u64; BATCH] {
        at.map(|at| rows.get(at as usize).map_or(0, |row| row[0]))
    }

    /// Takes the entry of `line` out and closes the gap; returns it, [`EMPTY`] where there is none.
    #[inline(always)]
    fn remove(self, set: &mut Entries, line: u32) -> u32 {
        let Some(&old) = set.0.get(self.find(set, line).trailing_zeros() as usize) else {
            return EMPTY;
        };
        let mut place = 0;
        for entry in set.0 {
            set.0[place] = entry;
            place += usize::from(entry & LINE != line);
        }
        set.0[ENTRIES - 1] = EMPTY;
        old
    }
}

impl Short for Portable {
    #[inline(always)]
    fn find(self, set: &Entries, line: u32) -> u32 {
        let mut hits = 0;
        for (way, entry) in set.0.iter().enumerate() {
            hits |= u32::from(entry & LINE == line) << way;
        }
        hits
    }

    #[inline(always)]
    fn to_front(self, set: &mut Entries, hits: u32, flags: u32) -> u32 {
        let way = hits.trailing_zeros() as usize % ENTRIES;
        let old = set.0[way];
        set.0.copy_within(..way, 1);
        set.0[0] = old | flags;
        old
    }

    #[inline(always)]
    fn push(self, set: &mut Entries, ways: &Ways, entry: u32) -> u32 {
        let last = ways.last();
        let old = set.0[last];
        set.0.copy_within(..last, 1);
        set.0[0] = entry;
        old
    }

    #[inline(always)]
    fn flag(self, set: &mut Entries, line: u32, flags: u32) -> u32 {
        let hits = self.find(set, line);
        if let Some(entry) = set.0.get_mut(hits.trailing_zeros() as usize) {
            *entry |= flags;
        }
        hits
    }

    #[inline(always)]
    fn touch(self, set: &mut Tags, last: usize, tag: u16) -> (bool, u16) {
        let found = set.0.iter().position(|t| *t == tag);
        let way = found.unwrap_or(last) % TAGS;
        let old = set.0[way];
        set.0.copy_within(..way, 1);
        set.0[0] = tag;
        (found.is_some(), old)
    }

    #[inline(always)]
    fn take_out(self, set: &mut Tags, tag: u16) {
        if let Some(way) = set.0.iter().position(|t| *t == tag) {
            set.0.copy_within(way + 1.., way);
            set.0[TAGS - 1] = NO_TAG;
        }
    }
}
