//! Latches: flags that are set once, and for which one thread waits.
//!
//! [`Latch`] is what a worker waits on while it runs other work; [`ThreadLatch`] is what a thread
//! outside all pools blocks on.

use std::{
    ptr::NonNull,
    sync::atomic::Ordering::{Acquire, Release},
};

use crate::threads::{
    primitive::{AtomicBool, Condvar, Mutex, lock},
    sleep::Parker,
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

/// A flag that is set once, for which a thread blocks.
#[derive(Debug)]
pub(crate) struct ThreadLatch {
    set: Mutex<bool>,
    changed: Condvar,
}

impl ThreadLatch {
    pub(crate) fn new() -> Self {
        Self { set: Mutex::new(false), changed: Condvar::new() }
    }

    /// Sets it and wakes the thread that waits.
    pub(crate) fn set(&self) {
        *lock(&self.set) = true;
        self.changed.notify_all();
    }

    /// Blocks until it is set.
    pub(crate) fn wait(&self) {
        let mut set = lock(&self.set);
        while !*set {
            set = self.changed.wait(set).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }
}
