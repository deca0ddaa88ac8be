//! Brings near, on the host, what a later access will look at.

use super::{Usual, rows::SOCKETS};
use crate::{hierarchy::Touch, hint::prefetch, lanes::LINE};

impl Usual {
    /// The row of the line, and its sets. (The innermost caches are always near.)
    #[inline(always)]
    pub(in crate::hierarchy) fn prefetch(&self, worker: usize, line: u32) {
        let Some(seat) = self.seats.get(worker) else { return };
        self.rows.prefetch(u64::from(line));
        let (_, number) = self.shape.place(line);
        prefetch(&self.last, (seat.last + number) as usize);
        prefetch(&self.outer, (seat.outer + (line & self.shape.outer.0)) as usize);
    }

    /// The rows of the lines that will make room and, for a write, the set of another socket's copy. Looks at what
    /// [`Self::prefetch`] brought near.
    #[inline(always)]
    pub(in crate::hierarchy) fn prepare(&self, touch: &Touch) {
        let Touch { worker, line, write } = *touch;
        let Some(seat) = self.seats.get(worker.index()) else { return };
        let shape = &self.shape;
        let word = self.rows.look(u64::from(line))[0];
        if word & seat.held & !SOCKETS != 0 || line >= shape.lines {
            // It will be found near, and little will have to make room.
            return;
        }
        let set = &self.outer[(seat.outer + (line & shape.outer.0)) as usize];
        self.rows.prefetch(u64::from(set.0[shape.outer.1] & LINE));
        let (_, number) = shape.place(line);
        let set = &self.last[(seat.last + number) as usize];
        self.rows.prefetch(shape.line(set.0[shape.last_way], number));
        let others = if write { word & seat.others & SOCKETS } else { 0 };
        if others != 0 {
            let socket = others.trailing_zeros() - 32;
            prefetch(&self.last, (socket * shape.last_stride() + number) as usize);
        }
    }
}
