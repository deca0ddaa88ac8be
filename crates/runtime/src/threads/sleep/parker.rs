//! Where one thread sleeps.

use std::{
    sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst},
    time::Instant,
};

use befit_machine::ClusterId;

use super::{EventCount, SeenOn, patience::Patience};
use crate::threads::primitive::{AtomicU64, AtomicUsize, Condvar, Mutex, fence, lock};

/// The thread runs, or looks for work.
const AWAKE: u64 = 0;
/// The thread sleeps or is about to, and may take any job.
const SLEEPY: u64 = 1;
/// As [`SLEEPY`], but it may take only some jobs.
const HELD: u64 = 2;
/// A latch was set: maybe the one that it waits on.
const WOKEN_BY_LATCH: u64 = 3;
/// There is mail for it.
const WOKEN_BY_MAIL: u64 = 4;
/// This plus a cluster's number: there is an event for that cluster.
const WOKEN_BY_EVENT: u64 = 5;
/// There may be more than one job. Above it stand the low bits of the event's number.
const PASSED_ON: u64 = 1 << 31;

/// Why a sleeper was woken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WakeReason {
    /// A latch was set: maybe the one that it waits on.
    Latch,
    /// Something lies in its mailbox.
    Mail,
    /// Something became ready under a cluster.
    Notified(Notified),
}

/// The notification that woke a worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Notified {
    pub(super) cluster: ClusterId,
    /// Its number: of the event counter's bits the low ones.
    pub(super) event: u32,
    /// There may be more than one job.
    pub(super) passed_on: bool,
}

impl WakeReason {
    fn state(self) -> u64 {
        match self {
            Self::Latch => WOKEN_BY_LATCH,
            Self::Mail => WOKEN_BY_MAIL,
            Self::Notified(Notified { cluster, event, passed_on }) => {
                let passed_on = if passed_on { PASSED_ON } else { 0 };
                u64::from(event) << 32 | passed_on | (WOKEN_BY_EVENT + u64::from(cluster.0))
            }
        }
    }

    fn of(state: u64) -> Option<Self> {
        Some(match state {
            AWAKE | SLEEPY | HELD => return None,
            WOKEN_BY_LATCH => Self::Latch,
            WOKEN_BY_MAIL => Self::Mail,
            by_event => Self::Notified(Notified {
                cluster: ClusterId((by_event & (PASSED_ON - 1)) as u32 - WOKEN_BY_EVENT as u32),
                event: (by_event >> 32) as u32,
                passed_on: by_event & PASSED_ON != 0,
            }),
        })
    }
}

/// How a thread sleeps, or is about to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sleepy {
    /// It may take any job.
    Free,
    /// It may take only some.
    Held,
}

/// Where one thread sleeps: a state that others may change from *sleepy* to *woken*, and a lock
/// with a condition to wait on.
#[derive(Debug)]
pub(crate) struct Parker {
    state: AtomicU64,
    /// The event counter that the owner had read when it last became sleepy.
    seen: AtomicUsize,
    /// Where the owner last became sleepy.
    slept_on: SeenOn,
    /// Where the owner spins, if it does.
    pub(super) spins_on: SeenOn,
    /// How long the owner looks on before it sleeps.
    pub(super) patience: Patience,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Parker {
    pub(crate) fn new() -> Self {
        Self {
            state: AtomicU64::new(AWAKE),
            seen: AtomicUsize::new(0),
            slept_on: SeenOn::nowhere(),
            spins_on: SeenOn::nowhere(),
            patience: Patience::new(),
            lock: Mutex::new(()),
            changed: Condvar::new(),
        }
    }

    /// Whether the owner last became sleepy on processor `cpu`.
    pub(super) fn is_on(&self, cpu: Option<usize>) -> bool {
        self.slept_on.is(cpu)
    }

    /// The owner: becomes sleepy, so that others wake it. A sequentially consistent fence must
    /// follow.
    pub(super) fn prepare_to_park(&self, how: Sleepy, seen: EventCount) {
        self.seen.store(seen.0, Relaxed);
        self.slept_on.note();
        let state = if how == Sleepy::Held { HELD } else { SLEEPY };
        self.state.store(state, Release);
    }

    /// Anyone: whether the owner sleeps or is about to, and has not been woken; and how.
    pub(super) fn sleepy(&self) -> Option<Sleepy> {
        match self.state.load(Acquire) {
            SLEEPY => Some(Sleepy::Free),
            HELD => Some(Sleepy::Held),
            _ => None,
        }
    }

    /// Anyone who has found it [sleepy](Self::sleepy): the event counter that the owner had read
    /// when it became so, or later.
    pub(super) fn seen(&self) -> EventCount {
        EventCount(self.seen.load(Relaxed))
    }

    /// The owner, after [`Self::prepare_to_park`]: sleeps until it is woken, or until then.
    pub(super) fn sleep(&self, until: Option<Instant>) {
        let mut guard = lock(&self.lock);
        while matches!(self.state.load(Acquire), SLEEPY | HELD) {
            let Some(until) = until else {
                guard = self.changed.wait(guard).unwrap_or_else(|poisoned| poisoned.into_inner());
                continue;
            };
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.changed.wait_timeout(guard, left);
            (guard, _) = waited.unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    /// The owner: becomes awake. Returns the reason if it was woken.
    pub(super) fn leave(&self) -> Option<WakeReason> {
        WakeReason::of(self.state.swap(AWAKE, AcqRel))
    }

    /// Anyone, after a sequentially consistent fence: wakes the owner if it is sleepy; returns how
    /// it was.
    pub(super) fn wake(&self, reason: WakeReason) -> Option<Sleepy> {
        // The load avoids a write to the cache line of a thread that is awake.
        let (how, state) = match self.sleepy()? {
            Sleepy::Free => (Sleepy::Free, SLEEPY),
            Sleepy::Held => (Sleepy::Held, HELD),
        };
        self.state.compare_exchange(state, reason.state(), AcqRel, Relaxed).ok()?;
        // The empty critical section is needed: an owner that saw itself sleepy under the lock is
        // waiting by the time that we hold it.
        drop(lock(&self.lock));
        self.changed.notify_one();
        Some(how)
    }

    /// Anyone: a latch that the owner may be waiting on has been set.
    pub(crate) fn latch_was_set(&self) {
        fence(SeqCst);
        self.wake(WakeReason::Latch);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn why_a_sleeper_was_woken_fits_one_word() {
        let mut reasons = vec![WakeReason::Latch, WakeReason::Mail];
        for cluster in [0, 1, 65_535].map(ClusterId) {
            for event in [0, 1, u32::MAX] {
                let notified = |passed_on| Notified { cluster, event, passed_on };
                reasons.extend([false, true].map(|it| WakeReason::Notified(notified(it))));
            }
        }
        let states: Vec<u64> = reasons.iter().map(|reason| reason.state()).collect();
        assert!(states.iter().all(|state| ![AWAKE, SLEEPY, HELD].contains(state)));
        let read: Vec<_> = states.into_iter().filter_map(WakeReason::of).collect();
        assert_eq!(read, reasons);
        assert_eq!([AWAKE, SLEEPY, HELD].map(WakeReason::of), [None; 3]);
    }
}
