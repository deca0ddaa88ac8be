//! The contents of the caches, for what checks them.

use super::{
    PENDING, Place, Usual,
    rows::{MODIFIED, core_bit, socket_bit},
};
use crate::lanes::{EMPTY, Entries, LINE, NO_TAG, Portable, Short};

impl Usual {
    /// The entry of `line` in cache number `cache`.
    pub(in crate::hierarchy) fn entry(&self, cache: usize, line: u32) -> Option<u32> {
        let shape = &self.caches.shape;
        let entry =
            |set: &Entries| set.0.get(Portable.find(set, line).trailing_zeros() as usize).copied();
        match self.places[cache] {
            Place::Inner(core) => entry(
                &self.caches.inner
                    [(core * shape.inner_stride() + (line & shape.inner_sets)) as usize],
            ),
            Place::Outer(core) => entry(
                &self.caches.outer
                    [(core * shape.outer_stride() + (line & shape.outer_sets)) as usize],
            )
            .map(|e| e & !PENDING),
            Place::Last(socket) => {
                let (tag, number) = shape.place(line);
                let set = &self.caches.last[(socket * shape.last_stride() + number) as usize];
                set.0.contains(&tag).then_some(line)
            }
        }
    }

    /// The lines in cache number `cache`.
    pub(in crate::hierarchy) fn contents(&self, cache: usize) -> Vec<u32> {
        let shape = &self.caches.shape;
        let private = |sets: &[Entries], start: u32, stride: u32| {
            let sets = &sets[start as usize..][..stride as usize];
            sets.iter().flat_map(|s| s.0).filter(|e| *e != EMPTY).map(|e| e & LINE).collect()
        };
        match self.places[cache] {
            Place::Inner(core) => {
                private(&self.caches.inner, core * shape.inner_stride(), shape.inner_stride())
            }
            Place::Outer(core) => {
                private(&self.caches.outer, core * shape.outer_stride(), shape.outer_stride())
            }
            Place::Last(socket) => {
                let sets = &self.caches.last[(socket * shape.last_stride()) as usize..]
                    [..shape.last_stride() as usize];
                let lines = sets.iter().zip(0..).flat_map(|(s, n)| s.0.map(|tag| (tag, n)));
                lines
                    .filter(|(tag, _)| *tag != NO_TAG)
                    .map(|(tag, n)| shape.line(tag, n) as u32)
                    .collect()
            }
        }
    }

    /// Whether the directory says that cache number `cache`, or the other of its pair, has `line`.
    pub(in crate::hierarchy) fn held(&self, cache: usize, line: u32) -> bool {
        let bit = match self.places[cache] {
            Place::Inner(core) | Place::Outer(core) => core_bit(core),
            Place::Last(socket) => socket_bit(socket),
        };
        self.caches.rows.look(line)[0] & bit != 0
    }

    /// Whether the directory says that memory is older.
    pub(in crate::hierarchy) fn modified(&self, line: u32) -> bool {
        self.caches.rows.look(line)[0] & MODIFIED != 0
    }
}
