//! Coherence: an access invalidates or cleans other workers' copies of its line.

use super::{General, On};
use crate::{
    hierarchy::{
        self,
        layout::{NONE, Steps, has},
    },
    lanes::Lanes,
    sets::DIRTY,
};

/// The numbers of the bits that are set.
#[inline(always)]
pub(super) fn bits<const H: usize>(words: [u64; H]) -> impl Iterator<Item = u32> {
    let bits_of = |(h, word)| hierarchy::bits(word).map(move |bit| h as u32 * 64 + bit);
    words.into_iter().enumerate().flat_map(bits_of)
}

impl<L: Lanes, const H: usize> On<'_, L, H> {
    /// A write takes the line away from the chains `others`. A modified copy goes to the writer.
    /// `modified`: the directory's bit before. Returns whether there was a modified copy.
    #[inline(always)]
    pub(super) fn invalidate(
        self,
        model: &mut General,
        line: u32,
        others: &[u32],
        modified: bool,
    ) -> bool {
        let mut was_dirty = false;
        for chain in others {
            for cache in &self.layout.chains[*chain as usize].caches {
                let info = &self.layout.caches[*cache as usize];
                if let Some(entry) = model.store.remove(self.lanes, &info.geometry, line) {
                    was_dirty |= if info.tracked { modified } else { entry & DIRTY != 0 };
                    model.counts[*cache as usize].invalidations.0 += 1;
                    model.directory.lose(line, info.lost);
                }
            }
        }
        for chain in others {
            model.directory.release(line, *chain);
        }
        was_dirty
    }

    /// A read of a line that some of the chains `others` may hold modified: that copy is written
    /// back to the smallest cache common to both, or to memory, and stays where it is, clean.
    ///
    /// `on_no_path`: no cache of the path had the line. Returns how many lines were written to
    /// memory, and whether the common cache had to take the line in.
    #[inline(never)]
    pub(super) fn downgrade(
        self,
        model: &mut General,
        steps: Steps,
        line: u32,
        others: &[u32],
        on_no_path: bool,
    ) -> (u8, bool) {
        let mut dirty = Vec::new();
        for chain in others {
            let chain_info = &self.layout.chains[*chain as usize];
            // A tracked cache of another domain that has the line has it modified: no other can.
            let mut was_dirty = chain_info.tracked;
            if !chain_info.tracked {
                for cache in &chain_info.caches {
                    let info = &self.layout.caches[*cache as usize];
                    let entry = model.store.flag(self.lanes, &info.geometry, line, 0, DIRTY);
                    was_dirty |= entry.is_some_and(|e| info.tracked || e & DIRTY != 0);
                }
            }
            if was_dirty {
                dirty.push(*chain);
            }
        }
        if dirty.is_empty() {
            if on_no_path {
                // No copy is newer than memory; the bit was left over from one that was evicted.
                model.directory.set_modified(line, false);
            }
            return (0, false);
        }
        let Some(common) = steps.common(self.layout, &dirty) else {
            model.directory.set_modified(line, false);
            model.totals.memory_writes.0 += 1;
            return (1, false);
        };
        let info = &self.layout.caches[common as usize];
        if info.tracked || model.store.flag(self.lanes, &info.geometry, line, DIRTY, 0).is_some() {
            return (0, false);
        }
        let evicted = self.bring_in(model, common, line | DIRTY);
        (self.evict(model, common, evicted), true)
    }

    /// Removes the line from the caches below `cache`, which leaves its inclusive cache. Returns
    /// whether some copy was dirty.
    #[inline(always)]
    pub(super) fn remove_below(self, model: &mut General, cache: u32, line: u32) -> bool {
        let info = self.layout.caches[cache as usize];
        let mut dirty = 0;
        let mut inner = info.inner;
        while inner != NONE {
            let below = &self.layout.caches[inner as usize];
            dirty |= model.store.remove(self.lanes, &below.geometry, line).unwrap_or(0);
            inner = below.inner;
        }
        let mut remove = |chain: u32| {
            for cache in &self.layout.chains[chain as usize].caches {
                let info = &self.layout.caches[*cache as usize];
                dirty |= model.store.remove(self.lanes, &info.geometry, line).unwrap_or(0);
            }
        };
        if H == 0 {
            model.directory.lists_mut(line).release_if(|chain| {
                let is_below = self.is_below(chain, info.workers);
                if is_below {
                    remove(chain);
                }
                is_below
            });
        } else {
            let below = &self.layout.below[info.chain as usize * H..][..H];
            let mut gone = [0u64; H];
            let row = model.directory.row_mut(line);
            for ((gone, word), below) in gone.iter_mut().zip(row).zip(below) {
                *gone = *word & below;
                *word &= !below;
            }
            bits(gone).for_each(remove);
        }
        dirty & DIRTY != 0
    }

    /// Whether `chain` is below a cache with these workers.
    pub(super) fn is_below(self, chain: u32, workers: (u32, u32)) -> bool {
        let under = self.layout.under[chain as usize];
        under != workers && has(workers, under.0) && under.1 <= workers.1
    }
}
