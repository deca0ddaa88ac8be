//! What a fork allocates: nothing, unless another worker takes it.
#![cfg(not(any(loom, befit_record)))]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use befit::{ThreadPoolBuilder, join};

struct Counting;

thread_local! {
    /// This thread's calls of the allocator.
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: the system's allocator keeps the promises; the count allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.set(CALLS.get() + 1);
        // SAFETY: promised by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: promised by the caller.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Forks to this depth. No leaf is so short that its fork would be inlined.
fn tree(depth: u32) {
    if depth > 0 {
        join(|| tree(depth - 1), || tree(depth - 1));
        return;
    }
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_micros(20) {}
}

#[test]
fn a_fork_that_nobody_takes_allocates_nothing() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let [busy, over] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
    // In a pool of one thread no `join` is a fork. So there is another thread, which takes none.
    let (begun, until) = (Arc::clone(&busy), Arc::clone(&over));
    pool.spawn(move || {
        begun.store(true, Relaxed);
        while !until.load(Relaxed) {
            thread::yield_now();
        }
    });
    while !busy.load(Relaxed) {
        thread::yield_now();
    }
    let (calls, forks) = pool.install(|| {
        let forks = || pool.statistics().total().forks;
        // The policy's queue gets its room.
        tree(6);
        let forks_before = forks();
        let calls_before = CALLS.get();
        tree(6);
        let calls = CALLS.get() - calls_before;
        (calls, forks() - forks_before)
    });
    over.store(true, Relaxed);
    assert_eq!((calls, forks), (0, 63));
}
