//! The way of one access through the caches of the usual machine.
//!
//! The last-level cache aside, everything is written for the case that nothing is where it is
//! looked for: an access of a large working set misses everywhere, and is the dearest.

use std::hint::select_unpredictable;

use super::{
    Caches, PENDING, Plan, Shape, Usual,
    ahead::Planned,
    rows::{CORES, MODIFIED, MOST_WORKERS, place},
    seats::{INNER, LAST, OUTER, REMOTE, Seat},
};
use crate::{
    Access,
    lanes::{EMPTY, LINE, NO_TAG, Short},
    sets::{DIRTY, ORPHAN},
};

impl Usual {
    /// One access, on `lanes`; says in `outcome` what it did.
    #[inline(always)]
    pub(in crate::hierarchy) fn access<L: Short>(
        &mut self,
        lanes: L,
        shape: &Shape,
        plan: impl Planned,
        outcome: &mut Access,
    ) {
        let (line, dirty) = (plan.line(), plan.dirty());
        let Self { seats, caches, .. } = self;
        let seat = &mut seats[plan.worker() as usize % MOST_WORKERS];

        let inner = at(&mut caches.inner, plan.inner());
        let hits = lanes.find(inner, line);
        if hits != 0 {
            let old = lanes.to_front(inner, hits, dirty);
            seat.found[INNER] += 1;
            *outcome = Access { found: seat.answers[INNER], invalidated: false, written_back: 0 };
            // What is dirty in a private cache is nobody else's, and what is read there needs no
            // leave.
            if dirty & !old != 0 {
                outcome.invalidated = caches.claim(lanes, seat, plan.all());
            }
            return;
        }
        let inner_before = *inner;
        let a = lanes.push(inner, &shape.inner_ways, line | dirty);

        let pending = dirty / (DIRTY / PENDING);
        let outer = at(&mut caches.outer, plan.outer());
        let hits = lanes.find(outer, line);
        if hits != 0 {
            let old = lanes.to_front(outer, hits, pending);
            seat.found[OUTER] += 1;
            *outcome = Access { found: seat.answers[OUTER], invalidated: false, written_back: 0 };
            if old & PENDING != 0 {
                // The inner cache has written it back since.
                outer.0[0] = line | DIRTY | pending;
            } else if dirty & !old != 0 {
                outcome.invalidated = caches.claim(lanes, seat, plan.all());
            }
            if a & ORPHAN == 0 {
                seat.writebacks[INNER] += u64::from(a >> 31);
            } else {
                outcome.written_back = caches.make_room(lanes, seat, [a, EMPTY], None);
            }
            return;
        }
        let b = lanes.push(outer, &shape.outer_ways, line | pending);
        // What makes room in the outer cache would be in the same set of the inner one. (Or has
        // just made room there, too.)
        let inside = lanes.find(&inner_before, b & LINE);
        let unusual = a & ORPHAN | inside != 0;

        let (hit, old) = lanes.touch(at(&mut caches.last, plan.last()), shape.last_way, plan.tag());
        // A way is often empty, as its line was taken away by a write.
        let c = shape.line(select_unpredictable(hit, NO_TAG, old), plan.number());
        let place_of_c = select_unpredictable(unusual, usize::MAX, caches.rows.place(c));

        let row = caches.rows.at(plan.row());
        let before = row[0];
        let others = before & seat.others;
        let written = u64::from(dirty) << 32;
        // What is modified but not here another socket has modified: a reader shares it, with
        // memory too.
        let shared = before & !written & u64::from(!hit) << 63;
        row[0] = (before & !(seat.lost | shared)) | seat.held | written;
        let lost = row[1] & seat.private_lost;
        seat.coherence_misses[LAST] += u64::from(before & seat.lost != 0);
        let nearest = LAST + usize::from(!hit) * (REMOTE - LAST + usize::from(others == 0));
        seat.found[nearest % seat.found.len()] += 1;
        seat.shared += shared >> 63;
        let found = seat.answers[nearest % seat.answers.len()];
        *outcome = Access { found, invalidated: false, written_back: (shared >> 63) as u8 };
        let cleaned = if others & 0u64.wrapping_sub(written >> 63) != 0 {
            caches.invalidate(lanes, plan.all(), others);
            outcome.invalidated = true;
            0
        } else {
            // A reader's, or of nobody.
            others & CORES & 0u64.wrapping_sub(before >> 63)
        };
        if cleaned | lost != 0 {
            caches.clean(lanes, line, cleaned);
            caches.was_lost(seat, line);
        }

        // No copy below the last-level cache's victim.
        let common = |row: &&mut [u64; 2]| row[0] & seat.below == 0;
        let Some(row) = caches.rows.get(place_of_c).filter(common) else {
            outcome.written_back += caches.make_room(lanes, seat, [a, b], Some(c));
            return;
        };
        let modified = row[0] >> 63;
        row[0] &= seat.without_last;
        seat.writebacks[LAST] += modified;
        seat.writebacks[INNER] += u64::from(a >> 31);
        outcome.written_back += modified as u8;
        if let Some(row) = caches.rows.get(place(u64::from(b & LINE))) {
            row[0] &= seat.without_core;
            seat.writebacks[OUTER] += u64::from(b & (DIRTY | PENDING) != 0);
        }
    }
}

/// The set at this place, which a plan has found.
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
    /// A write to a line that is clean in a cache of the worker's pair. Answers whether others had
    /// it.
    #[inline(never)]
    fn claim<L: Short>(&mut self, lanes: L, seat: &Seat, plan: Plan) -> bool {
        lanes.flag(self.private(seat.core, OUTER, plan.line), plan.line, PENDING);
        let row = self.rows.at(plan.row);
        let others = row[0] & seat.others;
        row[0] |= MODIFIED;
        if others != 0 {
            self.invalidate(lanes, plan, others);
        }
        others != 0
    }
}
