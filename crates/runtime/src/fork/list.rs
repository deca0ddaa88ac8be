//! A worker's list of open forks: those whose second half waits on its stack.

use std::{
    cell::{Cell, RefCell},
    ptr::NonNull,
};

use super::frame::OpenFork;

/// The open forks of one worker, the oldest first. Only the owner uses it. See `README.md` for the
/// invariants.
#[derive(Debug, Default)]
pub(crate) struct ForkList {
    open: RefCell<Vec<NonNull<OpenFork>>>,
    /// The forks below this index have been handed out.
    exposed: Cell<usize>,
}

impl ForkList {
    /// The number of open forks.
    pub(crate) fn len(&self) -> usize {
        self.open.borrow().len()
    }

    /// Links `fork` at the young end. It must stay until it is popped.
    pub(crate) fn push(&self, fork: NonNull<OpenFork>) {
        self.open.borrow_mut().push(fork);
    }

    /// Whether the youngest fork has been handed out.
    pub(crate) fn youngest_is_handed_out(&self) -> bool {
        self.exposed.get() == self.len()
    }

    /// Unlinks the youngest fork, which has not been handed out.
    pub(crate) fn pop(&self) {
        self.open.borrow_mut().pop();
    }

    /// Unlinks the youngest fork, which has been handed out and done.
    pub(crate) fn pop_handed_out(&self) {
        self.pop();
        self.exposed.set(self.len());
    }

    /// Whether there is a fork that has not been handed out.
    pub(crate) fn has_private(&self) -> bool {
        self.exposed.get() < self.len()
    }

    /// The oldest fork that has not been handed out, and its place in the list; from now on it
    /// counts as handed out.
    pub(crate) fn expose(&self) -> Option<(usize, NonNull<OpenFork>)> {
        let at = self.exposed.get();
        let fork = *self.open.borrow().get(at)?;
        self.exposed.set(at + 1);
        Some((at, fork))
    }

    /// The youngest forks, from here on, count as a list of their own until [`Self::end_inner`]:
    /// what is older and not handed out stays so. Answers what to give to `end_inner`.
    pub(crate) fn begin_inner(&self) -> usize {
        self.exposed.replace(self.len())
    }

    /// Ends what [`Self::begin_inner`] began.
    pub(crate) fn end_inner(&self, exposed: usize) {
        self.exposed.set(exposed);
    }
}
