//! What can be done for an access before its turn: finding its places, and bringing near, on the host, what it will
//! look at.

use std::hint::select_unpredictable;

use super::{
    Caches, Usual,
    rows::{MOST_WORKERS, place},
};
use crate::{
    hierarchy::Touch,
    hint::prefetch,
    lanes::{LINE, TAGS},
};

/// Places that an access will look at. They depend on the machine only, so that they can be found at any time before.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::hierarchy) struct Plan {
    /// The line's row.
    pub(super) row: u32,
    /// Its sets, as places in [`super::Caches::inner`], `outer` and `last`, and its tag in the last one.
    pub(super) inner: u32,
    pub(super) last: u32,
    pub(super) outer: u32,
    pub(super) tag: u16,
    worker: u8,
    write: bool,
}

impl Usual {
    /// Finds the places of an access.
    ///
    /// # Panics
    /// Where the worker or the line is not of the machine.
    #[inline(always)]
    pub(in crate::hierarchy) fn plan(&self, touch: &Touch) -> Plan {
        let Touch { worker, line, write } = *touch;
        let shape = &self.caches.shape;
        if worker.0 >= self.workers || line >= shape.lines {
            self.beyond(*touch);
        }
        let (tag, number) = shape.place(line);
        let seat = &self.seats[worker.index() % MOST_WORKERS];
        Plan {
            row: place(u64::from(line)) as u32,
            inner: seat.inner + (line & shape.inner_sets),
            outer: seat.outer + (line & shape.outer_sets),
            last: seat.last + number,
            tag,
            worker: worker.0 as u8,
            write,
        }
    }

    /// Asks for the row of the line, and its sets.
    #[inline(always)]
    pub(in crate::hierarchy) fn prefetch(&self, plan: &Plan) {
        let Caches { outer, last, rows, .. } = &self.caches;
        rows.prefetch(plan.row as usize);
        prefetch(last, plan.last as usize);
        prefetch(outer, plan.outer as usize);
    }

    /// Asks for the rows of the lines that will make room and, for a write, the set of another socket's copy. Looks at what
    /// [`Self::prefetch`] brought near.
    #[inline(always)]
    pub(in crate::hierarchy) fn prepare(&self, plan: &Plan) {
        let Caches { shape, inner, outer, last, rows, .. } = &self.caches;
        let seat = &self.seats[plan.worker as usize % MOST_WORKERS];
        prefetch(inner, plan.inner as usize);
        let word = rows.word(plan.row);
        if word & seat.core_bit != 0 {
            // It will be found near, and little will have to make room.
            return;
        }
        let out = outer[plan.outer as usize].0[shape.outer_ways.last()];
        rows.prefetch(rows.place(u64::from(out & LINE)));
        let out = last[plan.last as usize].0[shape.last_way % TAGS];
        let number = plan.last - seat.last;
        rows.prefetch(rows.place(shape.line(out, number)));
        let others = word & seat.other_sockets;
        let copy = (others.trailing_zeros().wrapping_sub(32)).wrapping_mul(shape.last_stride()).wrapping_add(number);
        // (The set that is near already where there is nothing to take away: cheaper than a branch that goes either way.)
        let taken = plan.write && others != 0;
        prefetch(last, select_unpredictable(taken, copy, plan.last) as usize);
    }

    /// [`Self::plan`] for some touches. (Not inlined: it and the accesses then compete for no registers.)
    #[inline(never)]
    pub(in crate::hierarchy) fn plan_all(&self, touches: &[Touch], plans: &mut [Plan]) {
        for (touch, plan) in touches.iter().zip(plans) {
            *plan = self.plan(touch);
        }
    }

    #[cold]
    #[inline(never)]
    fn beyond(&self, Touch { worker, line, .. }: Touch) -> ! {
        assert!(worker.0 < self.workers, "worker {} is beyond the {} of the machine", worker.0, self.workers);
        panic!("line {line} is beyond the {} lines of the hierarchy", self.caches.shape.lines);
    }
}
