//! A short cut for the usual machine: each worker below a private pair of LRU caches below an inclusive LRU last-level cache.
//!
//! [`State::access`] is right for every machine, and pays for it: three quarters of its instructions look up what is the same
//! for all accesses of such a machine. Here that is known, and an access costs a third. What does not happen often (a line
//! in flight twice, copies below an inclusive cache's victim, a clean line written to) goes the general way. A property
//! test holds the two against each other.

use super::{
    State, Touch, cluster_of,
    layout::{Layout, Role, Step},
};
use crate::{
    Access, Found,
    lanes::{LINE, Lanes},
    sets::{DIRTY, EMPTY, Geometry, ORPHAN, Store},
};

/// All that an access of one worker needs to know of the machine.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Usual {
    inner: Geometry,
    outer: Geometry,
    last: Geometry,
    /// The three caches.
    caches: [u32; 3],
    /// Masks of the first word of a row. The chains not on the path:
    others: u64,
    /// The private pair:
    pair: u64,
    /// The last-level cache:
    shared: u64,
    /// The chains below the last-level cache:
    below: u64,
    /// All last-level caches:
    tracked: u64,
    /// The modified bit:
    modified: u64,
    /// Word and mask of each cache's lost bit.
    lost: [(u32, u64); 3],
}

/// One [`Usual`] per worker; none where some worker's path is another.
pub(super) fn find(layout: &Layout) -> Vec<Usual> {
    let usual = |worker: usize| usual(layout, worker);
    (0..layout.paths.len()).map(usual).collect::<Option<Vec<_>>>().unwrap_or_default()
}

fn usual(layout: &Layout, worker: usize) -> Option<Usual> {
    let path = layout.paths[worker];
    let [inner, outer, last] = &layout.steps[path.steps()] else { return None };
    let roles = [inner.role, outer.role, last.role] == [Role::Inner, Role::Outer, Role::Tracked];
    let lru = [inner, outer, last].iter().all(|s| s.geometry.lru);
    if layout.words != 1 || !roles || !lru || path.private != 2 {
        return None;
    }
    let tracked = layout.chains.iter().enumerate().filter(|(_, c)| c.tracked).map(|(i, _)| 1 << i).sum();
    let lost = |step: &Step| (step.lost / 64, 1 << (step.lost % 64));
    Some(Usual {
        inner: inner.geometry,
        outer: outer.geometry,
        last: last.geometry,
        caches: [inner.cache, outer.cache, last.cache],
        others: layout.others[worker],
        pair: 1 << inner.chain,
        shared: 1 << last.chain,
        below: layout.below[last.chain as usize],
        tracked,
        modified: 1 << layout.modified,
        lost: [lost(inner), lost(outer), lost(last)],
    })
}

#[inline(always)]
fn own(cache: u32, written_back: u8) -> Access {
    Access { found: Found::Own(cluster_of(cache)), invalidated: false, written_back }
}

impl State {
    /// [`State::prefetch`].
    #[inline(always)]
    pub(super) fn prefetch_usual(&self, usual: &Usual, line: u32) {
        self.directory.prefetch(line);
        self.store.prefetch(&usual.outer, line);
        self.store.prefetch(&usual.last, line);
    }

    /// [`State::prepare`].
    #[inline(always)]
    pub(super) fn prepare_usual(&self, layout: &Layout, usual: &Usual, touch: &Touch) {
        let line = touch.line;
        let word = self.directory.first_word(line);
        if word & usual.pair != 0 {
            return;
        }
        self.directory.prefetch(Store::line_of(self.store.last_in(&usual.outer, line)));
        self.directory.prefetch(Store::line_of(self.store.last_in(&usual.last, line)));
        if touch.write {
            let mut others = word & usual.others & usual.tracked;
            while others != 0 {
                let chain = &layout.chains[others.trailing_zeros() as usize];
                self.store.prefetch(&chain.outermost, line);
                others &= others - 1;
            }
        }
    }

