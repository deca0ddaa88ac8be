//! The way of one access through the caches.

use befit_machine::WorkerId;

use super::{
    Hierarchy, cluster_of,
    directory::{assign, take},
    layout::{MAX_DEPTH, Path},
};
use crate::{
    Access, Found,
    lanes::{LINE, Lanes},
    sets::{DIRTY, EMPTY, ORPHAN},
};

/// What the way up found.
struct Way {
    /// The step whose cache has the line; the number of steps where none has.
    found: usize,
    /// Its entry there.
    entry: u32,
    /// Per step passed, the entry that made room.
    victims: [u32; MAX_DEPTH],
}

/// A line found in the worker's own `cache`, and nothing else to tell.
#[inline(always)]
fn own(cache: u32) -> Access {
    Access { found: Found::Own(cluster_of(cache)), invalidated: false, written_back: 0 }
}

impl Hierarchy {
    /// One access, on `lanes`, with `H` words of chains in a row of the directory.
    ///
    /// All caches that miss take the line in at once, each picking the entry that makes room; then other workers'
    /// copies are dealt with; then the entries that made room go their way, the outermost first.
    #[inline(always)]
    pub(super) fn access_with<L: Lanes, const H: usize>(
        &mut self,
        lanes: L,
        worker: WorkerId,
        line: u32,
        write: bool,
    ) -> Access {
        assert!(line < self.lines, "line {line} is beyond the {} lines of the hierarchy", self.lines);
        let path = self.layout.paths[worker.index()];
        let mut way = Way { found: path.steps().len(), entry: 0, victims: [EMPTY; MAX_DEPTH] };
        if let Some(step) = self.layout.steps[path.steps()].first() {
            let dirty = if write { DIRTY } else { 0 };
            let tally = &mut self.tallies[step.cache as usize];
            tally.direct += 1;
            let touch = self.store.touch(lanes, (step.cache, &step.geometry), line, dirty, dirty | step.fill);
            if touch.hit {
                if path.private > 0 && (!write || touch.old & DIRTY != 0) {
                    return own(step.cache);
                }
                way.found = 0;
                way.entry = touch.old;
            } else {
                tally.misses += 1;
                way.victims[0] = touch.old;
                self.climb(lanes, path, line, &mut way);
            }
        }
        // Within a private chain, what is dirty is nobody else's, and what is read there needs no leave.
        let mut access = if way.found < path.private as usize && (!write || way.entry & DIRTY != 0) {
            own(self.layout.steps[path.start as usize + way.found].cache)
        } else {
            self.consult::<L, H>(lanes, worker, path, line, write, &mut way)
        };
        let steps = &self.layout.steps[path.steps()];
        if way.found > 0 && steps.get(way.found).is_some_and(|s| s.victims_only) {
            self.leave_victim_cache::<L, H>(lanes, worker, path, line, way.found);
        }
        self.join_victims(path, &mut way);
        for i in (0..way.found.min(path.steps().len())).rev() {
            access.written_back += self.make_room::<L, H>(lanes, path.start as usize + i, way.victims[i]);
        }
        access
    }

    /// Looks for the line above the innermost cache, taking it in on the way.
    #[inline(always)]
    fn climb<L: Lanes>(&mut self, lanes: L, path: Path, line: u32, way: &mut Way) {
        let steps = &self.layout.steps[path.steps()];
        // (The bound is never reached; it tells the compiler that the index is within `victims`.)
        for (i, step) in steps.iter().enumerate().skip(1).take(MAX_DEPTH - 1) {
            if step.victims_only {
                if let Some(entry) = self.store.peek(lanes, &step.geometry, line) {
                    (way.found, way.entry) = (i, entry);
                    return;
                }
            } else {
                let touch = self.store.touch(lanes, (step.cache, &step.geometry), line, 0, step.fill);
                if touch.hit {
                    (way.found, way.entry) = (i, touch.old);
                    return;
                }
                way.victims[i] = touch.old;
            }
            self.tallies[step.cache as usize].misses += 1;
        }
    }

