//! What can be done for an access before its turn: finding its places, and bringing near, on the host, what it will
//! look at.

use super::{
    Caches, Usual,
    rows::{MOST_WORKERS, SOCKETS},
    seats::Seat,
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
    /// Its set in the last-level cache, as a place in [`super::Caches::last`], and its tag there.
    pub(super) last: u32,
    pub(super) tag: u16,
}

impl Usual {
    /// Finds the places of an access.
    ///
    /// # Panics
    /// Where the worker or the line is not of the machine.
    #[inline(always)]
    pub(in crate::hierarchy) fn plan(&self, touch: &Touch) -> Plan {
        let Touch { worker, line, .. } = *touch;
        let Caches { shape, rows, .. } = &self.caches;
        assert!(worker.0 < self.workers, "worker {} is beyond the {} of the machine", worker.0, self.workers);
        assert!(line < shape.lines, "line {line} is beyond the {} lines of the hierarchy", shape.lines);
        let (tag, number) = shape.place(line);
        Plan { row: rows.place(u64::from(line)) as u32, last: self.seat(touch).last + number, tag }
    }

    /// Asks for the row of the line, and its sets.
    #[inline(always)]
    pub(in crate::hierarchy) fn prefetch(&self, touch: &Touch, plan: &Plan) {
        let Caches { shape, outer, last, rows, .. } = &self.caches;
        rows.prefetch(plan.row as usize);
        prefetch(last, plan.last as usize);
        prefetch(outer, (self.seat(touch).outer + (touch.line & shape.outer_sets)) as usize);
    }

    /// Asks for the rows of the lines that will make room and, for a write, the set of another socket's copy. Looks at what
    /// [`Self::prefetch`] brought near.
    #[inline(always)]
    pub(in crate::hierarchy) fn prepare(&self, touch: &Touch, plan: &Plan) {
        let Touch { line, write, .. } = *touch;
        let Caches { shape, inner, outer, last, rows, .. } = &self.caches;
        let seat = self.seat(touch);
        prefetch(inner, (seat.inner + (line & shape.inner_sets)) as usize);
        let word = rows.word(plan.row);
        if word & seat.held & !SOCKETS != 0 {
            // It will be found near, and little will have to make room.
            return;
        }
        let out = outer[(seat.outer + (line & shape.outer_sets)) as usize].0[shape.outer_ways.last()];
        rows.prefetch(rows.place(u64::from(out & LINE)));
        let out = last[plan.last as usize].0[shape.last_way % TAGS];
        let number = plan.last - seat.last;
        rows.prefetch(rows.place(shape.line(out, number)));
        let others = word & seat.others & SOCKETS;
        if write && others != 0 {
            let socket = others.trailing_zeros() - 32;
            prefetch(last, (socket * shape.last_stride() + number) as usize);
        }
    }

    #[inline(always)]
    fn seat(&self, touch: &Touch) -> &Seat {
        &self.seats[touch.worker.index() % MOST_WORKERS]
    }
}
