//! The way of one access through the caches.

use befit_machine::WorkerId;

use super::{
    Hierarchy, cluster_of,
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
        assert!(line < self.lines, "line {line} of {}", self.lines);
        let path = self.layout.paths[worker.index()];
        let mut way = Way { found: path.len as usize, entry: 0, victims: [EMPTY; MAX_DEPTH] };
        if path.len > 0 {
            let step = self.layout.steps[path.start as usize];
            let dirty = if write { DIRTY } else { 0 };
            let tally = &mut self.tallies[step.cache as usize];
            tally.direct += 1;
            let touch = self.store.touch(lanes, (step.cache, &step.geometry), line, dirty, dirty | step.fill);
            if touch.hit {
                if path.private > 0 && (!write || touch.old & DIRTY != 0) {
                    return Access { found: Found::Own(cluster_of(step.cache)), invalidated: false, written_back: 0 };
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
            let cache = self.layout.steps[path.start as usize + way.found].cache;
            Access { found: Found::Own(cluster_of(cache)), invalidated: false, written_back: 0 }
        } else {
            self.consult::<L, H>(lanes, worker, path, line, write, &mut way)
        };
        let steps = path.start as usize..path.start as usize + path.len as usize;
        if way.found > 0 && way.found < steps.len() && self.layout.steps[steps.start + way.found].victims_only {
            self.leave_victim_cache::<L, H>(lanes, worker, path, line, way.found);
        }
        let passed = way.found.min(steps.len());
        self.join_victims(path, &mut way.victims, passed);
        for i in (0..passed).rev() {
            let step = &self.layout.steps[steps.start + i];
            let victim = way.victims[i];
            // (All flags of an empty entry are set.)
            let forgotten = step.forgets && victim & (DIRTY | ORPHAN) == 0;
            if !forgotten && victim != EMPTY {
                access.written_back += self.evict::<L, H>(lanes, step.cache, victim);
            }
        }
        access
    }

    /// Looks for the line above the innermost cache, taking it in on the way.
    #[inline(always)]
    fn climb<L: Lanes>(&mut self, lanes: L, path: Path, line: u32, way: &mut Way) {
        for i in 1..path.len as usize {
            let step = self.layout.steps[path.start as usize + i];
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
        let len = path.len as usize;
        let row = self.directory.row(line);
        let mut others = [0u64; H];
        let mut any = 0;
        for h in 0..H {
            others[h] = row[h] & self.layout.others[worker.index() * H + h];
            any |= others[h];
        }
        let modified = self.directory.modified(line);
        for i in 0..way.found.min(len) {
            let step = &self.layout.steps[path.start as usize + i];
            let lost = self.directory.take(line, step.lost);
            self.tallies[step.cache as usize].coherence_misses += u64::from(lost);
        }
        let mut access = Access { found: Found::Memory, invalidated: false, written_back: 0 };
        if way.found < len {
            access.found = Found::Own(cluster_of(self.layout.steps[path.start as usize + way.found].cache));
        } else if any != 0 {
            access.found = self.elsewhere(path, &others);
        } else {
            self.memory_reads += 1;
            self.directory.set_modified(line, false);
        }
        if len > 0 {
            let filled = (path.start as usize + way.found.min(len - 1)) * H;
            for h in 0..H {
                self.directory.row_mut(line)[h] |= self.layout.filled[filled + h];
            }
        }
        if write {
            self.directory.set_modified(line, len > 0);
            if any != 0 {
                self.invalidate(lanes, line, &others);
                access.invalidated = true;
            }
            if len == 0 {
                self.memory_writes += 1;
                access.written_back += 1;
            }
        } else if any != 0 && modified {
            let (written, brought_in) = self.downgrade::<L, H>(lanes, path, line, &others, way.found == len);
            access.written_back += written;
            if brought_in {
                // Another line had to leave: what the flags of the entries in flight say of the caches above is old.
                way.victims.iter_mut().for_each(|v| *v |= ORPHAN);
            }
        }
        access
    }

    /// Where a line is that is on no cache of the path, but in some of the chains `others`.
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
    pub(super) fn common<const H: usize>(&self, path: Path, others: &[u64; H]) -> Option<u32> {
        let steps = &self.layout.steps[path.start as usize..][..path.len as usize];
        let above_others = |chain: u32| {
            let below = &self.layout.below[chain as usize * H..][..H];
            below.iter().zip(others).any(|(b, o)| b & o != 0)
        };
        steps.iter().find(|s| above_others(s.chain)).map(|s| s.cache)
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
        let steps = &self.layout.steps[path.start as usize..][..path.len as usize];
        let (step, inner, leaf) = (steps[found], steps[found - 1], steps[0]);
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
    fn join_victims(&self, path: Path, victims: &mut [u32; MAX_DEPTH], passed: usize) {
        for outer in 1..passed {
            for inner in 0..outer {
                let same = (victims[inner] ^ victims[outer]) & LINE == 0;
                if same && victims[inner] != EMPTY {
                    let cache = self.layout.steps[path.start as usize + outer].cache;
                    if self.layout.caches[cache as usize].inclusive {
                        victims[outer] |= victims[inner] & DIRTY;
                        victims[inner] = EMPTY;
                    } else {
                        victims[inner] |= ORPHAN;
                    }
                }
            }
        }
    }
}
