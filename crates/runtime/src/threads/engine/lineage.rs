//! Which job was forked in which: so that a worker can tell what descends from the job that it
//! waits for.

use std::{cell::Cell, ptr};

/// What a job or scope is known by: its address, never used as a pointer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ancestor(usize);

impl Ancestor {
    pub(crate) fn new<T>(of: *const T) -> Self {
        Self(of.addr())
    }
}

/// A job that is running, or a scope that is open: where the jobs forked there descend from. It is
/// on the stack of the thread that runs the job, or waits for the scope, and so outlives all that
/// descends from it.
#[derive(Debug)]
pub(crate) struct Lineage {
    of: Ancestor,
    parent: *const Lineage,
}

impl Lineage {
    /// The place of `of`, which was forked at `parent`.
    ///
    /// # Safety
    /// `parent` is null or outlives this.
    pub(crate) unsafe fn new(of: Ancestor, parent: *const Lineage) -> Self {
        Self { of, parent }
    }

    /// Where it was forked.
    pub(crate) fn parent(&self) -> *const Self {
        self.parent
    }

    fn descends_from(&self, ancestor: Ancestor) -> bool {
        let mut next: *const Self = self;
        // SAFETY: null or alive: parents outlive their children (promised to `new`).
        while let Some(lineage) = unsafe { next.as_ref() } {
            if lineage.of == ancestor {
                return true;
            }
            next = lineage.parent;
        }
        false
    }
}

/// A [`Lineage`] that lives as long as whatever holds this.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place(*const Lineage);

// SAFETY: a lineage does not change, so any thread may read it, and lives as long as this is used
// (promised to `new`).
unsafe impl Send for Place {}
// SAFETY: as above.
unsafe impl Sync for Place {}

impl Place {
    /// # Safety
    /// It is used only while `lineage` lives.
    pub(crate) unsafe fn new(lineage: &Lineage) -> Self {
        Self(lineage)
    }

    pub(crate) fn as_ptr(self) -> *const Lineage {
        self.0
    }
}

/// Where a job was forked; part of its header.
#[derive(Debug)]
pub(crate) struct Birthplace(Cell<*const Lineage>);

impl Birthplace {
    /// Nowhere: no job waits for it, or it has not been published.
    pub(crate) fn none() -> Self {
        Self(Cell::new(ptr::null()))
    }

    /// # Safety
    /// `lineage` is null, or lives until the job of which this is has ended.
    pub(crate) unsafe fn set(&self, lineage: *const Lineage) {
        self.0.set(lineage);
    }

    pub(crate) fn get(&self) -> *const Lineage {
        self.0.get()
    }

    /// Whether it is at or below `ancestor`.
    pub(crate) fn is_below(&self, ancestor: Ancestor) -> bool {
        // SAFETY: null or alive, as the job has not ended (promised to `set`).
        unsafe { self.0.get().as_ref() }.is_some_and(|lineage| lineage.descends_from(ancestor))
    }
}