    /// Looks the line up in the directory, deals with other workers' copies and enters the new ones.
    #[inline(always)]
    fn consult<L: Lanes, const H: usize>(
        &mut self,
        lanes: L,
        worker: WorkerId,
        path: Path,
        line: u32,
        write: bool,
        way: &mut Way,
    ) -> Access {
        let steps = &self.layout.steps[path.steps()];
        let bit = self.layout.modified;
        let row = self.directory.row_mut(line);
        let mut others = [0u64; H];
        let mut any = 0;
        for (h, mask) in self.layout.others[worker.index() * H..][..H].iter().enumerate() {
            others[h] = row[h] & mask;
            any |= others[h];
        }
        for step in &steps[..way.found] {
            let lost = take(&mut row[(step.lost / 64) as usize], step.lost);
            self.tallies[step.cache as usize].coherence_misses += u64::from(lost);
        }
        let last = way.found.min(steps.len().wrapping_sub(1));
        if let Some(filled) = self.layout.filled.get((path.start as usize).wrapping_add(last).wrapping_mul(H)..) {
            for (word, filled) in row.iter_mut().zip(&filled[..if steps.is_empty() { 0 } else { H }]) {
                *word |= filled;
            }
        }
        let word = &mut row[(bit / 64) as usize];
        let modified = *word >> (bit % 64) & 1 != 0;
        let known = way.found < steps.len() || any != 0;
        // Nobody had it: then it is modified only by this access. (A worker without caches writes to memory.)
        assign(word, bit, if write { !steps.is_empty() } else { modified && known });
        let mut access = Access { found: Found::Memory, invalidated: false, written_back: 0 };
        if let Some(step) = steps.get(way.found) {
            access.found = Found::Own(cluster_of(step.cache));
        } else if any != 0 {
            access.found = self.elsewhere(path, &others);
        } else {
            self.memory_reads += 1;
        }
        if any != 0 && write {
            self.invalidate(lanes, line, &others);
            access.invalidated = true;
        } else if any != 0 && modified {
            let on_no_path = way.found == path.steps().len();
            let (written, brought_in) = self.downgrade::<L, H>(lanes, path, line, &others, on_no_path);
            access.written_back += written;
            if brought_in {
                // Another line had to leave: what the flags of the entries in flight say of the caches above is old.
                way.victims.iter_mut().for_each(|v| *v |= ORPHAN);
            }
        }
        if write && path.steps().is_empty() {
            self.memory_writes += 1;
            access.written_back += 1;
        }
        access
    }

    /// Where a line is that is on no cache of the path, but in some of the chains `others`.
    #[inline(always)]
    fn elsewhere<const H: usize>(&mut self, path: Path, others: &[u64; H]) -> Found {
        match self.common(path, others) {
            Some(cache) => {
                self.sibling_hits += 1;
                Found::Sibling(cluster_of(cache))
            }
            None => {
                self.remote_hits += 1;
                Found::Remote
            }
        }
    }

    /// The innermost cache on the path that has one of the chains `others` below it.
    #[inline(always)]
    pub(super) fn common<const H: usize>(&self, path: Path, others: &[u64; H]) -> Option<u32> {
        let below = self.layout.below_step[path.start as usize * H..path.end as usize * H].chunks_exact(H);
        let steps = &self.layout.steps[path.steps()];
        let mut meets = steps.iter().zip(below).filter(|(_, below)| below.iter().zip(others).any(|(b, o)| b & o != 0));
        meets.next().map(|(step, _)| step.cache)
    }

    /// A hit in a victim cache: the line moves to the innermost cache, or stays where other workers below share it
    /// (else a modified line would have copies beside it; AMD's victim caches keep shared lines as well).
    #[inline(never)]
    fn leave_victim_cache<L: Lanes, const H: usize>(
        &mut self,
        lanes: L,
        worker: WorkerId,
        path: Path,
        line: u32,
        found: usize,
    ) {
        let steps = &self.layout.steps[path.steps()];
        let (step, inner, leaf) = (&steps[found], &steps[found - 1], &steps[0]);
        let row = self.directory.row(line);
        let below = &self.layout.below[step.chain as usize * H..][..H];
        let others = &self.layout.others[worker.index() * H..][..H];
        if (0..H).any(|h| row[h] & below[h] & others[h] != 0) {
            self.store.touch(lanes, (step.cache, &step.geometry), line, 0, 0);
            return;
        }
        let entry = self.store.remove(lanes, &step.geometry, line);
        if entry.is_some_and(|e| e & DIRTY != 0) {
            self.store.flag(lanes, &leaf.geometry, line, DIRTY, 0);
        }
        if inner.chain != step.chain && !self.chain_has(lanes, step.chain, line) {
            self.directory.clear(line, step.chain);
        }
    }

    /// Whether some cache of `chain` has `line`.
    pub(super) fn chain_has<L: Lanes>(&self, lanes: L, chain: u32, line: u32) -> bool {
        let caches = &self.layout.chains[chain as usize].caches;
        caches.iter().any(|c| self.store.peek(lanes, &self.layout.caches[*c as usize].geometry, line).is_some())
    }

    /// One line may make room in several caches at once. Under an inclusive cache it leaves but once; otherwise note
    /// that the cache above no longer has it.
    #[inline(always)]
    fn join_victims(&self, path: Path, way: &mut Way) {
        let passed = way.found.min(MAX_DEPTH);
        for outer in 1..passed {
            for inner in 0..outer {
                let same = (way.victims[inner] ^ way.victims[outer]) & LINE == 0;
                if same && way.victims[inner] != EMPTY {
                    let cache = self.layout.steps[path.start as usize + outer].cache;
                    if self.layout.caches[cache as usize].inclusive {
                        way.victims[outer] |= way.victims[inner] & DIRTY;
                        way.victims[inner] = EMPTY;
                    } else {
                        way.victims[inner] |= ORPHAN;
                    }
                }
            }
        }
    }
}
