//! What a fork allocates: nothing, unless another worker takes it.
#![cfg(not(any(loom, befit_record)))]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
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

fn fib(n: u32) -> u32 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

#[test]
fn a_fork_that_nobody_takes_allocates_nothing() {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let calls = pool.install(|| {
        let before = CALLS.get();
        assert_eq!(fib(15), 610);
        CALLS.get() - before
    });
    assert_eq!(calls, 0);
}
