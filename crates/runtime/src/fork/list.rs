//! A worker's list of open forks: those whose second half waits on its stack.

use std::{cell::Cell, ptr::NonNull, sync::atomic::Ordering::Relaxed};

use super::frame::OpenFork;
use crate::primitive::AtomicUsize;

/// The open forks of one worker, the oldest first. See `README.md` for the invariants.
///
/// Only the owner uses it, so pushing and popping are plain loads and stores. All that others touch is `limit`, by
/// which they make the owner's next push take the slow path.
#[derive(Debug)]
pub(crate) struct ForkList {
    /// A fork at this index or above takes the slow path: the capacity, or 0 when a fork should be handed out.
    limit: AtomicUsize,
    /// The number of open forks (below [`ONE_COUNTED`]), and above it the number of all forks since
    /// [`Self::take_count`]: one addition for both, as each further store would be a good part of what a fork costs.
    state: Cell<u64>,
    /// The forks below this index have been handed out.
    exposed: Cell<usize>,
    slots: Cell<NonNull<Slot>>,
    capacity: Cell<usize>,
}

type Slot = NonNull<OpenFork>;

/// One fork in the counting part of the state. 2⁴⁰ can be counted: more than a worker makes before it next reaches a
/// slow path.
const ONE_COUNTED: u64 = 1 << 24;

/// Deep enough for most programs; the list grows beyond.
const FIRST_CAPACITY: usize = 256;

impl ForkList {
    pub(crate) fn new() -> Self {
        let (slots, capacity) = allocate(FIRST_CAPACITY);
        Self {
            limit: AtomicUsize::new(capacity),
            state: Cell::new(0),
            exposed: Cell::new(0),
            slots: Cell::new(slots),
            capacity: Cell::new(capacity),
        }
    }

    /// The number of open forks.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        (self.state.get() % ONE_COUNTED) as usize
    }

    /// Whether the next push may be a plain [`Self::push`]: the one look at a flag that a fork costs.
    #[inline(always)]
    pub(crate) fn may_push(&self) -> bool {
        self.len() < self.limit.load(Relaxed)
    }

    /// Links `fork` at the young end.
    ///
    /// # Safety
    /// The list is shorter than its capacity, as [`Self::may_push`] or [`Self::make_room`] has shown. The fork stays
    /// until it is popped.
    #[inline(always)]
    pub(crate) unsafe fn push(&self, fork: NonNull<OpenFork>) {
        // Read before the slot is written: the compiler cannot know that this does not change it.
        let state = self.state.get();
        // SAFETY: within the allocation, as the length is below the capacity.
        let slot = unsafe { self.slots.get().add((state % ONE_COUNTED) as usize) };
        // SAFETY: only the owner's thread reads or writes slots.
        unsafe { slot.write(fork) };
        self.state.set(state.wrapping_add(ONE_COUNTED + 1));
    }

    /// Whether the youngest fork has been handed out.
    #[inline(always)]
    pub(crate) fn youngest_is_handed_out(&self) -> bool {
        self.exposed.get() == self.len()
    }

    /// Unlinks the youngest fork, which has not been handed out.
    #[inline(always)]
    pub(crate) fn pop(&self) {
        self.state.set(self.state.get().wrapping_sub(1));
    }

    /// Unlinks the youngest fork, which has been handed out and done.
    pub(crate) fn pop_handed_out(&self) {
        self.pop();
        self.exposed.set(self.len());
    }

    /// The oldest fork that has not been handed out, and its place in the list; from now on it counts as handed out.
    pub(crate) fn expose(&self) -> Option<(usize, NonNull<OpenFork>)> {
        let at = self.exposed.get();
        if at >= self.len() {
            return None;
        }
        self.exposed.set(at + 1);
        // SAFETY: within the allocation, as `at` is below the length.
        let slot = unsafe { self.slots.get().add(at) };
        // SAFETY: slots below the length have been written, by this thread.
        Some((at, unsafe { slot.read() }))
    }

    /// The youngest forks, from here on, count as a list of their own until [`Self::end_inner`]: what is older and not
    /// handed out stays so. Answers what to give to `end_inner`.
    pub(crate) fn begin_inner(&self) -> usize {
        self.exposed.replace(self.len())
    }

    /// Ends what [`Self::begin_inner`] began.
    pub(crate) fn end_inner(&self, exposed: usize) {
        self.exposed.set(exposed);
    }

    /// The number of pushes since the last call.
    pub(crate) fn take_count(&self) -> u64 {
        let state = self.state.get();
        self.state.set(state % ONE_COUNTED);
        state / ONE_COUNTED
    }

    /// Makes the next push take the slow path, or not.
    pub(crate) fn request(&self, wanted: bool) {
        self.limit.store(if wanted { 0 } else { self.capacity.get() }, Relaxed);
    }

    /// Whether a fork should be handed out.
    #[inline(always)]
    pub(crate) fn is_requested(&self) -> bool {
        self.limit.load(Relaxed) == 0
    }

    /// What others set to 0 to make the owner hand out a fork.
    pub(crate) fn limit(&self) -> &AtomicUsize {
        &self.limit
    }

    /// Sees to it that there is room for one more.
    pub(crate) fn make_room(&self) {
        let old = self.capacity.get();
        if self.len() < old {
            return;
        }
        // Each is a stack frame of a hundred bytes or more, so no stack is large enough for this.
        assert!(2 * old < ONE_COUNTED as usize, "more than eight million open forks");
        let (slots, capacity) = allocate(2 * old);
        // SAFETY: both allocations hold at least `len` slots, which have been written, and do not overlap.
        unsafe { slots.copy_from_nonoverlapping(self.slots.get(), self.len()) };
        self.release();
        self.slots.set(slots);
        self.capacity.set(capacity);
        // Unless someone has set it to 0: that request must not be lost.
        let _ = self.limit.compare_exchange(old, capacity, Relaxed, Relaxed);
    }

    fn release(&self) {
        let slots = std::ptr::slice_from_raw_parts_mut(self.slots.get().as_ptr(), self.capacity.get());
        // SAFETY: made by `allocate` as a box of this length, and freed only here, before it is replaced or by `drop`.
        drop(unsafe { Box::from_raw(slots as *mut [std::mem::MaybeUninit<Slot>]) });
    }
}

fn allocate(capacity: usize) -> (NonNull<Slot>, usize) {
    let slots = Box::leak(Box::<[Slot]>::new_uninit_slice(capacity));
    (NonNull::from(slots).cast(), capacity)
}

impl Drop for ForkList {
    fn drop(&mut self) {
        self.release();
    }
}
