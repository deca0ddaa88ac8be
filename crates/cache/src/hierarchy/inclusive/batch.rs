//! Sixteen accesses planned at once, a lane for each.
//!
//! The work for an access before its turn is the same few steps for each, so a vector does them for
//! all of a batch: [`Batch::plan`] finds where the accesses look, and [`Batch::prepare`], once that
//! has been brought near, the lines that they will evict.

use super::{
    Caches, Inclusive,
    plan::{Planned, planned},
    rows::{MOST_WORKERS, SOCKETS, place},
};
use crate::{
    hierarchy::LineAccess,
    hint::prefetch_word,
    lanes::{BATCH, ENTRIES, LINE, Short},
    sets::DIRTY,
};

/// Plans of accesses (see [`super::PrefetchPlan`]), figure by figure.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(in crate::hierarchy) struct Batch {
    worker: [u32; BATCH],
    line: [u32; BATCH],
    dirty: [u32; BATCH],
    row: [u32; BATCH],
    inner: [u32; BATCH],
    outer: [u32; BATCH],
    last: [u32; BATCH],
    number: [u32; BATCH],
    tag: [u16; BATCH],
    /// Places to ask for first, in words of eight bytes.
    far: Far,
    /// Places to ask for once those are near, in the same unit.
    near: Near,
}

/// The row, and the sets that are seldom near.
#[derive(Clone, Copy, Debug, Default)]
struct Far {
    row: [u32; BATCH],
    outer: [u32; BATCH],
    last: [u32; BATCH],
}

/// The set of the inner cache, the rows of the lines that will make room in the other caches and,
/// for a write, the set of another socket's copy.
#[derive(Clone, Copy, Debug, Default)]
struct Near {
    inner: [u32; BATCH],
    outer_row: [u32; BATCH],
    last_row: [u32; BATCH],
    copy: [u32; BATCH],
}

/// Where each worker's caches are, figure by figure (see [`super::WorkerState`]).
#[derive(Clone, Debug)]
pub(super) struct Starts {
    pub(super) inner: [u32; MOST_WORKERS],
    pub(super) outer: [u32; MOST_WORKERS],
    pub(super) last: [u32; MOST_WORKERS],
    pub(super) core: [u32; MOST_WORKERS],
    pub(super) socket: [u32; MOST_WORKERS],
}

/// Words of eight bytes in a row, a private set, and a set of a last-level cache.
const ROW: u32 = 2;
const PRIVATE: u32 = ENTRIES as u32 / 2;
const SHARED: u32 = 8;

impl Batch {
    /// Plans up to [`BATCH`] accesses. Where there are fewer, the others remain plans of earlier
    /// accesses.
    ///
    /// # Panics
    /// Where a worker or a line is not of the machine.
    #[inline(always)]
    pub(in crate::hierarchy) fn plan<L: Short>(
        &mut self,
        model: &Inclusive,
        lanes: L,
        accesses: &[LineAccess],
    ) {
        let Inclusive { starts, worker_count, caches: Caches { shape, .. }, .. } = model;
        let mut note = |i: usize, access: &LineAccess| {
            self.worker[i] = access.worker.0;
            self.line[i] = access.line;
            self.dirty[i] = u32::from(access.write) << DIRTY.trailing_zeros();
        };
        match accesses.as_array::<BATCH>() {
            Some(all) => (0..BATCH).for_each(|i| note(i, &all[i])),
            None => accesses.iter().zip(0..BATCH).for_each(|(access, i)| note(i, access)),
        }
        let mut beyond = false;
        for i in 0..BATCH {
            beyond |= (self.worker[i] >= *worker_count) | (self.line[i] >= shape.lines);
        }
        if beyond {
            // Panics, and says which.
            for access in accesses {
                model.plan(access);
            }
        }
        for i in 0..BATCH {
            let (tag, number) = shape.place(self.line[i]);
            self.tag[i] = tag;
            self.number[i] = number;
        }
        let [inner, outer, last] =
            [&starts.inner, &starts.outer, &starts.last].map(|s| lanes.pick(s, &self.worker));
        for i in 0..BATCH {
            let line = self.line[i];
            self.row[i] = place(u64::from(line)) as u32;
            self.inner[i] = inner[i] + (line & shape.inner_sets);
            self.outer[i] = outer[i] + (line & shape.outer_sets);
            self.last[i] = last[i] + self.number[i];
        }
        for i in 0..BATCH {
            self.far.row[i] = self.row[i].wrapping_mul(ROW);
            self.far.outer[i] = self.outer[i].wrapping_mul(PRIVATE);
            self.far.last[i] = self.last[i].wrapping_mul(SHARED);
            self.near.inner[i] = self.inner[i].wrapping_mul(PRIVATE);
        }
    }

