//! What can be done for an access before its turn: finding its places, and bringing near, on the
//! host, what it will look at.

use std::hint::select_unpredictable;

use befit_machine::WorkerId;

use super::{
    Caches, Usual,
    rows::{MOST_WORKERS, place},
};
use crate::{
    hierarchy::Touch,
    hint::prefetch,
    lanes::{LINE, TAGS},
    sets::DIRTY,
};

/// What an access is, and the places that it will look at. They depend on the machine only, so that
/// they can be found at any time before.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::hierarchy) struct Plan {
    pub(super) worker: u32,
    pub(in crate::hierarchy) line: u32,
    /// [`DIRTY`] for a write.
    pub(super) dirty: u32,
    /// The line's row.
    pub(super) row: u32,
    /// Its sets, as places in [`super::Caches::inner`], `outer` and `last`.
    pub(super) inner: u32,
    pub(super) outer: u32,
    pub(super) last: u32,
    /// The number of its set in any last-level cache, and its tag there.
    pub(super) number: u32,
    pub(super) tag: u16,
}

impl Plan {
    /// The plan of an access, without the places.
    #[inline(always)]
    pub(in crate::hierarchy) fn nowhere(touch: &Touch) -> Self {
        let Touch { worker, line, write } = *touch;
        Self {
            worker: worker.0,
            line,
            dirty: u32::from(write) << DIRTY.trailing_zeros(),
            ..Self::default()
        }
    }

    /// What was planned.
    #[inline(always)]
    pub(in crate::hierarchy) fn touch(&self) -> Touch {
        Touch { worker: WorkerId(self.worker), line: self.line, write: self.dirty != 0 }
    }
}

/// A plan, wherever it is. What an access looks at only once it then loads only then.
pub(in crate::hierarchy) trait Planned: Copy {
    fn worker(self) -> u32;
    fn line(self) -> u32;
    fn dirty(self) -> u32;
    fn row(self) -> u32;
    fn inner(self) -> u32;
    fn outer(self) -> u32;
    fn last(self) -> u32;
    fn number(self) -> u32;
    fn tag(self) -> u16;

    /// All of it.
    #[inline(always)]
    fn all(self) -> Plan {
        Plan {
            worker: self.worker(),
            line: self.line(),
            dirty: self.dirty(),
            row: self.row(),
            inner: self.inner(),
            outer: self.outer(),
            last: self.last(),
            number: self.number(),
            tag: self.tag(),
        }
    }
}

/// The methods of [`Planned`], each for one figure.
macro_rules! planned {
    ($self:ident => $($name:ident: $type:ty = $figure:expr),* $(,)?) => {
        $(#[inline(always)] fn $name($self) -> $type { $figure })*
    };
}
pub(super) use planned;

impl Planned for Plan {
    planned! { self =>
        worker: u32 = self.worker, line: u32 = self.line, dirty: u32 = self.dirty, row: u32 = self.row, inner: u32 = self.inner,
        outer: u32 = self.outer, last: u32 = self.last, number: u32 = self.number, tag: u16 = self.tag,
    }
}

impl Usual {
    /// Finds the places of an access.
    ///
    /// # Panics
    /// Where the worker or the line is not of the machine.
    #[inline(always)]
    pub(in crate::hierarchy) fn plan(&self, touch: &Touch) -> Plan {
        let Touch { worker, line, .. } = *touch;
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
            number,
            tag,
            ..Plan::nowhere(touch)
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

    /// Asks for the rows of the lines that will make room and, for a write, the set of another
    /// socket's copy. Looks at what [`Self::prefetch`] brought near.
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
        rows.prefetch(rows.place(shape.line(out, plan.number)));
        let others = word & seat.other_sockets;
        let copy = (others.trailing_zeros().wrapping_sub(32))
            .wrapping_mul(shape.last_stride())
            .wrapping_add(plan.number);
        // (The set that is near already where there is nothing to take away: cheaper than a branch
        // that goes either way.)
        let taken = plan.dirty != 0 && others != 0;
        prefetch(last, select_unpredictable(taken, copy, plan.last) as usize);
    }

    #[cold]
    #[inline(never)]
    pub(super) fn beyond(&self, Touch { worker, line, .. }: Touch) -> ! {
        assert!(
            worker.0 < self.workers,
            "worker {} is beyond the {} of the machine",
            worker.0,
            self.workers
        );
        panic!("line {line} is beyond the {} lines of the hierarchy", self.caches.shape.lines);
    }
}
