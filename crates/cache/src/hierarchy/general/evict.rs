//! Eviction: where the lines go that make room.

use super::{General, directory::take};
use crate::{
    hierarchy::layout::{Layout, NONE, Role, Steps},
    lanes::{LINE, Lanes},
    sets::{DIRTY, EMPTY, ORPHAN},
};

impl General {
    /// `entry` has made room in the cache of step `i`. As [`Self::evict`], with short cuts for
    /// common roles. Returns how many lines were written to memory.
    #[inline(always)]
    pub(super) fn evict_from<L: Lanes, const H: usize>(
        &mut self,
        layout: &Layout,
        lanes: L,
        steps: Steps,
        i: usize,
        entry: u32,
    ) -> u8 {
        if entry == EMPTY {
            return 0;
        }
        let step = &steps.steps[i];
        let line = entry & LINE;
        match step.role {
            Role::Inner if entry & ORPHAN == 0 => {
                if entry & DIRTY != 0 {
                    self.store.flag(lanes, &step.neighbour, line, DIRTY, 0);
                    self.counts[step.cache as usize].writebacks.0 += 1;
                }
                0
            }
            Role::Outer => {
                // The cache above is inclusive, so it has the line, and the directory knows whether
                // it is modified.
                self.counts[step.cache as usize].writebacks.0 += u64::from(entry >> 31);
                if self.store.flag(lanes, &step.neighbour, line, ORPHAN, 0).is_none() {
                    self.directory.clear(line, step.chain);
                }
                0
            }
            Role::Tracked => {
                let row = self.directory.row_mut(line);
                let mut gone = 0;
                for (word, below) in row.iter().zip(&steps.below[i * H..][..H]) {
                    gone |= word & below;
                }
                if gone != 0 {
                    return self.evict::<L, H>(layout, lanes, step.cache, entry);
                }
                take(&mut row[(step.chain / 64) as usize], step.chain);
                let bit = layout.modified;
                let dirty = take(&mut row[(bit / 64) as usize], bit);
                self.counts[step.cache as usize].writebacks.0 += u64::from(dirty);
                self.totals.memory_writes.0 += u64::from(dirty);
                u8::from(dirty)
            }
            _ => self.evict::<L, H>(layout, lanes, step.cache, entry),
        }
    }

    /// `entry` has made room in `cache`: passes it on, and any entries that make room for it in
    /// turn. Returns how many lines were written to memory.
    ///
    /// A dirty line goes to the cache above, which takes it in if it does not have it; a clean one
    /// only where that is a victim cache. An inclusive cache takes the line from the caches below
    /// as well. A write-back is not a use: it leaves the order of recency alone.
    #[inline(never)]
    pub(super) fn evict<L: Lanes, const H: usize>(
        &mut self,
        layout: &Layout,
        lanes: L,
        mut cache: u32,
        mut entry: u32,
    ) -> u8 {
        let mut written = 0;
        while entry != EMPTY {
            let info = layout.caches[cache as usize];
            let line = entry & LINE;
            let mut dirty = entry & DIRTY != 0;
            let mut inner_has = false;
            if info.inclusive {
                dirty |= self.remove_below::<L, H>(layout, lanes, cache, line);
            } else if info.inner != NONE {
                let inner = &layout.caches[info.inner as usize];
                inner_has = self.store.flag(lanes, &inner.geometry, line, ORPHAN, 0).is_some();
            }
            if info.tracked {
                dirty = self.directory.take_modified(line);
            }
            let next = self.hand_up(layout, lanes, cache, line, dirty);
            written += u8::from(dirty && info.parent == NONE);
            // The chain still has the line where another of its caches does. The entry of an inner
            // cache says whether the next one has it; of the outermost it says nothing.
            let gone = match (info.inner_of_chain, info.inner) {
                (false, NONE) => true,
                (false, inner) if inner_has || layout.caches[inner as usize].inner == NONE => {
                    !inner_has
                }
                (true, _) if entry & ORPHAN == 0 => false,
                _ => !self.chain_has(layout, lanes, info.chain, line),
            };
            if gone {
                self.directory.clear(line, info.chain);
            }
            (cache, entry) = (info.parent, next);
        }
        written
    }

    /// Passes a line to the cache above `cache`. Returns the entry that has to make room there.
    #[inline(always)]
    fn hand_up<L: Lanes>(
        &mut self,
        layout: &Layout,
        lanes: L,
        cache: u32,
        line: u32,
        dirty: bool,
    ) -> u32 {
        let info = &layout.caches[cache as usize];
        if dirty {
            self.counts[cache as usize].writebacks.0 += 1;
        }
        if info.parent == NONE {
            self.totals.memory_writes.0 += u64::from(dirty);
            return EMPTY;
        }
        let above = &layout.caches[info.parent as usize];
        if !dirty {
            if !above.exclusive || self.store.peek(lanes, &above.geometry, line).is_some() {
                return EMPTY;
            }
            return self.bring_in(layout, lanes, info.parent, line);
        }
        // A tracked cache is inclusive and has the line, and the directory knows that it is
        // modified.
        if above.tracked {
            return EMPTY;
        }
        let may_have = info.inner_of_chain || self.directory.bit(line, above.chain);
        if may_have && self.store.flag(lanes, &above.geometry, line, DIRTY, 0).is_some() {
            return EMPTY;
        }
        self.bring_in(layout, lanes, info.parent, line | DIRTY)
    }

    /// Puts a line into `cache`, which does not have it. Returns the entry that has to make room.
    #[inline(always)]
    pub(super) fn bring_in<L: Lanes>(
        &mut self,
        layout: &Layout,
        lanes: L,
        cache: u32,
        entry: u32,
    ) -> u32 {
        let info = &layout.caches[cache as usize];
        let line = entry & LINE;
        // Whether the next cache of the chain has the line is not known here: say that it may not.
        let orphan = if info.inner_of_chain { ORPHAN } else { 0 };
        let flags = entry & DIRTY | orphan;
        let lookup = self.store.touch(lanes, (cache, &info.geometry), line, 0, flags);
        self.directory.set(line, info.chain);
        lookup.old
    }
}