    /// Finds the lines that the accesses will evict, in the sets that [`Self::prefetch`] brought
    /// near.
    #[inline(always)]
    pub(in crate::hierarchy) fn prepare<L: Short>(&mut self, model: &Inclusive, lanes: L) {
        let Inclusive { starts, caches: Caches { shape, outer, last, rows, .. }, .. } = model;
        let words = lanes.words(rows.all(), &self.row);
        let entries = lanes.entries(outer, &self.outer, shape.outer_ways.last());
        let tags = lanes.tags(last, &self.last, shape.last_way);
        let [core, socket] = [&starts.core, &starts.socket].map(|s| lanes.pick(s, &self.worker));
        let mut has = [0; BATCH];
        let mut others = [0; BATCH];
        for i in 0..BATCH {
            has[i] = words[i] as u32 >> (core[i] % 32) & 1;
            others[i] = ((words[i] & SOCKETS) >> 32) as u32 & !(1 << (socket[i] % 32));
        }
        let stride = shape.last_stride();
        let place = |line: u32| place(u64::from(line & LINE)) as u32;
        for i in 0..BATCH {
            // Where there is nothing to bring near, something that is near already: cheaper than a
            // branch. If the core has the line, little will have to make room.
            let none = has[i] != 0;
            let out = tags[i].wrapping_mul(shape.last_sets).wrapping_add(self.number[i]);
            self.near.outer_row[i] =
                if none { self.row[i] } else { place(entries[i]) }.wrapping_mul(ROW);
            self.near.last_row[i] = if none { self.row[i] } else { place(out) }.wrapping_mul(ROW);
            let copy = others[i].trailing_zeros().wrapping_mul(stride).wrapping_add(self.number[i]);
            let taken = !none & (self.dirty[i] != 0) & (others[i] != 0);
            self.near.copy[i] = if taken { copy } else { self.last[i] }.wrapping_mul(SHARED);
        }
    }

    /// Asks for the row and the sets of access `i`.
    #[inline(always)]
    pub(in crate::hierarchy) fn prefetch(&self, model: &Inclusive, i: usize) {
        let Caches { outer, last, rows, .. } = &model.caches;
        prefetch_word(rows.all(), self.far.row[i]);
        prefetch_word(last, self.far.last[i]);
        prefetch_word(outer, self.far.outer[i]);
    }

    /// Asks for the places that [`Self::prepare`] found for access `i`.
    #[inline(always)]
    pub(in crate::hierarchy) fn prefetch_near(&self, model: &Inclusive, i: usize) {
        let Caches { inner, last, rows, .. } = &model.caches;
        prefetch_word(inner, self.near.inner[i]);
        prefetch_word(rows.all(), self.near.outer_row[i]);
        prefetch_word(rows.all(), self.near.last_row[i]);
        prefetch_word(last, self.near.copy[i]);
    }

    /// The plan of access `i`.
    #[inline(always)]
    pub(in crate::hierarchy) fn at(&self, i: usize) -> At<'_> {
        At(self, i % BATCH)
    }
}

/// One of a batch's plans.
#[derive(Clone, Copy)]
pub(in crate::hierarchy) struct At<'a>(&'a Batch, usize);

impl Planned for At<'_> {
    planned! { self =>
        worker: u32 = self.0.worker[self.1], line: u32 = self.0.line[self.1],
        dirty: u32 = self.0.dirty[self.1], row: u32 = self.0.row[self.1],
        inner: u32 = self.0.inner[self.1], outer: u32 = self.0.outer[self.1],
        last: u32 = self.0.last[self.1], number: u32 = self.0.number[self.1],
        tag: u16 = self.0.tag[self.1],
    }
}
