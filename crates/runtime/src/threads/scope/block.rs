//! The memory of spawned tasks: blocks of one size, which a worker uses again.
//!
//! A worker keeps the blocks of tasks that it has run for those that it spawns next. They are in
//! its cache, and no allocator has to be asked. What it has too many of goes to the other workers
//! of its pool, a [`Batch`] at a time: where one worker spawns and others run, the blocks come back
//! to it. J. Bonwick and J. Adams, "Magazines and vmem", USENIX 2001, section 3, has the two
//! batches of each worker and the store of full ones. A task that does not fit into a block lies in
//! memory of its own.

use std::{
    alloc::{Layout, alloc, dealloc, handle_alloc_error},
    cell::Cell,
    fmt,
    ptr::{self, NonNull},
    sync::atomic::Ordering::Relaxed,
};

use befit_sched::forks::{MEMORY_BATCH, SPARE_BATCHES};

use crate::threads::{
    primitive::{AtomicUsize, Mutex, lock},
    worker::Worker,
};

/// What a block can hold: with the allocator's own word, two lines of the cache.
const BLOCK: Layout = match Layout::from_size_align(112, 16) {
    Ok(layout) => layout,
    Err(_) => unreachable!(),
};

/// A block that is not in use.
struct Free {
    next: *mut Self,
}

/// Blocks that are not in use, the first of a list, and how many.
#[derive(Clone, Copy)]
struct List {
    first: *mut Free,
    count: usize,
}

impl List {
    const EMPTY: Self = Self { first: ptr::null_mut(), count: 0 };

    /// # Safety
    /// The list is nobody else's.
    #[inline]
    unsafe fn pop(&mut self) -> Option<NonNull<u8>> {
        let first = NonNull::new(self.first)?;
        // SAFETY: what is in the list was written by `push`, and is nobody else's.
        self.first = unsafe { first.as_ref() }.next;
        self.count -= 1;
        Some(first.cast())
    }

    /// # Safety
    /// `block` is of [`BLOCK`], and nobody uses it any more.
    #[inline]
    unsafe fn push(&mut self, block: NonNull<u8>) {
        let free = block.cast::<Free>();
        // SAFETY: large enough, aligned, and not in use.
        unsafe { free.write(Free { next: self.first }) };
        (self.first, self.count) = (free.as_ptr(), self.count + 1);
    }

    /// Gives all blocks back to the allocator.
    ///
    /// # Safety
    /// The list is nobody else's.
    unsafe fn free(mut self) {
        // SAFETY: promised by the caller.
        while let Some(block) = unsafe { self.pop() } {
            // SAFETY: all blocks were allocated so.
            unsafe { dealloc(block.as_ptr(), BLOCK) };
        }
    }
}

/// Blocks that a worker keeps. Only that worker uses them.
pub(in crate::threads) struct Blocks {
    /// What it takes from and puts into.
    open: Cell<List>,
    /// A whole batch, or none.
    full: Cell<List>,
}

impl Blocks {
    pub(in crate::threads) const fn none() -> Self {
        Self { open: Cell::new(List::EMPTY), full: Cell::new(List::EMPTY) }
    }

    /// A block that nobody uses any more, if this worker or `spare` has one.
    #[inline]
    fn take(&self, spare: &Spare) -> Option<NonNull<u8>> {
        let mut open = self.open.get();
        if open.count == 0 {
            open = self.full.replace(List::EMPTY);
            if open.count == 0 {
                open = spare.take()?;
            }
        }
        // SAFETY: this worker's own; the cell has what is left of it before anybody looks again.
        let block = unsafe { open.pop() };
        self.open.set(open);
        block
    }

    /// Keeps `block`, here or in `spare`, unless both have enough.
    ///
    /// # Safety
    /// It is of [`BLOCK`], and nobody uses it any more.
    #[inline]
    unsafe fn put(&self, block: NonNull<u8>, spare: &Spare) {
        let mut open = self.open.get();
        if open.count == MEMORY_BATCH {
            let full = self.full.replace(open);
            if full.count > 0 {
                spare.put(full);
            }
            open = List::EMPTY;
        }
        // SAFETY: promised by the caller.
        unsafe { open.push(block) };
        self.open.set(open);
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        for list in [&self.open, &self.full] {
            // SAFETY: this worker's own.
            unsafe { list.replace(List::EMPTY).free() };
        }
    }
}

