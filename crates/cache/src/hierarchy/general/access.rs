//! The way of one access through the caches.

use befit_machine::WorkerId;

use super::{
    General, On,
    coherence::bits,
    directory::{assign, take},
};
use crate::{
    Access, Found,
    hierarchy::{
        LineAccess, cluster_of,
        layout::{Layout, MAX_DEPTH, NONE, Steps, has},
    },
    lanes::{LINE, Lanes},
    sets::{DIRTY, EMPTY, ORPHAN},
};

/// The result of the way up.
struct Way {
    /// The step whose cache has the line; the number of steps where none has.
    found: usize,
    /// Its entry there.
    entry: u32,
    /// Per step passed, the entry that made room.
    victims: [u32; MAX_DEPTH],
}

/// A line found in the worker's own `cache`, without further effects.
#[inline(always)]
fn own(cache: u32) -> Access {
    Access { found: Found::Own(cluster_of(cache)), invalidated: false, written_back: 0 }
}

impl<L: Lanes, const H: usize> On<'_, L, H> {
    /// One access.
    ///
    /// All caches that miss take the line in at once, each picking the entry that makes room; then
    /// other workers' copies are dealt with; then the entries that made room go their way, the
    /// outermost first.
    #[inline(always)]
    pub(in crate::hierarchy) fn access(self, model: &mut General, access: LineAccess) -> Access {
        let LineAccess { worker, line, write } = access;
        let lines = model.lines;
        assert!(line < lines, "line {line} is beyond the {lines} lines of the hierarchy");
        let path = self.layout.paths[worker.index()];
        let steps = self.layout.steps::<H>(path, worker.index());
        let mut way = Way { found: steps.steps.len(), entry: 0, victims: [EMPTY; MAX_DEPTH] };
        if let Some(step) = steps.steps.first() {
            let dirty = if write { DIRTY } else { 0 };
            let counts = &mut model.counts[step.cache as usize];
            counts.accesses.0 += 1;
            let cache = (step.cache, &step.geometry);
            let lookup = model.store.touch(self.lanes, cache, line, dirty, dirty | step.fill);
            if lookup.hit {
                if path.private > 0 && (!write || lookup.old & DIRTY != 0) {
                    return own(step.cache);
                }
                way.found = 0;
                way.entry = lookup.old;
            } else {
                counts.misses.0 += 1;
                way.victims[0] = lookup.old;
                self.climb(model, steps, line, &mut way);
            }
        }
        self.finish(model, steps, path.private as usize, access, way)
    }

    #[inline(always)]
    fn finish(
        self,
        model: &mut General,
        steps: Steps,
        private: usize,
        access: LineAccess,
        mut way: Way,
    ) -> Access {
        let LineAccess { write, .. } = access;
        // Within a private chain, a dirty line has no other sharers, and a read needs no leave.
        let mut outcome = if way.found < private && (!write || way.entry & DIRTY != 0) {
            own(steps.steps[way.found].cache)
        } else {
            self.consult(model, steps, access, &mut way)
        };
        if way.found > 0 && steps.steps.get(way.found).is_some_and(|s| s.victims_only) {
            self.leave_victim_cache(model, steps, access, way.found);
        }
        // From the step that has the line on there are no victims.
        join_victims(self.layout, steps, &mut way.victims);
        for (i, entry) in way.victims.iter().enumerate().take(steps.steps.len()).rev() {
            outcome.written_back += self.evict_from(model, steps, i, *entry);
        }
        outcome
    }

    /// Looks for the line above the innermost cache, taking it in on the way.
    #[inline(always)]
    fn climb(self, model: &mut General, steps: Steps, line: u32, way: &mut Way) {
        for (i, step) in steps.steps.iter().enumerate().skip(1) {
            if step.victims_only {
                if let Some(entry) = model.store.peek(self.lanes, &step.geometry, line) {
                    (way.found, way.entry) = (i, entry);
                    return;
                }
            } else {
                let cache = (step.cache, &step.geometry);
                let lookup = model.store.touch(self.lanes, cache, line, 0, step.fill);
                if lookup.hit {
                    (way.found, way.entry) = (i, lookup.old);
                    return;
                }
                way.victims[i % MAX_DEPTH] = lookup.old;
            }
            model.counts[step.cache as usize].misses.0 += 1;
        }
    }

    /// Looks the line up in the directory, deals with other workers' copies and enters the new
    /// ones.
    #[inline(always)]
    fn consult(
        self,
        model: &mut General,
        steps: Steps,
        LineAccess { worker, line, write }: LineAccess,
        way: &mut Way,
    ) -> Access {
        let depth = steps.steps.len();
        let mut others = std::mem::take(&mut model.others);
        others.clear();
        let modified = if H == 0 {
            self.enter_in_lists(model, steps, LineAccess { worker, line, write }, way, &mut others)
        } else {
            self.enter_in_row(model, steps, LineAccess { worker, line, write }, way, &mut others)
        };
        let mut access = Access { found: Found::Memory, invalidated: false, written_back: 0 };
        if let Some(step) = steps.steps.get(way.found) {
            access.found = Found::Own(cluster_of(step.cache));
        } else if !others.is_empty() {
            access.found = self.elsewhere(model, steps, &others, worker);
        } else {
            model.totals.memory_reads.0 += 1;
        }
        if !others.is_empty() && write {
            let was_dirty = self.invalidate(model, line, &others, modified);
            access.invalidated = true;
            if let Found::Remote { modified, .. } = &mut access.found {
                *modified = was_dirty;
            }
        } else if !others.is_empty() && modified {
            let on_no_path = way.found == depth;
            let (written, brought_in) = self.downgrade(model, steps, line, &others, on_no_path);
            access.written_back += written;
            if let Found::Remote { modified, .. } = &mut access.found {
                // Nothing is common to both, so a modified copy goes to memory.
                *modified = written > 0;
            }
            if brought_in {
                // Another line had to leave, so that the flags of the entries in flight may be
                // wrong about the caches above.
                way.victims.iter_mut().for_each(|v| *v |= ORPHAN);
            }
        }
        if write && depth == 0 {
            model.totals.memory_writes.0 += 1;
            access.written_back += 1;
        }
        model.others = others;
        access
    }

    /// Enters the path's caches up to the one that had the line in its row, and whether it is
    /// modified now. Adds the chains beside the path that have it to `others`; returns whether it
    /// was modified.
    #[inline(always)]
    fn enter_in_row(
        self,
        model: &mut General,
        steps: Steps,
        LineAccess { line, write, .. }: LineAccess,
        way: &Way,
        others: &mut Vec<u32>,
    ) -> bool {
        let depth = steps.steps.len();
        let row = model.directory.row_mut(line);
        let mut beside = [0u64; H];
        let mut any = 0;
        for ((beside, word), mask) in beside.iter_mut().zip(&*row).zip(steps.others) {
            *beside = word & mask;
            any |= *beside;
        }
        if any != 0 {
            others.extend(bits(beside));
        }
        for (i, step) in steps.steps.iter().enumerate() {
            if i < way.found {
                let lost = take(&mut row[(step.lost / 64) as usize], step.lost);
                model.counts[step.cache as usize].coherence_misses.0 += u64::from(lost);
            }
        }
        if depth > 0 {
            let last = way.found.min(depth - 1);
            for (word, filled) in row.iter_mut().zip(&steps.filled[last * H..][..H]) {
                *word |= filled;
            }
        }
        let bit = self.layout.modified;
        let word = &mut row[(bit / 64) as usize];
        let modified = *word >> (bit % 64) & 1 != 0;
        let known = way.found < depth || any != 0;
        assign(word, bit, stays_modified(write, depth, modified && known));
        modified
    }

    /// As [`Self::enter_in_row`], where the directory has lists.
    #[inline(never)]
    fn enter_in_lists(
        self,
        model: &mut General,
        steps: Steps,
        LineAccess { line, write, .. }: LineAccess,
        way: &Way,
        others: &mut Vec<u32>,
    ) -> bool {
        let depth = steps.steps.len();
        let lists = model.directory.lists_mut(line);
        // The steps whose chain has the line.
        let mut on_path = 0_u32;
        let of_chain = |chain: u32| {
            let here = (0..).zip(steps.steps).filter(move |(_, step)| step.chain == chain);
            here.fold(0, |here, (i, _)| here | 1 << i)
        };
        match steps.steps.get(way.found) {
            // The copies of others stay as they are, however many there are. Up to the step that
            // was found no chain but its own has the line: the caches of the others were passed.
            Some(step) if !write && !lists.modified => on_path = of_chain(step.chain),
            _ => {
                for chain in lists.held() {
                    // A chain with the worker under it is on its path.
                    match of_chain(chain) {
                        0 => others.push(chain),
                        here => on_path |= here,
                    }
                }
            }
        }
        for step in steps.steps.iter().take(way.found) {
            let lost = lists.take_lost(step.lost);
            model.counts[step.cache as usize].coherence_misses.0 += u64::from(lost);
        }
        let mut last = NONE;
        for (i, step) in (0..).zip(steps.steps).take(way.found + 1) {
            if !step.victims_only && on_path >> i & 1 == 0 && step.chain != last {
                lists.hold_new(step.chain);
                last = step.chain;
            }
        }
        let known = way.found < depth || !others.is_empty();
        let modified = lists.modified;
        lists.modified = stays_modified(write, depth, modified && known);
        modified
    }

    /// Where a line is that is on no cache of the path, but in some of the chains `others`. Whether
    /// a copy elsewhere is modified is seen later.
    #[inline(always)]
    fn elsewhere(
        self,
        model: &mut General,
        steps: Steps,
        others: &[u32],
        worker: WorkerId,
    ) -> Found {
        match steps.common(self.layout, others) {
            Some(cache) => {
                model.totals.sibling_hits.0 += 1;
                Found::Sibling(cluster_of(cache))
            }
            None => {
                model.totals.remote_hits.0 += 1;
                let (layout, outermost) = (self.layout, &self.layout.outermost);
                let nearest = others
                    .iter()
                    .map(|chain| layout.roots[*chain as usize])
                    .min_by_key(|child| outermost.distance(worker.index(), *child));
                // There is at least one.
                let from = outermost.cluster(nearest.unwrap_or_default());
                Found::Remote { from, modified: false }
            }
        }
    }

    /// A hit in a victim cache: the line moves to the innermost cache, or stays where other workers
    /// below share it (else a modified line would have copies beside it; AMD's victim caches keep
    /// shared lines as well).
    #[inline(never)]
    fn leave_victim_cache(
        self,
        model: &mut General,
        steps: Steps,
        LineAccess { worker, line, .. }: LineAccess,
        found: usize,
    ) {
        let (step, inner, leaf) = (&steps.steps[found], &steps.steps[found - 1], &steps.steps[0]);
        if self.others_below(model, steps, (worker, line), found) {
            model.store.touch(self.lanes, (step.cache, &step.geometry), line, 0, 0);
            return;
        }
        let entry = model.store.remove(self.lanes, &step.geometry, line);
        if entry.is_some_and(|e| e & DIRTY != 0) {
            model.store.flag(self.lanes, &leaf.geometry, line, DIRTY, 0);
        }
        let filled = inner.chain == step.chain && !inner.victims_only;
        if !filled && !self.chain_has(model, step.chain, line) {
            model.directory.release(line, step.chain);
        }
    }

    /// Whether chains beside the path, below the cache of step `found`, have the line.
    fn others_below(
        self,
        model: &General,
        steps: Steps,
        (worker, line): (WorkerId, u32),
        found: usize,
    ) -> bool {
        if H == 0 {
            let above = steps.steps[found].workers;
            return model.directory.lists(line).held().any(|chain| {
                let under = self.layout.under[chain as usize];
                self.is_below(chain, above) && !has(under, worker.0)
            });
        }
        let row = model.directory.row(line);
        let below = &steps.below[found * H..][..H];
        (0..H).any(|h| row[h] & below[h] & steps.others[h] != 0)
    }

    /// Whether some cache of `chain` has `line`.
    pub(super) fn chain_has(self, model: &General, chain: u32, line: u32) -> bool {
        self.layout.chains[chain as usize].caches.iter().any(|cache| {
            let info = &self.layout.caches[*cache as usize];
            model.store.peek(self.lanes, &info.geometry, line).is_some()
        })
    }
}

/// Whether some cache may be newer than memory after an access: after a write, unless its worker
/// has no caches and writes to memory; after a read, if one was and still is.
#[inline(always)]
fn stays_modified(write: bool, depth: usize, was: bool) -> bool {
    if write { depth > 0 } else { was }
}

/// One line may make room in several caches at once. Under an inclusive cache it leaves but once;
/// otherwise note that the cache above no longer has it.
#[inline(always)]
fn join_victims(layout: &Layout, steps: Steps, victims: &mut [u32; MAX_DEPTH]) {
    for outer in 1..steps.steps.len().min(MAX_DEPTH) {
        for inner in 0..outer {
            let same = (victims[inner] ^ victims[outer]) & LINE == 0;
            if same && victims[inner] != EMPTY {
                if layout.caches[steps.steps[outer].cache as usize].inclusive {
                    victims[outer] |= victims[inner] & DIRTY;
                    victims[inner] = EMPTY;
                } else {
                    victims[inner] |= ORPHAN;
                }
            }
        }
    }
}
