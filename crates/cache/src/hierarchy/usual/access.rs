//! The way of one access through the caches of the usual machine.
//!
//! The last-level cache aside, everything is written for the case that nothing is where it is looked for: an access of a
//! large working set misses everywhere, and is the dearest.

use super::{
    Caches, PENDING, Plan, Usual,
    rows::{CORES, MODIFIED, MOST_WORKERS, SOCKETS},
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
        let shape = caches.shape;
        let dirty = u32::from(write) << 31;

        let set = &mut caches.inner[(seat.inner + (line & shape.inner_sets)) as usize];
        let hits = lanes.find(set, line);
        if hits != 0 {
            let old = lanes.to_front(set, hits, dirty);
            seat.found[INNER] += 1;
            let mut access = Access { found: seat.answers[INNER], invalidated: false, written_back: 0 };
            // What is dirty in a private cache is nobody else's, and what is read there needs no leave.
            if dirty & !old != 0 {
                access.invalidated = caches.claim(lanes, seat, (line, plan));
            }
            return access;
        }
        let a = lanes.push(set, shape.inner_ways, line | dirty);

        let pending = dirty / (DIRTY / PENDING);
        let set = &mut caches.outer[(seat.outer + (line & shape.outer_sets)) as usize];
        let hits = lanes.find(set, line);
        if hits != 0 {
            let old = lanes.to_front(set, hits, pending);
            seat.found[OUTER] += 1;
            let mut access = Access { found: seat.answers[OUTER], invalidated: false, written_back: 0 };
            if old & PENDING != 0 {
                // The inner cache has written it back since.
                set.0[0] = line | DIRTY | pending;
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
        let b = lanes.push(set, shape.outer_ways, line | pending);

        let (hit, old) = lanes.touch(&mut caches.last[plan.last as usize], shape.last_way, plan.tag);

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
        let c = shape.line(if hit { NO_TAG } else { old }, plan.last - seat.last);
        // Copies that a writer has to take away; or that, for a reader, are to be made clean.
        let writes = 0u64.wrapping_sub(u64::from(write));
        let reads_modified = !writes & 0u64.wrapping_sub(before >> 63);
        let (taken, cleaned) = (others & writes, others & CORES & reads_modified);
        if taken != 0 {
            caches.invalidate(lanes, seat, (line, plan), taken);
            access.invalidated = true;
        }
        if cleaned | lost != 0 {
            caches.clean(lanes, line, cleaned);
            caches.was_lost(seat, line);
        }

        let row = caches.rows.of(c);
        let below = row[0] & seat.below;
        if (below != 0) | (a & ORPHAN != 0) | ((a ^ b) & LINE == 0) {
            // Copies below the last-level cache's victim, or one line that makes room twice.
            access.written_back += caches.make_room(lanes, seat, [a, b], Some(c));
            return access;
        }
        let modified = row[0] >> 63;
        row[0] &= !(seat.held & SOCKETS | MODIFIED);
        seat.writebacks[LAST] += modified;
        seat.writebacks[INNER] += u64::from(a >> 31);
        access.written_back += modified as u8;
        caches.outer_makes_room(lanes, seat, b);
        access
    }
}

impl Caches {
    /// `entry` has made room in the outer cache. The last-level cache has it, and the directory knows whether it is modified.
    #[inline(always)]
    pub(super) fn outer_makes_room<L: Short>(&mut self, lanes: L, seat: &mut Seat, entry: u32) {
        let line = entry & LINE;
        let set = &mut self.inner[(seat.inner + (line & self.shape.inner_sets)) as usize];
        let hits = lanes.find(set, line);
        if hits != 0 {
            // (Or it is an empty entry, as others are in the inner cache, which this leaves as they are.)
            lanes.flag(set, line, ORPHAN);
            seat.writebacks[OUTER] += u64::from(entry & DIRTY != 0 && entry != EMPTY);
            return;
        }
        seat.writebacks[OUTER] += u64::from(entry & (DIRTY | PENDING) != 0 && entry != EMPTY);
        self.rows.of(u64::from(line))[0] &= !(seat.held & CORES);
    }

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
