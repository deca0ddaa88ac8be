//! Where one thread sleeps.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};

use befit_machine::ClusterId;

use crate::threads::primitive::{AtomicU32, Condvar, Mutex, fence, lock};

/// The thread is doing something, or has been told something and not yet looked.
const AWAKE: u32 = 0;
/// The thread sleeps or is about to.
const SLEEPY: u32 = 1;
/// A latch that it waits on has been set.
const WOKEN_BY_LATCH: u32 = 2;
/// There is mail for it.
const WOKEN_BY_MAIL: u32 = 3;
/// This plus a cluster's number: there is news for that cluster.
const WOKEN_BY_EVENT: u32 = 4;

/// Why a sleeper was woken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WakeReason {
    /// A latch was set: maybe the one that it waits on.
    Latch,
    /// Something lies in its mailbox.
    Mail,
    /// Something became ready under this cluster.
    Notified(ClusterId),
}

/// Where one thread sleeps: a state that others may change from *sleepy* to *told*, and a lock with
/// a condition to wait on.
#[derive(Debug)]
pub(crate) struct Parker {
    state: AtomicU32,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Parker {
    pub(crate) fn new() -> Self {
        Self { state: AtomicU32::new(AWAKE), lock: Mutex::new(()), changed: Condvar::new() }
    }

    /// The owner: from now on others will wake it. A sequentially consistent fence must follow.
    pub(super) fn prepare_to_park(&self) {
        self.state.store(SLEEPY, Relaxed);
    }

    /// Anyone: whether the owner sleeps, or is about to, and has been told nothing.
    pub(super) fn is_sleepy(&self) -> bool {
        self.state.load(Relaxed) == SLEEPY
    }

    /// The owner, after [`Self::prepare_to_park`]: sleeps until it is told something.
    pub(super) fn sleep(&self) {
        let mut guard = lock(&self.lock);
        while self.state.load(Acquire) == SLEEPY {
            guard = self.changed.wait(guard).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    /// The owner: no longer sleepy. Answers what it has been told meanwhile.
    pub(super) fn leave(&self) -> Option<WakeReason> {
        match self.state.swap(AWAKE, AcqRel) {
            AWAKE | SLEEPY => None,
            WOKEN_BY_LATCH => Some(WakeReason::Latch),
            WOKEN_BY_MAIL => Some(WakeReason::Mail),
            events => Some(WakeReason::Notified(ClusterId(events - WOKEN_BY_EVENT))),
        }
    }

    /// Anyone, after a sequentially consistent fence: wakes the owner if it is sleepy; answers
    /// whether it was.
    pub(super) fn wake(&self, reason: WakeReason) -> bool {
        let state = match reason {
            WakeReason::Latch => WOKEN_BY_LATCH,
            WakeReason::Mail => WOKEN_BY_MAIL,
            WakeReason::Notified(cluster) => WOKEN_BY_EVENT + cluster.0,
        };
        // The load spares the line of a thread that is awake a write.
        if !self.is_sleepy() || self.state.compare_exchange(SLEEPY, state, AcqRel, Relaxed).is_err()
        {
            return false;
        }
        // Empty, yet needed: an owner that saw `SLEEPY` under the lock waits by the time that we
        // hold it.
        drop(lock(&self.lock));
        self.changed.notify_one();
        true
    }

    /// Anyone: a latch that the owner may be waiting on has been set.
    pub(crate) fn latch_was_set(&self) {
        fence(SeqCst);
        self.wake(WakeReason::Latch);
    }
}
