//! What can be done for an access before its turn: finding its places, and bringing near, on the host, what it will
//! look at.

use super::{Usual, rows::SOCKETS};
use crate::{hierarchy::Touch, hint::prefetch, lanes::LINE};

/// An access, and the places that it will look at. They depend on the machine only, so that they can be found at any time before.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::hierarchy) struct Plan {
    pub(super) worker: u32,
    pub(super) line: u32,
    /// Its sets, as places in [`Usual`]'s.
    pub(super) inner: u32,
    pub(super) outer: u32,
    pub(super) last: u32,
    /// Its set in the last-level cache, and its tag there.
    pub(super) number: u32,
    pub(super) tag: u16,
    pub(super) write: bool,
    pub(super) row: u32,
}

impl Usual {
    /// The places of an access.
    ///
    /// # Panics
    /// Where the worker or the line is not of the machine.
    #[inline(always)]
    pub(in crate::hierarchy) fn plan(&self, touch: &Touch) -> Plan {
        let Touch { worker, line, write } = *touch;
        let shape = &self.shape;
        assert!(line < shape.lines, "line {line} is beyond the {} lines of the hierarchy", shape.lines);
        let seat = &self.seats[worker.index()];
        let (tag, number) = shape.place(line);
        Plan {
            worker: worker.0,
            line,
            inner: seat.inner + (line & shape.inner_sets),
            outer: seat.outer + (line & shape.outer_sets),
            last: seat.last + number,
            number,
            tag,
            write,
            row: self.rows.place(u64::from(line)) as u32,
        }
    }

    /// Asks for the row of the line, and its sets.
    #[inline(always)]
    pub(in crate::hierarchy) fn prefetch(&self, plan: &Plan) {
        self.rows.prefetch(plan.row as usize);
        prefetch(&self.last, plan.last as usize);
        prefetch(&self.outer, plan.outer as usize);
    }

    /// Asks for the rows of the lines that will make room and, for a write, the set of another socket's copy. Looks at what
    /// [`Self::prefetch`] brought near.
    #[inline(always)]
    pub(in crate::hierarchy) fn prepare(&self, plan: &Plan) {
        prefetch(&self.inner, plan.inner as usize);
        let seat = &self.seats[plan.worker as usize];
        let shape = &self.shape;
        let word = self.rows.word(plan.row);
        if word & seat.held & !SOCKETS != 0 {
            // It will be found near, and little will have to make room.
            return;
        }
        let out = self.outer[plan.outer as usize].0[shape.outer_ways.last()];
        self.rows.prefetch(self.rows.place(u64::from(out & LINE)));
        let out = self.last[plan.last as usize].0[shape.last_way];
        self.rows.prefetch(self.rows.place(shape.line(out, plan.number)));
        let others = word & seat.others & SOCKETS;
        if plan.write && others != 0 {
            let socket = others.trailing_zeros() - 32;
            prefetch(&self.last, (socket * shape.last_stride() + plan.number) as usize);
        }
    }
}
