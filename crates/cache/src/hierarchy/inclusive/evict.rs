//! Lines that leave caches: copies that a write takes away, and victims off the common path.

use super::{
    Caches, PENDING, PrefetchPlan,
    rows::{CORES, MOST_CORES, SOCKETS, TO_LOST},
    worker::{INNER, LAST, OUTER, WorkerState},
};
use crate::{
    hierarchy::bits,
    lanes::{EMPTY, Entries, LINE, Short},
    sets::{DIRTY, ORPHAN},
};

impl Caches {
    /// Takes the line away from `others`, by a write.
    #[inline(always)]
    pub(super) fn invalidate<L: Short>(&mut self, lanes: L, plan: PrefetchPlan, others: u64) {
        for socket in bits((others & SOCKETS) >> 32) {
            lanes.take_out(
                &mut self.last[(socket * self.shape.last_stride() + plan.number) as usize],
                plan.tag,
            );
            self.lost[LAST][socket as usize % MOST_CORES] += 1;
        }
        let row = self.rows.at(plan.row);
        row[0] = row[0] & !others | (others & SOCKETS) << TO_LOST;
        if others & CORES != 0 {
            self.invalidate_private(lanes, plan.line, others & CORES);
        }
    }

    #[inline(never)]
    fn invalidate_private<L: Short>(&mut self, lanes: L, line: u32, cores: u64) {
        let mut lost = 0;
        for number in bits(cores) {
            let [inner, outer] = [INNER, OUTER]
                .map(|at| lanes.remove(self.private(number, at, line), line) != EMPTY);
            self.lost[INNER][number as usize % MOST_CORES] += u64::from(inner);
            self.lost[OUTER][number as usize % MOST_CORES] += u64::from(outer);
            lost |= u64::from(inner) << number | u64::from(outer) << (32 + number);
        }
        self.rows.of(line)[1] |= lost;
    }

    /// Another core is about to read the line, which is modified: makes it clean in the private
    /// caches of `cores`.
    #[inline(never)]
    pub(super) fn clean<L: Short>(&mut self, lanes: L, line: u32, cores: u64) {
        for core in bits(cores) {
            for at in [INNER, OUTER] {
                let set = self.private(core, at, line);
                let way = lanes.find(set, line).trailing_zeros() as usize;
                if let Some(entry) = set.0.get_mut(way) {
                    *entry &= !(DIRTY | if at == OUTER { PENDING } else { 0 });
                }
            }
        }
    }

    /// A miss of a core's caches on a line that some of them lost to a write.
    #[inline(never)]
    pub(super) fn was_lost(&mut self, worker: &mut WorkerState, line: u32) {
        let row = self.rows.of(line);
        let lost = row[1] & worker.private_lost;
        row[1] &= !lost;
        worker.coherence_misses[INNER] += u64::from(lost & CORES != 0);
        worker.coherence_misses[OUTER] += u64::from(lost & !CORES != 0);
    }

    /// The line leaves the last-level cache: takes it out of the private caches of `cores`.
    pub(super) fn remove_below<L: Short>(&mut self, lanes: L, line: u32, cores: u64) {
        for core in bits(cores) {
            for at in [INNER, OUTER] {
                lanes.remove(self.private(core, at, line), line);
            }
        }
        self.rows.of(line)[0] &= !cores;
    }

    /// The set of `line` in the inner or outer cache of `core`.
    #[inline(always)]
    pub(super) fn private(&mut self, core: u32, at: usize, line: u32) -> &mut Entries {
        let shape = &self.shape;
        if at == INNER {
            &mut self.inner[(core * shape.inner_stride() + (line & shape.inner_sets)) as usize]
        } else {
            &mut self.outer[(core * shape.outer_stride() + (line & shape.outer_sets)) as usize]
        }
    }

    /// Hands on the victims of the inner and the outer cache, and the last-level cache's line, the
    /// outermost first. Returns how many lines were written to memory.
    #[inline(never)]
    pub(super) fn evict<L: Short>(
        &mut self,
        lanes: L,
        worker: &mut WorkerState,
        [mut inner, mut outer]: [u32; 2],
        last: Option<u64>,
    ) -> u8 {
        let last = last.filter(|line| *line < u64::from(self.shape.lines)).map(|line| line as u32);
        // Several caches may evict the same line at once. It leaves the last-level cache but once,
        // and when it has left the outer cache, that cache does not have it.
        if (inner ^ outer) & LINE == 0 {
            inner |= ORPHAN;
            outer &= if outer == EMPTY { EMPTY } else { !PENDING };
        }
        let mut written = 0;
        if let Some(line) = last {
            let gone = |entry: u32| if entry & LINE == line { EMPTY } else { entry };
            (inner, outer) = (gone(inner), gone(outer));
            written = self.evict_last(lanes, worker, line);
        }
        self.evict_outer(lanes, worker, outer);
        if inner != EMPTY {
            let next = self.evict_inner(lanes, worker, inner);
            self.evict_outer(lanes, worker, next);
        }
        written
    }

    /// `line` leaves the last-level cache and with it all caches below.
    fn evict_last<L: Short>(&mut self, lanes: L, worker: &mut WorkerState, line: u32) -> u8 {
        let row = self.rows.of(line);
        let below = row[0] & worker.below;
        let dirty = row[0] >> 63;
        row[0] &= worker.without_last;
        worker.writebacks[LAST] += dirty;
        self.remove_below(lanes, line, below);
        dirty as u8
    }

    /// `entry` has left the inner cache, and the outer one may lack it: it takes a dirty line in.
    /// Returns the entry that has to make room there.
    fn evict_inner<L: Short>(&mut self, lanes: L, worker: &mut WorkerState, entry: u32) -> u32 {
        worker.writebacks[INNER] += u64::from(entry >> 31);
        if entry & ORPHAN == 0 {
            return EMPTY;
        }
        let line = entry & LINE;
        let set = &mut self.outer[(worker.outer + (line & self.shape.outer_sets)) as usize];
        if lanes.flag(set, line, entry & DIRTY) != 0 {
            return EMPTY;
        }
        let row = self.rows.of(line);
        if entry & DIRTY == 0 {
            row[0] &= worker.without_core;
            return EMPTY;
        }
        row[0] |= worker.core_bit;
        lanes.push(set, &self.shape.outer_ways, line | DIRTY)
    }

    /// `entry` has left the outer cache. The last-level cache has it, and the directory knows
    /// whether it is modified.
    fn evict_outer<L: Short>(&mut self, lanes: L, worker: &mut WorkerState, entry: u32) {
        if entry == EMPTY {
            return;
        }
        let line = entry & LINE;
        let set = &mut self.inner[(worker.inner + (line & self.shape.inner_sets)) as usize];
        if lanes.flag(set, line, ORPHAN) != 0 {
            worker.writebacks[OUTER] += u64::from(entry >> 31);
            return;
        }
        worker.writebacks[OUTER] += u64::from(entry & (DIRTY | PENDING) != 0);
        self.rows.of(line)[0] &= worker.without_core;
    }
}