impl fmt::Debug for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Blocks").field(&(self.open.get().count + self.full.get().count)).finish()
    }
}

/// Batches that a worker of the pool had too many of.
pub(in crate::threads) struct Spare {
    /// How many there are, for a look without the lock.
    count: AtomicUsize,
    batches: Mutex<Vec<Batch>>,
}

/// [`MEMORY_BATCH`] blocks.
struct Batch(List);

// SAFETY: the blocks of the list are nobody else's, and hold nothing.
unsafe impl Send for Batch {}

impl Spare {
    pub(in crate::threads) fn none() -> Self {
        Self { count: AtomicUsize::new(0), batches: Mutex::new(Vec::new()) }
    }

    fn take(&self) -> Option<List> {
        if self.count.load(Relaxed) == 0 {
            return None;
        }
        let mut batches = lock(&self.batches);
        let batch = batches.pop();
        self.count.store(batches.len(), Relaxed);
        batch.map(|Batch(list)| list)
    }

    #[cold]
    #[inline(never)]
    fn put(&self, list: List) {
        let mut batches = lock(&self.batches);
        if batches.len() < SPARE_BATCHES {
            batches.push(Batch(list));
            self.count.store(batches.len(), Relaxed);
            return;
        }
        drop(batches);
        // SAFETY: nobody else has it.
        unsafe { list.free() };
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        for Batch(list) in lock(&self.batches).drain(..) {
            // SAFETY: nobody else has it.
            unsafe { list.free() };
        }
    }
}

impl fmt::Debug for Spare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Spare").field(&self.count.load(Relaxed)).finish()
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
    let kept = |worker: &Worker| worker.blocks().take(&worker.registry().spare_blocks);
    Worker::with_current(|worker| worker.and_then(kept)).unwrap_or_else(allocate)
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
    Worker::with_current(|worker| match worker {
        // SAFETY: promised by the caller.
        Some(worker) => unsafe { worker.blocks().put(block, &worker.registry().spare_blocks) },
        // SAFETY: all blocks were allocated so.
        None => unsafe { dealloc(block.as_ptr(), BLOCK) },
    });
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn what_one_worker_has_too_much_of_comes_to_another_batch_by_batch() {
        let (spawner, thief, spare) = (Blocks::none(), Blocks::none(), Spare::none());
        let count = 5 * MEMORY_BATCH;
        let made: Vec<_> = (0..count).map(|_| allocate()).collect();
        for block in &made {
            // SAFETY: just made, and nobody's.
            unsafe { thief.put(*block, &spare) };
        }
        let again: HashSet<_> = std::iter::from_fn(|| spawner.take(&spare)).collect();
        assert!(again.iter().all(|block| made.contains(block)));
        // The other keeps at most two batches.
        let kept = std::iter::from_fn(|| thief.take(&spare)).collect::<Vec<_>>();
        assert!(kept.iter().all(|block| made.contains(block) && !again.contains(block)));
        assert_eq!((again.len(), kept.len()), (3 * MEMORY_BATCH, 2 * MEMORY_BATCH));
        for block in again.into_iter().chain(kept) {
            // SAFETY: taken out, and not used.
            unsafe { dealloc(block.as_ptr(), BLOCK) };
        }
    }

    #[test]
    fn a_pool_keeps_no_more_than_it_has_room_for() {
        let (worker, spare) = (Blocks::none(), Spare::none());
        for _ in 0..(SPARE_BATCHES + 5) * MEMORY_BATCH {
            // SAFETY: just made, and nobody's.
            unsafe { worker.put(allocate(), &spare) };
        }
        assert_eq!(lock(&spare.batches).len(), SPARE_BATCHES);
        assert!(format!("{worker:?} {spare:?}").contains("256"));
    }
}
