//! The way of one access through the caches of the usual machine.
//!
//! The last-level cache aside, everything is written for the case that nothing is where it is looked for: an access of a
//! large working set misses everywhere, and is the dearest.

use std::hint::select_unpredictable;

use super::{
    Caches, PENDING, Plan, Usual,
    rows::{CORES, MODIFIED, MOST_WORKERS, place},
    seats::{INNER, LAST, OUTER, REMOTE, Seat},
};
use crate::{
    Access,
    hierarchy::Touch,
    lanes::{EMPTY, LINE, NO_TAG, Short},
    sets::{DIRTY, ORPHAN},
};

impl Usual {
    /// One access, on `lanes`.
    #[inline(always)]
    pub(in crate::hierarchy) fn access<L: Short>(&mut self, lanes: L, touch: &Touch, plan: &Plan) -> Access {
        let Touch { worker, line, write } = *touch;
        let Self { seats, caches, .. } = self;
        let seat = &mut seats[worker.index() % MOST_WORKERS];
        let dirty = u32::from(write) << 31;

        let inner = &mut caches.inner[plan.inner as usize];
        let hits = lanes.find(inner, line);
        if hits != 0 {
            let old = lanes.to_front(inner, hits, dirty);
            seat.found[INNER] += 1;
            let mut access = Access { found: seat.answers[INNER], invalidated: false, written_back: 0 };
            // What is dirty in a private cache is nobody else's, and what is read there needs no leave.
            if dirty & !old != 0 {
                access.invalidated = caches.claim(lanes, seat, (line, plan));
            }
            return access;
        }
        let a = lanes.push(inner, &caches.shape.inner_ways, line | dirty);

        let pending = dirty / (DIRTY / PENDING);
        let outer = &mut caches.outer[plan.outer as usize];
        let hits = lanes.find(outer, line);
        if hits != 0 {
            let old = lanes.to_front(outer, hits, pending);
            seat.found[OUTER] += 1;
            let mut access = Access { found: seat.answers[OUTER], invalidated: false, written_back: 0 };
            if old & PENDING != 0 {
                // The inner cache has written it back since.
                outer.0[0] = line | DIRTY | pending;
            } else if dirty & !old != 0 {
                access.invalidated = caches.claim(lanes, seat, (line, plan));
            }
            if a & ORPHAN == 0 {
                seat.writebacks[INNER] += u64::from(a >> 31);
            } else {
                access.written_back = caches.make_room(lanes, seat, [a, EMPTY], None);
            }
            return access;
        }
        let b = lanes.push(outer, &caches.shape.outer_ways, line | pending);
        // What makes room in the outer cache would be in the same set of the inner one.
        let inside = lanes.find(inner, b & LINE);

        let shape = &caches.shape;
        let (hit, old) = lanes.touch(&mut caches.last[plan.last as usize], shape.last_way, plan.tag);
        // A way is often empty, as its line was taken away by a write.
        let c = shape.line(select_unpredictable(hit, NO_TAG, old), plan.last - seat.last);
        let place_of_c = caches.rows.place(c);

        let row = caches.rows.at(plan.row);
        let before = row[0];
        let others = before & seat.others;
        let written = u64::from(write) << 63;
        // What is modified but not here another socket has modified: a reader shares it, with memory too.
        let shared = before & !written & u64::from(!hit) << 63;
        row[0] = (before & !(seat.lost | shared)) | seat.held | written;
        let lost = row[1] & seat.private_lost;
        seat.coherence_misses[LAST] += u64::from(before & seat.lost != 0);
        let nearest = LAST + usize::from(!hit) * (REMOTE - LAST + usize::from(others == 0));
        seat.found[nearest % seat.found.len()] += 1;
        seat.shared += shared >> 63;
        let mut access = Access {
            found: seat.answers[nearest % seat.answers.len()],
            invalidated: false,
            written_back: (shared >> 63) as u8,
        };
        let cleaned = if others & 0u64.wrapping_sub(u64::from(write)) != 0 {
            caches.invalidate(lanes, seat, (line, plan), others);
            access.invalidated = true;
            0
        } else {
            // A reader's, or of nobody.
            others & CORES & 0u64.wrapping_sub(before >> 63)
        };
        if cleaned | lost != 0 {
            caches.clean(lanes, line, cleaned);
            caches.was_lost(seat, line);
        }

        let common = |row: &&mut [u64; 2]| {
            // No copy below the last-level cache's victim, nor in the inner cache of the outer one's, and two lines.
            (row[0] & seat.below) | u64::from(a & ORPHAN) | u64::from(inside) == 0 && (a ^ b) & LINE != 0
        };
        let Some(row) = caches.rows.get(place_of_c).filter(common) else {
            access.written_back += caches.make_room(lanes, seat, [a, b], Some(c));
            return access;
        };
        let modified = row[0] >> 63;
        row[0] &= seat.without_last;
        seat.writebacks[LAST] += modified;
        seat.writebacks[INNER] += u64::from(a >> 31);
        access.written_back += modified as u8;
        if let Some(row) = caches.rows.get(place(u64::from(b & LINE))) {
            row[0] &= seat.without_core;
            seat.writebacks[OUTER] += u64::from(b & (DIRTY | PENDING) != 0);
        }
        access
    }
}

impl Caches {
    /// A write to a line that is clean in a cache of the worker's pair. Answers whether others had it.
    #[inline(never)]
    fn claim<L: Short>(&mut self, lanes: L, seat: &Seat, (line, plan): (u32, &Plan)) -> bool {
        lanes.flag(self.private(seat.core, OUTER, line), line, PENDING);
        let row = self.rows.at(plan.row);
        let others = row[0] & seat.others;
        row[0] |= MODIFIED;
        if others != 0 {
            self.invalidate(lanes, seat, (line, plan), others);
        }
        others != 0
    }
}
