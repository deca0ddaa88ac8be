//! Which job was forked in which. From it a worker knows what descends from the job that it waits
//! for (leapfrogging), and where the variables lie that a closure may have captured by reference.

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
    /// `of` lies on the stack that `parent` lies on.
    on_stack: bool,
}

/// So many ancestors are looked through for variables.
const NEAREST: usize = 4;

impl Lineage {
    /// The lineage of what `of` forks; `of` was forked at `parent`. `on_stack`: `of` is the address
    /// of a variable of the thread that waits for it, there.
    ///
    /// # Safety
    /// `parent` is null or outlives this. With `on_stack` and a `parent`, `of` is what it is said
    /// to be.
    pub(crate) unsafe fn new(of: Ancestor, parent: *const Lineage, on_stack: bool) -> Self {
        Self { of, parent, on_stack }
    }

    /// Whether the eight bytes at `address` belong to the variables of a function that waits for
    /// this job, or for one of its nearest ancestors: between the fork and the beginning of the job
    /// that forked it, on the stack of the thread that runs that.
    pub(crate) fn has_variable(&self, address: usize) -> bool {
        let mut next = Some(self);
        for _ in 0..NEAREST {
            let Some(lineage) = next else { return false };
            let end = lineage.parent.addr().saturating_sub(size_of::<u64>());
            if lineage.on_stack && (lineage.of.0..end).contains(&address) {
                return true;
            }
            // SAFETY: null or alive: parents outlive their children (promised to `new`).
            next = unsafe { lineage.parent.as_ref() };
        }
        false
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
