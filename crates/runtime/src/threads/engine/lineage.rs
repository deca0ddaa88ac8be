//! Which job was forked in which. From it a worker knows what descends from the job that it waits
//! for (leapfrogging).

use std::{cell::Cell, ptr};

/// What a job or scope is known by: its address, never used as a pointer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ancestor(usize);

impl Ancestor {
    pub(crate) fn new<T>(of: *const T) -> Self {
        Self(of.addr())
    }
}

/// A job that is running or a scope that is open, with its ancestors: a linked list up to the root.
/// Each job that is forked or spawned there points to it. It lies on the stack of the thread that
/// runs the job or waits for the scope, and so outlives all that descends from it.
#[derive(Debug)]
pub(crate) struct Lineage {
    of: Ancestor,
    parent: *const Lineage,
}

impl Lineage {
    /// The lineage of what `of` forks; `of` was forked at `parent`.
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

/// A pointer to a [`Lineage`] that lives as long as the holder of this.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineageRef(*const Lineage);

// SAFETY: a lineage does not change, so any thread may read it, and lives as long as this is used
// (promised to `new`).
unsafe impl Send for LineageRef {}
// SAFETY: as above.
unsafe impl Sync for LineageRef {}

impl LineageRef {
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
