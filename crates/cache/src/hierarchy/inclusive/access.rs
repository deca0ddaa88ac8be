//! The way of one access through the caches of the inclusive machine.
//!
//! The last-level cache aside, everything is written for the case that the line is nowhere: an
//! access of a large working set misses everywhere, and is the dearest.

use std::hint::select_unpredictable;

use befit_machine::ClusterId;

use super::{
    Caches, Inclusive, PENDING, PrefetchPlan, Shape,
    plan::Planned,
    rows::{CORES, MODIFIED, MOST_WORKERS, SOCKETS, place},
    worker::{INNER, LAST, OUTER, REMOTE, WorkerState},
};
use crate::{
    Access, Found,
    lanes::{EMPTY, LINE, NO_TAG, Short},
    sets::{DIRTY, ORPHAN},
};

impl Inclusive {
    /// One access, on `lanes`; writes its effects to `outcome`.
    #[inline(always)]
    pub(in crate::hierarchy) fn access<L: Short>(
        &mut self,
        lanes: L,
        shape: &Shape,
        plan: impl Planned,
        outcome: &mut Access,
    ) {
        let (line, dirty) = (plan.line(), plan.dirty());
        let Self { workers, caches, .. } = self;
        let worker = &mut workers[plan.worker() as usize % MOST_WORKERS];

        let inner = at(&mut caches.inner, plan.inner());
        let hits = lanes.find(inner, line);
        if hits != 0 {
            let old = lanes.to_front(inner, hits, dirty);
            worker.found[INNER] += 1;
            *outcome =
                Access { found: worker.outcomes[INNER], invalidated: false, written_back: 0 };
            // A line that is dirty in a private cache has no other sharers, and a read needs no
            // leave.
            if dirty & !old != 0 {
                outcome.invalidated = caches.claim(lanes, worker, plan.all());
            }
            return;
        }
        let inner_before = *inner;
        let inner_out = lanes.push(inner, &shape.inner_ways, line | dirty);

        let pending = dirty / (DIRTY / PENDING);
        let outer = at(&mut caches.outer, plan.outer());
        let hits = lanes.find(outer, line);
        if hits != 0 {
            let old = lanes.to_front(outer, hits, pending);
            worker.found[OUTER] += 1;
            *outcome =
                Access { found: worker.outcomes[OUTER], invalidated: false, written_back: 0 };
            if old & PENDING != 0 {
                // The inner cache has written it back since.
                outer.0[0] = line | DIRTY | pending;
            } else if dirty & !old != 0 {
                outcome.invalidated = caches.claim(lanes, worker, plan.all());
            }
            if inner_out & ORPHAN == 0 {
                worker.writebacks[INNER] += u64::from(inner_out >> 31);
            } else {
                outcome.written_back = caches.evict(lanes, worker, [inner_out, EMPTY], None);
            }
            return;
        }
        let outer_out = lanes.push(outer, &shape.outer_ways, line | pending);
        // If the inner cache has the outer one's victim, or has just evicted it too, it was in this
        // set.
        let inside = lanes.find(&inner_before, outer_out & LINE);
        let unusual = inner_out & ORPHAN | inside != 0;

        let (hit, old) = lanes.touch(at(&mut caches.last, plan.last()), shape.last_way, plan.tag());
        // A way is often empty, as its line was taken away by a write.
        let last_out = shape.line(select_unpredictable(hit, NO_TAG, old), plan.number());
        let row_out = select_unpredictable(unusual, usize::MAX, caches.rows.place(last_out));

        let row = caches.rows.at(plan.row());
        let before = row[0];
        let others = before & worker.others;
        let written = u64::from(dirty) << 32;
        // A line that is modified, but not here, is another socket's: a reader shares it, and it is
        // written to memory.
        let shared = before & !written & u64::from(!hit) << 63;
        row[0] = (before & !(worker.lost | shared)) | worker.held | written;
        let lost = row[1] & worker.private_lost;
        worker.coherence_misses[LAST] += u64::from(before & worker.lost != 0);
        let nearest = LAST + usize::from(!hit) * (REMOTE - LAST + usize::from(others == 0));
        worker.found[nearest % worker.found.len()] += 1;
        worker.shared += shared >> 63;
        let found = worker.outcomes[nearest % worker.outcomes.len()];
        let remote =
            Found::Remote { from: caches.supplier(worker, others), modified: before >> 63 != 0 };
        let found = select_unpredictable(nearest == REMOTE, remote, found);
        *outcome = Access { found, invalidated: false, written_back: (shared >> 63) as u8 };
        let cleaned = if others & 0u64.wrapping_sub(written >> 63) != 0 {
            caches.invalidate(lanes, plan.all(), others);
            outcome.invalidated = true;
            0
        } else {
            // A reader shares the line; else there are no others.
            others & CORES & 0u64.wrapping_sub(before >> 63)
        };
        if cleaned | lost != 0 {
            caches.clean(lanes, line, cleaned);
            caches.was_lost(worker, line);
        }

        // No copy below the last-level cache's victim.
        let common = |row: &&mut [u64; 2]| row[0] & worker.below == 0;
        let Some(row) = caches.rows.get(row_out).filter(common) else {
            outcome.written_back +=
                caches.evict(lanes, worker, [inner_out, outer_out], Some(last_out));
            return;
        };
        let modified = row[0] >> 63;
        row[0] &= worker.without_last;
        worker.writebacks[LAST] += modified;
        worker.writebacks[INNER] += u64::from(inner_out >> 31);
        outcome.written_back += modified as u8;
        if let Some(row) = caches.rows.get(place(u64::from(outer_out & LINE))) {
            row[0] &= worker.without_core;
            worker.writebacks[OUTER] += u64::from(outer_out & (DIRTY | PENDING) != 0);
        }
    }
}

/// The set that a plan has found.
#[inline(always)]
fn at<T>(sets: &mut [T], place: u32) -> &mut T {
    match sets.get_mut(place as usize) {
        Some(set) => set,
        None => beyond(),
    }
}

#[cold]
#[inline(never)]
fn beyond() -> ! {
    unreachable!("a plan of another machine")
}

impl Caches {
    /// The last-level cache that supplies a line which is in those of `others` only: one of the
    /// worker's package if there is any, and of those the next to the right.
    #[inline(always)]
    fn supplier(&self, worker: &WorkerState, others: u64) -> ClusterId {
        let all = others & SOCKETS;
        let near = all & worker.package;
        let near = select_unpredictable(near != 0, near, all);
        let right = near & worker.right;
        let right = select_unpredictable(right != 0, right, near);
        let socket = (right >> 32).trailing_zeros() as usize;
        self.sockets[socket % self.sockets.len()]
    }

    /// A write to a line that is clean in a cache of the worker's pair. Returns whether others had
    /// it.
    #[inline(never)]
    fn claim<L: Short>(&mut self, lanes: L, worker: &WorkerState, plan: PrefetchPlan) -> bool {
        lanes.flag(self.private(worker.core, OUTER, plan.line), plan.line, PENDING);
        let row = self.rows.at(plan.row);
        let others = row[0] & worker.others;
        row[0] |= MODIFIED;
        if others != 0 {
            self.invalidate(lanes, plan, others);
        }
        others != 0
    }
}
