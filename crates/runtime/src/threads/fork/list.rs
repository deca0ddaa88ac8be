//! A worker's list of open forks: those whose second half waits on its stack.

use std::{
    cell::{Cell, RefCell},
    ptr::NonNull,
};

use super::frame::PendingFork;

/// The open forks of one worker, the oldest first. Only the owner uses it. See `README.md` for the
/// invariants.
#[derive(Debug, Default)]
pub(crate) struct ForkList {
    open: RefCell<Vec<NonNull<PendingFork>>>,
    /// The forks below this index have been handed out.
    published: Cell<usize>,
}

impl ForkList {
    /// The number of open forks.
    pub(crate) fn len(&self) -> usize {
        self.open.borrow().len()
    }

    /// Links `fork` at the young end. It must stay until it is popped.
    pub(crate) fn push(&self, fork: NonNull<PendingFork>) {
        self.open.borrow_mut().push(fork);
    }

    /// Whether the youngest fork has been handed out.
    pub(crate) fn youngest_is_published(&self) -> bool {
        self.published.get() == self.len()
    }

    /// Unlinks the youngest fork, which has not been handed out.
    pub(crate) fn pop(&self) {
        self.open.borrow_mut().pop();
    }

    /// Unlinks the youngest fork, which has been handed out and done.
    pub(crate) fn pop_published(&self) {
        self.pop();
        self.published.set(self.len());
    }

    /// Whether there is a fork that has not been handed out.
    pub(crate) fn has_private(&self) -> bool {
        self.published.get() < self.len()
    }

    /// The oldest fork that has not been handed out, and its place in the list; from now on it
    /// counts as handed out.
    pub(crate) fn publish_next(&self) -> Option<(usize, NonNull<PendingFork>)> {
        let at = self.published.get();
        let fork = *self.open.borrow().get(at)?;
        self.published.set(at + 1);
        Some((at, fork))
    }

    /// The youngest forks, from here on, count as a list of their own until [`Self::end_inner`]:
    /// what is older and not handed out stays so. Answers what to give to `end_inner`.
    pub(crate) fn begin_inner(&self) -> usize {
        self.published.replace(self.len())
    }

    /// Ends what [`Self::begin_inner`] began.
    pub(crate) fn end_inner(&self, published: usize) {
        self.published.set(published);
    }
}
