//! Sizes of tasks that declare none: what one worker looks up in its pool's [`SizeTable`].
//!
//! A task's site is named by a hash of its closure's type. Hashing a long name takes longer than
//! publishing a fork, so a worker keeps what it found, by the address of the name.

use std::{array, cell::Cell, ptr, sync::Arc};

use befit_machine::Bytes;
use befit_sched::sizes::{SiteIndex, SiteKey, SizeTable, TaskView, Word, known};

use super::{
    engine::{About, Closure, Engine, Sizes},
    memory::MemoryInUse,
};
use crate::captured::Captured;

/// Sites that are kept. Two that meet in one slot are each looked up again, which costs time only.
const SLOTS: usize = 64;

/// A table with the sites that one worker has looked up.
#[derive(Debug)]
pub(crate) struct Sizer {
    table: Arc<SizeTable>,
    found: Box<[Cell<Found>; SLOTS]>,
    memory: MemoryInUse,
}

/// Where a task is forked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForkedAt {
    /// Which of its fork it is.
    pub(crate) index: u32,
    /// See [`TaskView::depth`].
    pub(crate) depth: u32,
    /// See [`TaskView::parent`].
    pub(crate) parent: Option<(Bytes, u32)>,
}

/// A task before it runs.
struct Forked<'a, N> {
    captured: Captured<N>,
    at: ForkedAt,
    memory: &'a MemoryInUse,
}

impl<N: Fn(usize) -> bool> TaskView for Forked<'_, N> {
    fn word(&self, word: Word) -> Option<u64> {
        self.captured.word(word)
    }

    fn depth(&self) -> u32 {
        self.at.depth
    }

    fn parent(&self) -> Option<(Bytes, u32)> {
        self.at.parent
    }

    fn memory(&self) -> Option<Bytes> {
        self.memory.get()
    }
}

/// What was found of the `index`-th closures, of one type, of their forks.
#[derive(Clone, Copy, Debug)]
struct Found {
    /// The name of the type. The string itself, not what it says: a type has one, or a few.
    name: &'static str,
    bytes: usize,
    index: u32,
    /// If the table has it.
    site: Option<SiteIndex>,
}

impl Sizer {
    /// That has looked nothing up.
    pub(crate) fn new(table: Arc<SizeTable>) -> Self {
        let none = Found { name: "", bytes: 0, index: 0, site: None };
        let found = Box::new(array::from_fn(|_| Cell::new(none)));
        Self { table, found, memory: MemoryInUse::default() }
    }

    /// What a task goes by (see [`known`]) that is forked at `at`.
    ///
    /// # Safety
    /// As for [`Captured::new`], of the closure that `about` names, until this returns.
    pub(crate) unsafe fn sizes(
        &self,
        about: &About,
        at: ForkedAt,
        is_near: impl Fn(usize) -> bool,
    ) -> Sizes {
        let (size, strand) = about.declared;
        known(size, strand, || {
            let Closure { at: closure, bytes, .. } = about.closure?;
            let site = self.site(about.closure?, at.index)?;
            // SAFETY: promised by the caller.
            let captured = unsafe { Captured::new(closure, bytes, is_near) };
            self.table.predict(site, &Forked { captured, at, memory: &self.memory })
        })
    }

    fn site(&self, Closure { name, bytes, .. }: Closure, index: u32) -> Option<SiteIndex> {
        // Names are some tens of bytes apart.
        let slot = &self.found[(name.as_ptr().addr() >> 4 ^ bytes ^ index as usize) % SLOTS];
        let mut found = slot.get();
        if !ptr::eq(found.name, name) || (found.bytes, found.index) != (bytes, index) {
            let site = self.table.site(SiteKey::of(name, bytes, index));
            found = Found { name, bytes, index, site };
            slot.set(found);
        }
        found.site
    }
}

impl Engine {
    /// As [`Sizer::sizes`], of a root that no worker of the pool makes.
    ///
    /// # Safety
    /// As there.
    pub(super) unsafe fn sizes_from_outside(&self, about: &About) -> Sizes {
        let Some(table) = &self.sizes else { return about.declared };
        let at = ForkedAt { index: 0, depth: 0, parent: None };
        // SAFETY: promised by the caller; nothing is near.
        unsafe { Sizer::new(Arc::clone(table)).sizes(about, at, |_| false) }
    }
}
