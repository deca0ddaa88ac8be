//! Sizes of tasks that declare none: what one worker looks up in its pool's [`SizeTable`].
//!
//! A task's site is named by a hash of its closure's type. Hashing a long name takes longer than
//! publishing a fork, so a worker keeps what it found, by the address of the name.

use std::{array, cell::Cell, ptr, sync::Arc};

use befit_sched::sizes::{SiteIndex, SiteKey, SizeTable, known};

use super::engine::{About, Closure, Engine, Sizes};
use crate::captured::captured;

/// Sites that are kept. Two that meet in one slot are each looked up again, which costs time only.
const SLOTS: usize = 64;

/// A table with the sites that one worker has looked up.
#[derive(Debug)]
pub(crate) struct Sizer {
    table: Arc<SizeTable>,
    found: Box<[Cell<Found>; SLOTS]>,
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
        Self { table, found: Box::new(array::from_fn(|_| Cell::new(none))) }
    }

    /// What the `index`-th task of a fork goes by (see [`known`]), with `depth` forks around it.
    ///
    /// # Safety
    /// As for [`captured`], of the closure that `about` names.
    pub(crate) unsafe fn sizes(
        &self,
        about: &About,
        index: u32,
        depth: u32,
        on_stack: impl Fn(usize) -> bool,
    ) -> Sizes {
        let (size, strand) = about.declared;
        known(size, strand, || {
            let closure = about.closure?;
            let site = self.site(closure, index)?;
            // SAFETY: promised by the caller.
            let words = unsafe { captured(closure.at, closure.bytes, on_stack) };
            self.table.predict(site, depth, &words)
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
        // SAFETY: promised by the caller; no word is followed.
        unsafe { Sizer::new(Arc::clone(table)).sizes(about, 0, 0, |_| false) }
    }
}
