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
    /// `of` is a variable of the thread that `parent` lies on the stack of.
    on_stack: bool,
    /// The stack of the thread that runs the job; null if that does not matter.
    stack: *const Cell<Stack>,
}

/// The part of a thread's own stack on which its worker's jobs run.
///
/// A thread may leave it for a while: programs that recurse deeply go on in memory that they
/// allocate (the crate `stacker`). What lies between two variables need not be memory then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stack {
    /// The lowest address.
    pub(crate) bottom: usize,
    /// The address below which all variables of the jobs lie.
    pub(crate) base: usize,
}

impl Stack {
    /// Of a thread of which nothing is known: nothing lies there.
    pub(crate) const UNKNOWN: Self = Self { bottom: usize::MAX, base: 0 };

    /// Whether the eight bytes at `address` lie between the variables at `from` and `to`, on this
    /// stack.
    pub(crate) fn has(&self, address: usize, from: usize, to: usize) -> bool {
        let end = to.saturating_sub(size_of::<u64>() - 1);
        self.bottom <= from && to <= self.base && (from..end).contains(&address)
    }
}

/// So many ancestors are looked through for variables.
const NEAREST: usize = 4;

impl Lineage {
    /// The lineage of what `of` forks; `of` was forked at `parent`. `on_stack`: `of` is the address
    /// of a variable of the thread that waits for it, there. `stack`: of the thread that runs `of`.
    ///
    /// # Safety
    /// `parent` is null or outlives this. With `on_stack` and a `parent`, `of` is what it is said
    /// to be. `stack` is null, or outlives this, and does not change meanwhile.
    pub(crate) unsafe fn new(
        of: Ancestor,
        parent: *const Lineage,
        on_stack: bool,
        stack: *const Cell<Stack>,
    ) -> Self {
        Self { of, parent, on_stack, stack }
    }

    /// Whether the eight bytes at `address` belong to the variables of a function that waits for
    /// this job, or for one of its nearest ancestors: between the fork and the beginning of the job
    /// that forked it, on the stack of the thread that runs that.
    pub(crate) fn has_variable(&self, address: usize) -> bool {
        let mut next = Some(self);
        for _ in 0..NEAREST {
            let Some(lineage) = next else { return false };
            let (from, to) = (lineage.of.0, lineage.parent.addr());
            // SAFETY: null or alive: parents outlive their children (promised to `new`).
            next = unsafe { lineage.parent.as_ref() };
            // SAFETY: null, or alive as the parent is, and not written to (promised to `new`).
            let stack = |parent: &Self| unsafe { parent.stack.as_ref() };
            let has = |stack: &Cell<Stack>| stack.get().has(address, from, to);
            if lineage.on_stack && next.and_then(stack).is_some_and(has) {
                return true;
            }
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn regression_only_what_lies_on_one_stack_between_two_of_its_variables_is_known_to_be_there() {
        let stack = Stack { bottom: 1000, base: 2000 };
        let has = |from, to| [1196, 1200, 1500, 1792, 1796].map(|it| stack.has(it, from, to));
        assert_eq!(has(1200, 1800), [false, true, true, true, false]);
        // Either of them lies elsewhere.
        assert_eq!([has(900, 1800), has(1200, 2100), has(900, 2100)], [[false; 5]; 3]);
        assert!(!Stack::UNKNOWN.has(1500, 1200, 1800));
    }

    #[test]
    fn regression_what_a_fork_captures_elsewhere_than_on_its_thread_s_own_stack_is_not_known() {
        // A fork of a job whose thread has this stack, relative to where the job's lineage lies.
        let knows = |bottom: isize, base: isize| {
            let stack = Cell::new(Stack::UNKNOWN);
            // SAFETY: there is no parent; the stack's bounds are set once, below, before they are
            // read, and go later than this.
            let job = unsafe { Lineage::new(Ancestor(1), ptr::null(), false, &raw const stack) };
            let to = (&raw const job).addr();
            let at = |offset| to.wrapping_add_signed(offset);
            stack.set(Stack { bottom: at(bottom), base: at(base) });
            // SAFETY: the parent outlives it; nothing is read at `of`.
            let fork =
                unsafe { Lineage::new(Ancestor(to - 64), &raw const job, true, ptr::null()) };
            [to - 72, to - 64, to - 8].map(|address| fork.has_variable(address))
        };
        assert_eq!(knows(-1000, 1000), [false, true, true]);
        assert_eq!([knows(1000, 2000), knows(-2000, -1000), knows(-32, 1000)], [[false; 3]; 3]);
    }
}
