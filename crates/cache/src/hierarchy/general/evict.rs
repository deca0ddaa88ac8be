//! Eviction: where the lines go that make room.

use super::{General, On};
use crate::{
    hierarchy::layout::{NONE, Role, Steps},
    lanes::{LINE, Lanes},
    sets::{DIRTY, EMPTY, ORPHAN},
};

impl<L: Lanes, const H: usize> On<'_, L, H> {
    /// `entry` has made room in the cache of step `i`. As [`Self::evict`], with short cuts for
    /// common roles. Returns how many lines were written to memory.
    #[inline(always)]
    pub(super) fn evict_from(self, model: &mut General, steps: Steps, i: usize, entry: u32) -> u8 {
        if entry == EMPTY {
            return 0;
        }
        let step = &steps.steps[i];
        let line = entry & LINE;
        match step.role {
            Role::Inner if entry & ORPHAN == 0 => {
                if entry & DIRTY != 0 {
                    model.store.flag(self.lanes, &step.neighbour, line, DIRTY, 0);
                    model.counts[step.cache as usize].writebacks.0 += 1;
                }
                0
            }
            Role::Outer => {
                // The cache above is inclusive, so it has the line, and the directory knows whether
                // it is modified.
                model.counts[step.cache as usize].writebacks.0 += u64::from(entry >> 31);
                if model.store.flag(self.lanes, &step.neighbour, line, ORPHAN, 0).is_none() {
                    model.directory.release(line, step.chain);
                }
                0
            }
            Role::Tracked => {
                let any_below = if H == 0 {
                    let mut held = model.directory.lists(line).held();
                    held.any(|chain| self.is_below(chain, step.workers))
                } else {
                    let row = model.directory.row(line).iter();
                    row.zip(&steps.below[i * H..][..H]).any(|(word, below)| word & below != 0)
                };
                if any_below {
                    return self.evict(model, step.cache, entry);
                }
                model.directory.release(line, step.chain);
                let dirty = model.directory.take_modified(line);
                model.counts[step.cache as usize].writebacks.0 += u64::from(dirty);
                model.totals.memory_writes.0 += u64::from(dirty);
                u8::from(dirty)
            }
            _ => self.evict(model, step.cache, entry),
        }
    }

    /// `entry` has made room in `cache`: passes it on, and any entries that make room for it in
    /// turn. Returns how many lines were written to memory.
    ///
    /// A dirty line goes to the cache above, which takes it in if it does not have it; a clean one
    /// only where that is a victim cache. An inclusive cache takes the line from the caches below
    /// as well. A write-back is not a use: it leaves the order of recency alone.
    #[inline(never)]
    pub(super) fn evict(self, model: &mut General, mut cache: u32, mut entry: u32) -> u8 {
        let mut written = 0;
        while entry != EMPTY {
            let info = self.layout.caches[cache as usize];
            let line = entry & LINE;
            let mut dirty = entry & DIRTY != 0;
            let mut inner_has = false;
            if info.inclusive {
                dirty |= self.remove_below(model, cache, line);
            } else if info.inner != NONE {
                let inner = &self.layout.caches[info.inner as usize];
                inner_has =
                    model.store.flag(self.lanes, &inner.geometry, line, ORPHAN, 0).is_some();
            }
            if info.tracked {
                dirty = model.directory.take_modified(line);
            }
            let next = self.hand_up(model, cache, line, dirty);
            written += u8::from(dirty && info.parent == NONE);
            // The chain still has the line where another of its caches does. The entry of an inner
            // cache says whether the next one has it. That of the outermost says whether the line
            // may have come back, since another that had to leave was the same line.
            let gone = match (info.inner_of_chain, info.inner) {
                (false, _) if entry & ORPHAN != 0 => !self.chain_has(model, info.chain, line),
                (false, NONE) => true,
                (false, inner) if inner_has || self.layout.caches[inner as usize].inner == NONE => {
                    !inner_has
                }
                (true, _) if entry & ORPHAN == 0 => false,
                _ => !self.chain_has(model, info.chain, line),
            };
            if gone {
                model.directory.release(line, info.chain);
            }
            (cache, entry) = (info.parent, next);
        }
        written
    }

    /// Passes a line to the cache above `cache`. Returns the entry that has to make room there.
    #[inline(always)]
    fn hand_up(self, model: &mut General, cache: u32, line: u32, dirty: bool) -> u32 {
        let info = &self.layout.caches[cache as usize];
        if dirty {
            model.counts[cache as usize].writebacks.0 += 1;
        }
        if info.parent == NONE {
            model.totals.memory_writes.0 += u64::from(dirty);
            return EMPTY;
        }
        let above = &self.layout.caches[info.parent as usize];
        if !dirty {
            if !above.exclusive || model.store.peek(self.lanes, &above.geometry, line).is_some() {
                return EMPTY;
            }
            return self.bring_in(model, info.parent, line);
        }
        // A tracked cache is inclusive and has the line, and the directory knows that it is
        // modified.
        if above.tracked {
            return EMPTY;
        }
        let may_have = info.inner_of_chain || model.directory.held(line, above.chain);
        if may_have && model.store.flag(self.lanes, &above.geometry, line, DIRTY, 0).is_some() {
            return EMPTY;
        }
        self.bring_in(model, info.parent, line | DIRTY)
    }

    /// Puts a line into `cache`, which does not have it. Returns the entry that has to make room.
    #[inline(always)]
    pub(super) fn bring_in(self, model: &mut General, cache: u32, entry: u32) -> u32 {
        let info = &self.layout.caches[cache as usize];
        let line = entry & LINE;
        // Whether the next cache of the chain has the line is not known here: say that it may not.
        let orphan = if info.inner_of_chain { ORPHAN } else { 0 };
        let flags = entry & DIRTY | orphan;
        let lookup = model.store.touch(self.lanes, (cache, &info.geometry), line, 0, flags);
        model.directory.hold(line, info.chain);
        lookup.old
    }
}
