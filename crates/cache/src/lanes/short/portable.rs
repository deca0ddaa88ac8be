//! Short sets in plain Rust.

use super::{ENTRIES, Entries, NO_TAG, Short, TAGS, Tags, Ways};
use crate::lanes::{LINE, Portable};

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
