//! How a scope counts its tasks, without a line of memory that all workers write for each of them.
//!
//! The *credits* of a scope is the number of tasks that have not ended; the last to end lets the
//! scope go on. Each spawn would add one and each end take one off, and where tasks are short the
//! threads would do little else than pass the credits's line around. So a worker keeps the ends of
//! tasks *in hand*: when a task has ended, it does not tell the scope, and when it spawns the next
//! task into the same scope it uses up the end that it has in hand. Both are plain writes of its
//! own.
//!
//! An end that is in hand keeps the scope waiting. So a worker
//! [settles](Base::return_credits), which tells the scope all that it has in hand, before it
//! runs anything that does not belong to the scope, before it is idle, before it goes on with what
//! waits on its stack, and when nothing else of the scope is left. While it runs a task of the
//! scope itself there is no hurry: the scope waits for that task in any case.

use std::{
    cell::Cell,
    ptr::{self, NonNull},
    sync::atomic::Ordering::{AcqRel, Relaxed},
};

use crossbeam_utils::CachePadded;

use super::Base;
use crate::threads::{engine::Lineage, primitive::AtomicUsize};

/// How much of a scope has not ended: its body, tasks, and what workers have in hand of it. On a
/// line of its own: all else in a scope is only read.
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

    /// One more. Whoever calls it is a part of the scope itself, so it is not over; no order is
    /// needed.
    pub(in crate::threads) fn add_one(&self) {
        self.0.fetch_add(1, Relaxed);
    }

    /// So many have ended. Answers whether they were the last; then all that any of them did comes
    /// before.
    pub(in crate::threads) fn take(&self, count: usize) -> bool {
        self.0.fetch_sub(count, AcqRel) == count
    }
}

/// The ends that one worker has in hand, all of one scope's tasks. Only that worker uses it.
#[derive(Debug)]
pub(crate) struct HeldCredits {
    count: Cell<usize>,
    /// The scope, which stays as long as the count is not 0; and the place of its tasks.
    scope: Cell<*const Base>,
    place: Cell<*const Lineage>,
}

impl HeldCredits {
    pub(crate) const fn none() -> Self {
        Self { count: Cell::new(0), scope: Cell::new(ptr::null()), place: Cell::new(ptr::null()) }
    }

    /// Whether nothing is in hand but of tasks that were spawned at `place`: no two scopes have the
    /// same.
    #[inline]
    pub(crate) fn is_for(&self, place: *const Lineage) -> bool {
        self.is_empty() || ptr::eq(self.place.get(), place)
    }

    /// Takes in hand the end of one more task of `scope`, the only one of which it has any. Answers
    /// how many there are now.
    #[inline]
    pub(super) fn put(&self, scope: &Base) -> usize {
        let count = self.count.get() + 1;
        self.count.set(count);
        self.scope.set(scope);
        self.place.set(scope.place().as_ptr());
        count
    }

    /// Uses up an end of a task of `scope` that is in hand; answers whether there was one.
    #[inline]
    pub(super) fn use_one(&self, scope: &Base) -> bool {
        let has_one = !self.is_empty() && self.is_for(scope.place().as_ptr());
        if has_one {
            self.count.set(self.count.get() - 1);
        }
        has_one
    }

    /// All that is in hand, and the scope that must be told; nothing is in hand any more.
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
