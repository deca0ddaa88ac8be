//! Latches: flags that are set once, and for which one thread waits.
//!
//! [`Latch`] is what a worker waits on while it runs other work; [`ThreadLatch`] is what a thread
//! outside all pools blocks on.

use std::{
    ptr::NonNull,
    sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release},
    time::{Duration, Instant},
};

use crate::threads::{
    primitive::{AtomicBool, AtomicU32, Condvar, Mutex, lock},
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

/// It is not set, and nobody blocks.
const UNSET: u32 = 0;
/// It is not set, and the thread that waits blocks or is about to.
const BLOCKS: u32 = 1;
/// It is set.
const SET: u32 = 2;

/// A flag that is set once, for which one thread blocks.
///
/// It has a lock and a condition of its own. [`std::thread::park`] would do, too, but its token is
/// the program's: what unparks a thread that waits here is meant for the next `park` of the
/// program.
#[derive(Debug)]
pub(crate) struct ThreadLatch {
    state: AtomicU32,
    /// Held where the state changes to [`BLOCKS`], and until the thread then waits.
    lock: Mutex<()>,
    changed: Condvar,
}

impl ThreadLatch {
    pub(crate) fn new() -> Self {
        Self { state: AtomicU32::new(UNSET), lock: Mutex::new(()), changed: Condvar::new() }
    }

    fn is_set(&self) -> bool {
        self.state.load(Acquire) == SET
    }

    /// Sets it and wakes the thread that waits. That may go on before this returns, so the caller
    /// has a share of its own in the latch.
    pub(crate) fn set(&self) {
        if self.state.swap(SET, AcqRel) == BLOCKS {
            // The empty critical section is needed: a thread that announced, under the lock, that
            // it blocks is waiting by the time that we hold it. It is woken without the lock, which
            // it needs to go on.
            drop(lock(&self.lock));
            self.changed.notify_one();
        }
    }

    /// Waits for some five microseconds without blocking, or until `is_long` says that it will take
    /// longer.
    pub(crate) fn spin(&self, is_long: impl Fn() -> bool) {
        for _ in 0..ROUNDS {
            if self.is_set() || is_long() {
                return;
            }
            relax(0);
        }
    }

    /// Blocks until it is set, but not beyond `end`; returns whether it is set. Only one thread
    /// waits.
    pub(crate) fn wait_until(&self, end: Instant) -> bool {
        self.block(Some(end))
    }

    /// Blocks until it is set. Only one thread waits.
    pub(crate) fn wait(&self) {
        self.block(None);
    }

    fn block(&self, end: Option<Instant>) -> bool {
        if self.is_set() {
            return true;
        }
        let mut guard = lock(&self.lock);
        if self.state.compare_exchange(UNSET, BLOCKS, Relaxed, Acquire).is_err() {
            return true;
        }
        while !self.is_set() {
            let Some(end) = end else {
                guard = self.changed.wait(guard).unwrap_or_else(|poisoned| poisoned.into_inner());
                continue;
            };
            let left = end.saturating_duration_since(Instant::now());
            if left == Duration::ZERO {
                // From here on nobody need be woken.
                return self.state.compare_exchange(BLOCKS, UNSET, Relaxed, Acquire).is_err();
            }
            let waited = self.changed.wait_timeout(guard, left);
            (guard, _) = waited.unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        true
    }
}
