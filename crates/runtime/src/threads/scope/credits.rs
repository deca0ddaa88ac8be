//! How a scope counts its tasks, without a line of memory that all workers write for each of them.
//!
//! The *credits* of a scope are the number of tasks that have not ended (credit-based termination
//! detection: Mattern, 1989). The last task to end lets the scope go on. If each spawn added a
//! credit and each end returned one, threads with short tasks would do little else than pass that
//! line around. So a worker *holds* the credit of a task that has ended, and gives it to the next
//! task that it spawns into the same scope. Both are ordinary writes to its own memory.
//!
//! A worker that has none to give, as one that spawns all tasks and runs few, *draws* several at
//! once from the scope, twice as many each time, and holds those that it does not need yet. To the
//! scope they are the same as those of tasks that have ended.
//!
//! A credit that is held keeps the scope waiting. So a worker
//! [returns](Base::return_credits) all that it holds
//! - before it runs anything that does not belong to the scope,
//! - before it is idle,
//! - before it goes on with what waits on its stack, and
//! - when nothing else of the scope is left.
//!
//! While it runs a task of the scope itself there is no hurry: the scope waits for that task in any
//! case.

use std::{
    cell::Cell,
    ptr::{self, NonNull},
    sync::atomic::Ordering::{AcqRel, Relaxed},
};

use crossbeam_utils::CachePadded;

use super::Base;
use crate::threads::{engine::Lineage, primitive::AtomicUsize};

/// The credits of a scope: one for its body, one for each task that has not ended or whose credit
/// a worker holds. They are on a line of their own: all else in a scope is only read.
#[derive(Debug)]
pub(in crate::threads) struct Credits(CachePadded<AtomicUsize>);

impl Credits {
    /// Of a scope that begins with its body.
    pub(in crate::threads) fn new() -> Self {
        Self(CachePadded::new(AtomicUsize::new(1)))
    }

    pub(in crate::threads) fn get(&self) -> usize {
        self.0.load(Relaxed)
    }

    /// So many more. The caller is a part of the scope itself, so it is not over; no order is
    /// needed.
    pub(in crate::threads) fn add(&self, count: usize) {
        self.0.fetch_add(count, Relaxed);
    }

    /// So many have ended. Returns whether they were the last; then all that any of them did comes
    /// before.
    pub(in crate::threads) fn take(&self, count: usize) -> bool {
        self.0.fetch_sub(count, AcqRel) == count
    }
}

/// The credits that one worker holds, all of one scope. Only that worker uses it.
#[derive(Debug)]
pub(crate) struct HeldCredits {
    count: Cell<usize>,
    /// The scope, which stays as long as the count is not 0; and the lineage of its tasks.
    scope: Cell<*const Base>,
    lineage: Cell<*const Lineage>,
    /// How many were last drawn, of that scope.
    drawn: Cell<usize>,
}

/// At most so many credits are drawn at once.
const MOST_DRAWN: usize = 64;

impl HeldCredits {
    pub(crate) const fn none() -> Self {
        Self {
            count: Cell::new(0),
            scope: Cell::new(ptr::null()),
            lineage: Cell::new(ptr::null()),
            drawn: Cell::new(0),
        }
    }

    /// True if all held credits belong to the scope at `lineage`.
    #[inline]
    pub(crate) fn is_for(&self, lineage: *const Lineage) -> bool {
        self.is_empty() || ptr::eq(self.lineage.get(), lineage)
    }

    /// Holds one more credit of `scope`, the only one of which it has any. Returns how many there
    /// are now.
    #[inline]
    pub(super) fn put(&self, scope: &Base) -> usize {
        let count = self.count.get() + 1;
        self.count.set(count);
        self.belong_to(scope);
        count
    }

    #[inline]
    fn belong_to(&self, scope: &Base) {
        if !ptr::eq(self.scope.replace(scope), scope) {
            self.drawn.set(0);
        }
        self.lineage.set(scope.lineage().as_ptr());
    }

    /// While nothing is held: how many credits of `scope` to draw, for a new task and to be held.
    pub(super) fn draw(&self, scope: &Base) -> usize {
        self.belong_to(scope);
        let count = (2 * self.drawn.get()).clamp(1, MOST_DRAWN);
        self.drawn.set(count);
        self.count.set(count - 1);
        count
    }

    /// The held credits, if they are of `scope`; then nothing is held any more.
    pub(super) fn take_of(&self, scope: &Base) -> usize {
        if self.is_for(scope.lineage().as_ptr()) { self.count.replace(0) } else { 0 }
    }

    /// Gives a held credit of `scope` to a new task; returns whether there was one.
    #[inline]
    pub(super) fn use_one(&self, scope: &Base) -> bool {
        let has_one = !self.is_empty() && self.is_for(scope.lineage().as_ptr());
        if has_one {
            self.count.set(self.count.get() - 1);
        }
        has_one
    }

    /// All held credits, and their scope; nothing is held any more.
    pub(super) fn take_all(&self) -> Option<(NonNull<Base>, usize)> {
        let count = self.count.replace(0);
        let scope = NonNull::new(self.scope.get().cast_mut())?;
        (count > 0).then_some((scope, count))
    }

    /// Whether there is anything.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.count.get() == 0
    }
}
