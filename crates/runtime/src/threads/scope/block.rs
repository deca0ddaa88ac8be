//! The memory of spawned tasks: blocks of one size, which a worker uses again.
//!
//! A worker keeps the blocks of tasks that it has run for those that it spawns next. They are in
//! its cache, and no allocator has to be asked. A task that does not fit into a block lies in
//! memory of its own.

use std::{
    alloc::{Layout, alloc, dealloc, handle_alloc_error},
    cell::Cell,
    fmt, ptr,
    ptr::NonNull,
};

use crate::threads::worker::Worker;

/// What a block can hold: with the allocator's own word, two lines of the cache.
const BLOCK: Layout = match Layout::from_size_align(112, 16) {
    Ok(layout) => layout,
    Err(_) => unreachable!(),
};

/// A worker keeps at most so many blocks.
const MOST_KEPT: usize = 256;

/// A block that is not in use.
struct Free {
    next: *mut Self,
}

/// Blocks that a worker keeps. Only that worker uses them.
pub(in crate::threads) struct Blocks {
    first: Cell<*mut Free>,
    count: Cell<usize>,
}

impl Blocks {
    pub(in crate::threads) const fn none() -> Self {
        Self { first: Cell::new(ptr::null_mut()), count: Cell::new(0) }
    }

    #[inline]
    fn take(&self) -> Option<NonNull<u8>> {
        let first = NonNull::new(self.first.get())?;
        // SAFETY: what is in the list was written by `put`, and is nobody else's.
        self.first.set(unsafe { first.as_ref() }.next);
        self.count.set(self.count.get() - 1);
        Some(first.cast())
    }

    /// Keeps `block`; returns false if there are enough.
    ///
    /// # Safety
    /// It is of [`BLOCK`], and nobody uses it any more.
    #[inline]
    unsafe fn put(&self, block: NonNull<u8>) -> bool {
        let room = self.count.get() < MOST_KEPT;
        if room {
            let free = block.cast::<Free>();
            // SAFETY: large enough, aligned, and not in use.
            unsafe { free.write(Free { next: self.first.get() }) };
            self.first.set(free.as_ptr());
            self.count.set(self.count.get() + 1);
        }
        room
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        while let Some(block) = self.take() {
            // SAFETY: all blocks were allocated so.
            unsafe { dealloc(block.as_ptr(), BLOCK) };
        }
    }
}

impl fmt::Debug for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Blocks").field(&self.count).finish()
    }
}

const fn fits<J>() -> bool {
    size_of::<J>() <= BLOCK.size() && align_of::<J>() <= BLOCK.align()
}

/// Puts `job` into memory of its own, until [`release`] gets it.
#[inline]
pub(super) fn put_in<J>(job: J) -> NonNull<J> {
    if !fits::<J>() {
        return NonNull::from(Box::leak(Box::new(job)));
    }
    let place = new_block().cast::<J>();
    // SAFETY: it fits, and the block is nobody else's.
    unsafe { place.write(job) };
    place
}

/// Gives back the memory in which `job` lies, without dropping that.
///
/// # Safety
/// It was returned by [`put_in`], and what it was has been moved out.
#[inline]
pub(super) unsafe fn release<J>(job: NonNull<J>) {
    if fits::<J>() {
        // SAFETY: `put_in` made a block for it; nobody uses it any more.
        unsafe { free_block(job.cast()) };
    } else {
        // SAFETY: `put_in` leaked a box; what was in it is not dropped again.
        drop(unsafe { Box::from_raw(job.as_ptr().cast::<std::mem::MaybeUninit<J>>()) });
    }
}

#[inline(never)]
fn new_block() -> NonNull<u8> {
    Worker::with_current(|worker| worker?.blocks().take()).unwrap_or_else(allocate)
}

#[cold]
#[inline(never)]
fn allocate() -> NonNull<u8> {
    // SAFETY: the size is not 0.
    NonNull::new(unsafe { alloc(BLOCK) }).unwrap_or_else(|| handle_alloc_error(BLOCK))
}

/// # Safety
/// It is of [`BLOCK`], and nobody uses it any more.
#[inline(never)]
unsafe fn free_block(block: NonNull<u8>) {
    // SAFETY: promised by the caller.
    let keep = |worker: &Worker| unsafe { worker.blocks().put(block) };
    if !Worker::with_current(|worker| worker.is_some_and(keep)) {
        // SAFETY: all blocks were allocated so.
        unsafe { dealloc(block.as_ptr(), BLOCK) };
    }
}