    /// [`State::access`] on the usual machine.
    #[inline(always)]
    pub(super) fn access_usual<L: Lanes>(&mut self, layout: &Layout, usual: &Usual, lanes: L, touch: Touch) -> Access {
        let Touch { line, write, .. } = touch;
        assert!(line < self.lines, "line {line} is beyond the {} lines of the hierarchy", self.lines);
        let [inner, outer, last] = usual.caches;
        let dirty = if write { DIRTY } else { 0 };
        let first = self.store.touch_lru(lanes, &usual.inner, line, dirty, dirty);
        let tally = &mut self.tallies[inner as usize];
        tally.direct += 1;
        if first.hit {
            if !write || first.old & DIRTY != 0 {
                return own(inner, 0);
            }
            return self.rest::<L>(layout, lanes, touch, 0, [EMPTY; 2], first.old);
        }
        tally.misses += 1;
        let second = self.store.touch_lru(lanes, &usual.outer, line, 0, 0);
        if second.hit {
            if write && second.old & DIRTY == 0 {
                return self.rest::<L>(layout, lanes, touch, 1, [first.old, EMPTY], second.old);
            }
            return own(outer, self.inner_makes_room(layout, usual, lanes, first.old));
        }
        self.tallies[outer as usize].misses += 1;
        let third = self.store.touch_lru(lanes, &usual.last, line, 0, 0);

        let row = self.directory.row_mut(line);
        let before = row[0];
        let others = before & usual.others;
        let had = before & (usual.others | usual.shared) != 0;
        // Modified stays as it was for a reader of a line that somebody has.
        let modified = if write {
            usual.modified
        } else if had {
            before & usual.modified
        } else {
            0
        };
        row[0] = before & !usual.modified | usual.pair | usual.shared | modified;
        let mut lost = [false; 3];
        for (lost, (word, mask)) in lost.iter_mut().zip(usual.lost) {
            let word = &mut row[word as usize];
            *lost = *word & mask != 0;
            *word &= !mask;
        }
        self.tallies[inner as usize].coherence_misses += u64::from(lost[0]);
        self.tallies[outer as usize].coherence_misses += u64::from(lost[1]);
        let tally = &mut self.tallies[last as usize];
        let missed = u64::from(!third.hit);
        tally.misses += missed;
        tally.coherence_misses += missed & u64::from(lost[2]);
        let mut access = own(last, 0);
        if !third.hit {
            // What the last-level cache does not have, no cache below it has.
            access.found = if others == 0 { Found::Memory } else { Found::Remote };
            self.memory_reads += u64::from(others == 0);
            self.remote_hits += u64::from(others != 0);
        }
        if others != 0 {
            if write {
                self.invalidate(layout, lanes, line, &[others]);
                access.invalidated = true;
            } else if before & usual.modified != 0 {
                access.written_back += self.share(layout, usual, lanes, touch, others, third.hit);
            }
        }
        let (a, b, c) = (first.old, second.old, if third.hit { EMPTY } else { third.old });
        if (a ^ b) & LINE == 0 || (a ^ c) & LINE == 0 || (b ^ c) & LINE == 0 {
            access.written_back += self.victims(layout, lanes, touch, [a, b, c]);
            return access;
        }
        access.written_back += self.last_makes_room(layout, usual, lanes, c);
        self.outer_makes_room(usual, lanes, b);
        access.written_back += self.inner_makes_room(layout, usual, lanes, a);
        access
    }

    /// A read of a line that others have modified.
    #[inline(always)]
    fn share<L: Lanes>(
        &mut self,
        layout: &Layout,
        usual: &Usual,
        lanes: L,
        touch: Touch,
        others: u64,
        found: bool,
    ) -> u8 {
        if others & !usual.tracked == 0 {
            // Another socket's last-level cache alone: written back, clean there.
            self.directory.row_mut(touch.line)[0] &= !usual.modified;
            self.memory_writes += 1;
            return 1;
        }
        let steps = layout.steps::<1, 3>(layout.paths[touch.worker.index()], touch.worker.index());
        self.downgrade::<L, 1>(layout, lanes, steps, touch.line, &[others], !found).0
    }

    #[inline(always)]
    fn last_makes_room<L: Lanes>(&mut self, layout: &Layout, usual: &Usual, lanes: L, entry: u32) -> u8 {
        if entry == EMPTY {
            return 0;
        }
        let row = &mut self.directory.row_mut(entry & LINE)[0];
        if *row & usual.below != 0 {
            return self.evict::<L, 1>(layout, lanes, usual.caches[2], entry);
        }
        let dirty = *row & usual.modified != 0;
        *row &= !(usual.shared | usual.modified);
        self.tallies[usual.caches[2] as usize].writebacks += u64::from(dirty);
        self.memory_writes += u64::from(dirty);
        u8::from(dirty)
    }

    #[inline(always)]
    fn outer_makes_room<L: Lanes>(&mut self, usual: &Usual, lanes: L, entry: u32) {
        if entry == EMPTY {
            return;
        }
        // The last-level cache has it, and the directory knows whether it is modified.
        self.tallies[usual.caches[1] as usize].writebacks += u64::from(entry >> 31);
        let line = entry & LINE;
        if self.store.flag(lanes, &usual.inner, line, ORPHAN, 0).is_none() {
            self.directory.row_mut(line)[0] &= !usual.pair;
        }
    }

    #[inline(always)]
    fn inner_makes_room<L: Lanes>(&mut self, layout: &Layout, usual: &Usual, lanes: L, entry: u32) -> u8 {
        if entry & ORPHAN != 0 {
            return if entry == EMPTY { 0 } else { self.evict::<L, 1>(layout, lanes, usual.caches[0], entry) };
        }
        if entry & DIRTY != 0 {
            self.store.flag(lanes, &usual.outer, entry & LINE, DIRTY, 0);
            self.tallies[usual.caches[0] as usize].writebacks += 1;
        }
        0
    }

    /// The general way for a clean line that is written to, found at step `found`.
    #[inline(never)]
    fn rest<L: Lanes>(
        &mut self,
        layout: &Layout,
        lanes: L,
        touch: Touch,
        found: usize,
        victims: [u32; 2],
        entry: u32,
    ) -> Access {
        self.after_climb::<L, 1, 3>(layout, lanes, touch, found, entry, &victims)
    }

    /// The general way for lines in flight, some of which are the same.
    #[inline(never)]
    fn victims<L: Lanes>(&mut self, layout: &Layout, lanes: L, touch: Touch, victims: [u32; 3]) -> u8 {
        let steps = layout.steps::<1, 3>(layout.paths[touch.worker.index()], touch.worker.index());
        self.all_make_room::<L, 1>(layout, lanes, steps, &victims)
    }
}
