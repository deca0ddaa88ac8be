//! How idle workers go to sleep and are woken, and why no wake-up is lost. `README.md` beside this
//! file is the specification; the names here are the names there.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};

use befit_machine::ClusterId;
use crossbeam_utils::CachePadded;

use crate::threads::{
    latch::Latch,
    primitive::{AtomicU32, AtomicUsize, Condvar, Mutex, fence, lock},
};

/// The sleep of one pool's threads.
#[derive(Debug)]
pub(crate) struct Sleep {
    parkers: Box<[CachePadded<Parker>]>,
    /// The number of workers that are idle: at 0 a notifier has nothing to do.
    idle: CachePadded<AtomicUsize>,
    /// The event counter: counts the notifications that found a worker idle, and the mail. An idle
    /// worker that found nothing need not look again before it changes.
    events: CachePadded<AtomicUsize>,
    /// At least the number of sleepy parkers: at 0 a notifier need not look at the parkers.
    sleepers: CachePadded<AtomicUsize>,
}

/// A worker counts as idle until this is dropped.
#[derive(Debug)]
pub(crate) struct Idle<'a>(&'a AtomicUsize);

impl Drop for Idle<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// A value of the event counter, read by an idle worker before it looked for work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EventCount(usize);

impl Sleep {
    pub(crate) fn new(threads: usize) -> Self {
        Self {
            parkers: (0..threads).map(|_| CachePadded::new(Parker::new())).collect(),
            idle: CachePadded::new(AtomicUsize::new(0)),
            events: CachePadded::new(AtomicUsize::new(0)),
            sleepers: CachePadded::new(AtomicUsize::new(0)),
        }
    }

    /// Thread `thread`'s own parker.
    pub(crate) fn parker(&self, thread: usize) -> &Parker {
        &self.parkers[thread]
    }

    /// The calling worker has found nothing. Until the result is dropped, notifications step the
    /// event counter. The worker must look once more, for what was added before.
    pub(crate) fn begin_idle(&self) -> Idle<'_> {
        self.idle.fetch_add(1, Relaxed);
        fence(SeqCst);
        Idle(&self.idle)
    }

    /// The number of workers that are idle.
    pub(crate) fn idle(&self) -> usize {
        self.idle.load(Relaxed)
    }

    /// The event counter. An idle worker reads it *before* it looks for work.
    pub(crate) fn seen(&self) -> EventCount {
        EventCount(self.events.load(Acquire))
    }

    /// Notifies the threads `under` the cluster that they may find a job. Wakes the first of them
    /// that sleeps, in this order, or all that sleep if `all` returns true. The `cluster` is their
    /// reason to wake.
    #[inline]
    pub(crate) fn notify(
        &self,
        cluster: ClusterId,
        under: impl Iterator<Item = usize>,
        all: impl FnOnce() -> bool,
    ) {
        fence(SeqCst);
        if self.idle.load(Relaxed) > 0 {
            self.notify_idle(cluster, under, all);
        }
    }

    #[cold]
    #[inline(never)]
    fn notify_idle(
        &self,
        cluster: ClusterId,
        under: impl Iterator<Item = usize>,
        all: impl FnOnce() -> bool,
    ) {
        self.events.fetch_add(1, AcqRel);
        fence(SeqCst);
        if self.sleepers.load(Relaxed) == 0 {
            return;
        }
        let all = all();
        for thread in under {
            if self.parkers[thread].wake(WakeReason::Notified(cluster)) && !all {
                return;
            }
        }
    }

    /// Notifies that there is mail for `thread`, after it was posted.
    pub(crate) fn notify_mail(&self, thread: usize) {
        self.events.fetch_add(1, AcqRel);
        fence(SeqCst);
        self.parkers[thread].wake(WakeReason::Mail);
    }

    /// Lets thread `me` sleep until there is an event since `seen`, or `latch` is set. It may
    /// return early. If it would be the last to sleep, it first calls `may_be_stuck`, and stays
    /// awake if that returns true. Returns the cluster of the notification that woke it, which it
    /// must pass on if it does not look for work now.
    pub(crate) fn sleep(
        &self,
        me: usize,
        seen: EventCount,
        latch: &Latch,
        may_be_stuck: impl FnOnce() -> bool,
    ) -> Option<ClusterId> {
        self.sleepers.fetch_add(1, Relaxed);
        let parker = &self.parkers[me];
        parker.prepare_to_park();
        fence(SeqCst);
        let event_or_latch = self.seen() != seen || latch.probe();
        let last = || self.parkers.iter().all(|parker| parker.is_sleepy());
        if !(event_or_latch || (last() && may_be_stuck())) {
            parker.sleep();
        }
        let reason = parker.leave();
        self.sleepers.fetch_sub(1, Relaxed);
        match reason {
            Some(WakeReason::Notified(cluster)) => Some(cluster),
            Some(WakeReason::Latch | WakeReason::Mail) | None => None,
        }
    }
}

/// The thread runs, or looks for work.
const AWAKE: u32 = 0;
/// The thread sleeps or is about to.
const SLEEPY: u32 = 1;
/// A latch was set: maybe the one that it waits on.
const WOKEN_BY_LATCH: u32 = 2;
/// There is mail for it.
const WOKEN_BY_MAIL: u32 = 3;
/// This plus a cluster's number: there is an event for that cluster.
const WOKEN_BY_EVENT: u32 = 4;

/// Why a sleeper was woken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WakeReason {
    /// A latch was set: maybe the one that it waits on.
    Latch,
    /// Something lies in its mailbox.
    Mail,
    /// Something became ready under this cluster.
    Notified(ClusterId),
}

/// Where one thread sleeps: a state that others may change from *sleepy* to *woken*, and a lock
/// with a condition to wait on.
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

    /// The owner: becomes sleepy, so that others wake it. A sequentially consistent fence must
    /// follow.
    fn prepare_to_park(&self) {
        self.state.store(SLEEPY, Relaxed);
    }

    /// Anyone: whether the owner sleeps or is about to, and has not been woken.
    fn is_sleepy(&self) -> bool {
        self.state.load(Relaxed) == SLEEPY
    }

    /// The owner, after [`Self::prepare_to_park`]: sleeps until it is woken.
    fn sleep(&self) {
        let mut guard = lock(&self.lock);
        while self.state.load(Acquire) == SLEEPY {
            guard = self.changed.wait(guard).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    /// The owner: becomes awake. Returns the reason if it was woken.
    fn leave(&self) -> Option<WakeReason> {
        match self.state.swap(AWAKE, AcqRel) {
            AWAKE | SLEEPY => None,
            WOKEN_BY_LATCH => Some(WakeReason::Latch),
            WOKEN_BY_MAIL => Some(WakeReason::Mail),
            by_event => Some(WakeReason::Notified(ClusterId(by_event - WOKEN_BY_EVENT))),
        }
    }

    /// Anyone, after a sequentially consistent fence: wakes the owner if it is sleepy; returns
    /// whether it was.
    fn wake(&self, reason: WakeReason) -> bool {
        let state = match reason {
            WakeReason::Latch => WOKEN_BY_LATCH,
            WakeReason::Mail => WOKEN_BY_MAIL,
            WakeReason::Notified(cluster) => WOKEN_BY_EVENT + cluster.0,
        };
        // The load avoids a write to the cache line of a thread that is awake.
        if !self.is_sleepy() || self.state.compare_exchange(SLEEPY, state, AcqRel, Relaxed).is_err()
        {
            return false;
        }
        // The empty critical section is needed: an owner that saw `SLEEPY` under the lock is
        // waiting by the time that we hold it.
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
