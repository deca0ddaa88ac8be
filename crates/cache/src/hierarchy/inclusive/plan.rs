//! Work for an access before its turn: finding where it will look, and bringing that near on the
//! host.

use std::hint::select_unpredictable;

use befit_machine::WorkerId;

use super::{
    Caches, Inclusive,
    rows::{MOST_WORKERS, place},
};
use crate::{
    hierarchy::LineAccess,
    hint::prefetch,
    lanes::{LINE, TAGS},
    sets::DIRTY,
};

/// An access, and where it will look: found once, for all that is done with it.
///
/// The figures depend on the machine only, so that they can be found at any time before the access.
/// Of use only to the hierarchy that made it and its clones.
#[derive(Clone, Copy, Debug, Default)]
pub struct PrefetchPlan {
    pub(super) worker: u32,
    pub(in crate::hierarchy) line: u32,
    /// [`DIRTY`] for a write.
    pub(super) dirty: u32,
    /// The line's row.
    pub(super) row: u32,
    /// Its sets, as indices of [`super::Caches::inner`], `outer` and `last`.
    pub(super) inner: u32,
    pub(super) outer: u32,
    pub(super) last: u32,
    /// The number of its set in any last-level cache, and its tag there.
    pub(super) number: u32,
    pub(super) tag: u16,
}

impl PrefetchPlan {
    /// The line accessed.
    #[inline]
    #[must_use]
    pub fn line(&self) -> u32 {
        self.line
    }

    /// The plan of an access, without places to look at.
    #[inline(always)]
    pub(in crate::hierarchy) fn nowhere(access: &LineAccess) -> Self {
        let LineAccess { worker, line, write } = *access;
        Self {
            worker: worker.0,
            line,
            dirty: u32::from(write) << DIRTY.trailing_zeros(),
            ..Self::default()
        }
    }

    /// The access planned.
    #[inline(always)]
    pub(in crate::hierarchy) fn access(&self) -> LineAccess {
        LineAccess { worker: WorkerId(self.worker), line: self.line, write: self.dirty != 0 }
    }
}

/// A plan by itself or in a batch. An access loads each figure when it needs it.
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

    #[inline(always)]
    fn all(self) -> PrefetchPlan {
        PrefetchPlan {
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

impl Planned for PrefetchPlan {
    planned! { self =>
        worker: u32 = self.worker, line: u32 = self.line, dirty: u32 = self.dirty,
        row: u32 = self.row, inner: u32 = self.inner, outer: u32 = self.outer,
        last: u32 = self.last, number: u32 = self.number, tag: u16 = self.tag,
    }
}

impl Inclusive {
    /// Finds where an access will look.
    ///
    /// # Panics
    /// Where the worker or the line is not of the machine.
    #[inline(always)]
    pub(in crate::hierarchy) fn plan(&self, access: &LineAccess) -> PrefetchPlan {
        self.planner(access.worker)(access)
    }

    /// [`Self::plan`] for accesses of one worker.
    #[inline(always)]
    pub(in crate::hierarchy) fn planner(
        &self,
        worker: WorkerId,
    ) -> impl Fn(&LineAccess) -> PrefetchPlan + '_ {
        let shape = &self.caches.shape;
        let is_known = worker.0 < self.worker_count;
        let worker = &self.workers[worker.index() % MOST_WORKERS];
        move |access| {
            let line = access.line;
            if !is_known || line >= shape.lines {
                self.beyond(*access);
            }
            let (tag, number) = shape.place(line);
            PrefetchPlan {
                row: place(u64::from(line)) as u32,
                inner: worker.inner + (line & shape.inner_sets),
                outer: worker.outer + (line & shape.outer_sets),
                last: worker.last + number,
                number,
                tag,
                ..PrefetchPlan::nowhere(access)
            }
        }
    }

    /// Asks for the row of the line, and its sets.
    #[inline(always)]
    pub(in crate::hierarchy) fn prefetch(&self, plan: &PrefetchPlan) {
        let Caches { outer, last, rows, .. } = &self.caches;
        prefetch(rows.all(), plan.row as usize);
        prefetch(last, plan.last as usize);
        prefetch(outer, plan.outer as usize);
    }

    /// Asks for the rows of the lines that will make room and, for a write, the set of another
    /// socket's copy, once [`Self::prefetch`] has brought the line's own sets near.
    #[inline(always)]
    pub(in crate::hierarchy) fn prepare(&self, plan: &PrefetchPlan) {
        let Caches { shape, inner, outer, last, rows, .. } = &self.caches;
        let worker = &self.workers[plan.worker as usize % MOST_WORKERS];
        prefetch(inner, plan.inner as usize);
        let [word, _] = rows.all()[plan.row as usize];
        if word & worker.core_bit != 0 {
            // It will be found near, and little will have to make room.
            return;
        }
        let out = outer[plan.outer as usize].0[shape.outer_ways.last()];
        prefetch(rows.all(), rows.place(u64::from(out & LINE)));
        let out = last[plan.last as usize].0[shape.last_way % TAGS];
        prefetch(rows.all(), rows.place(shape.line(out, plan.number)));
        let others = word & worker.other_sockets;
        let copy = (others.trailing_zeros().wrapping_sub(32))
            .wrapping_mul(shape.last_stride())
            .wrapping_add(plan.number);
        // Where there is nothing to take away, a set that is near already: cheaper than a branch
        // that goes either way.
        let taken = plan.dirty != 0 && others != 0;
        prefetch(last, select_unpredictable(taken, copy, plan.last) as usize);
    }

    #[cold]
    #[inline(never)]
    pub(super) fn beyond(&self, LineAccess { worker, line, .. }: LineAccess) -> ! {
        let (WorkerId(worker), count, lines) = (worker, self.worker_count, self.caches.shape.lines);
        assert!(worker < count, "worker {worker} is beyond the {count} of the machine");
        panic!("line {line} is beyond the {lines} lines of the hierarchy");
    }
}
