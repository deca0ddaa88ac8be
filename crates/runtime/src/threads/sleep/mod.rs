//! How idle workers go to sleep and are woken, and why no wake-up is lost. `README.md` beside this
//! file is the specification; the names here are the names there.

mod parker;

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};

use befit_machine::ClusterId;
use crossbeam_utils::CachePadded;

pub(crate) use self::parker::Parker;
use self::parker::WakeReason;
use crate::threads::{
    latch::Latch,
    primitive::{AtomicUsize, fence},
};

/// The sleep of one pool's threads.
#[derive(Debug)]
pub(crate) struct Sleep {
    parkers: Box<[CachePadded<Parker>]>,
    /// The number of workers that are idle: whoever announces may skip everything when it is 0.
    idle: CachePadded<AtomicUsize>,
    /// Counts what was announced while somebody was idle. A worker that is idle and found nothing
    /// need not look again before it changes.
    events: CachePadded<AtomicUsize>,
    /// At least the number of sleepy parkers: whoever announces may skip the parkers when it is 0.
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

/// A value of the news counter, read by an idle worker before it looked for work.
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

    /// The calling worker has found nothing. From now on announcements are counted, until the
    /// answer is dropped; what came before is found by looking once more.
    pub(crate) fn begin_idle(&self) -> Idle<'_> {
        self.idle.fetch_add(1, Relaxed);
        fence(SeqCst);
        Idle(&self.idle)
    }

    /// The number of workers that are idle.
    pub(crate) fn idle(&self) -> usize {
        self.idle.load(Relaxed)
    }

    /// What has been announced so far. An idle worker reads it *before* it looks for work.
    pub(crate) fn seen(&self) -> EventCount {
        EventCount(self.events.load(Acquire))
    }

    /// Announces that there may be something to run for the threads that `under` names, in this
    /// order of preference: wakes the first that sleeps, or all that sleep, as `all` then says.
    /// `cluster` is published to those who are woken.
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

    /// Announces that there is mail for `thread`, after it was posted.
    pub(crate) fn notify_mail(&self, thread: usize) {
        self.events.fetch_add(1, AcqRel);
        fence(SeqCst);
        self.parkers[thread].wake(WakeReason::Mail);
    }

    /// Lets thread `me` sleep until there is news since `seen`, or `latch` is set. It may return
    /// early. If it would be the last to sleep it first asks `may_be_stuck`, and stays awake if
    /// that answers true. Answers the cluster of the announcement that woke it, which it must pass
    /// on if it does not look for work now.
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
        let requested = self.seen() != seen || latch.probe();
        let last = || self.parkers.iter().all(|parker| parker.is_sleepy());
        if !(requested || (last() && may_be_stuck())) {
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
