//! Latches: flags that are set once, and for which one thread waits.
//!
//! [`Latch`] is what a worker waits on while it runs other work; [`ThreadLatch`] is what a thread
//! outside all pools blocks on.

use std::{
    ptr::NonNull,
    sync::atomic::Ordering::{Acquire, Release},
    time::{Duration, Instant},
};

use crate::threads::{
    primitive::{AtomicBool, Thread, current, park, park_timeout},
    sleep::{Parker, relax},
};

/// A flag that is set once, whose owner is a worker that may be asleep.
#[derive(Debug)]
pub(crate) struct Latch {
    set: AtomicBool,
    /// Where the owner sleeps.
    parker: NonNull<Parker>,
}

// SAFETY: the flag is atomic, and the parker is only used by reference, in `set`, whose caller
// promises that it lives; `Parker` is `Sync`.
unsafe impl Send for Latch {}
// SAFETY: as above.
unsafe impl Sync for Latch {}

impl Latch {
    /// A latch whose owner sleeps on `parker`.
    pub(crate) fn new(parker: &Parker) -> Self {
        Self { set: AtomicBool::new(false), parker: NonNull::from(parker) }
    }

    /// Whether it is set. What its setter did before is then visible.
    #[inline]
    pub(crate) fn probe(&self) -> bool {
        self.set.load(Acquire)
    }

    /// Sets it and wakes the owner. The latch, and whatever it is part of, may be gone when this
    /// returns.
    ///
    /// # Safety
    /// `this` points to a latch that lives until it is set. Its parker lives until this function
    /// returns.
    pub(crate) unsafe fn set(this: *const Self) {
        // SAFETY: the latch is not set yet, so it lives.
        let latch = unsafe { &*this };
        // Read before the store below: after it the owner may go on and the latch may be gone.
        let parker = latch.parker;
        latch.set.store(true, Release);
        // SAFETY: the caller promises that the parker still lives.
        let parker = unsafe { parker.as_ref() };
        parker.latch_was_set();
    }
}

/// Looks at a latch before its owner blocks.
const ROUNDS: u32 = 32;

/// A flag that is set once, for which the thread that made it blocks.
#[derive(Debug)]
pub(crate) struct ThreadLatch {
    set: AtomicBool,
    owner: Thread,
}

impl ThreadLatch {
    pub(crate) fn new() -> Self {
        Self { set: AtomicBool::new(false), owner: current() }
    }

    /// Sets it and wakes the thread that waits.
    pub(crate) fn set(&self) {
        self.set.store(true, Release);
        self.owner.unpark();
    }

    /// Waits for some five microseconds without blocking, or until `is_long` says that it will take
    /// longer.
    pub(crate) fn spin(&self, is_long: impl Fn() -> bool) {
        for _ in 0..ROUNDS {
            if self.set.load(Acquire) || is_long() {
                return;
            }
            relax(0);
        }
    }

    /// Blocks until it is set, but not beyond `end`; returns whether it is set. On the thread that
    /// made it.
    pub(crate) fn wait_until(&self, end: Instant) -> bool {
        loop {
            if self.set.load(Acquire) {
                return true;
            }
            let left = end.saturating_duration_since(Instant::now());
            if left == Duration::ZERO {
                return false;
            }
            park_timeout(left);
        }
    }

    /// Blocks until it is set. On the thread that made it.
    pub(crate) fn wait(&self) {
        while !self.set.load(Acquire) {
            park();
        }
    }
}
