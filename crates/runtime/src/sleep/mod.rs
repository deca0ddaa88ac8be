//! How idle workers go to sleep and are woken, and why no wake-up is lost. `README.md` beside this
//! file is the specification; the names here are the names there.

#[cfg(all(test, loom))]
mod loom;
mod seat;
#[cfg(all(test, not(loom)))]
mod tests;

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};

use befit_machine::ClusterId;
use crossbeam_utils::CachePadded;

pub(crate) use self::seat::Seat;
use self::seat::Told;
use crate::{
    latch::Latch,
    primitive::{AtomicUsize, fence},
};

/// The sleep of one pool's threads.
#[derive(Debug)]
pub(crate) struct Sleep {
    seats: Box<[CachePadded<Seat>]>,
    /// The number of workers that are idle: whoever announces may skip everything when it is 0.
    idle: CachePadded<AtomicUsize>,
    /// Counts what was announced while somebody was idle. A worker that is idle and found nothing
    /// need not look again before it changes.
    news: CachePadded<AtomicUsize>,
    /// At least the number of sleepy seats: whoever announces may skip the seats when it is 0.
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
pub(crate) struct Seen(usize);

impl Sleep {
    pub(crate) fn new(threads: usize) -> Self {
        Self {
            seats: (0..threads).map(|_| CachePadded::new(Seat::new())).collect(),
            idle: CachePadded::new(AtomicUsize::new(0)),
            news: CachePadded::new(AtomicUsize::new(0)),
            sleepers: CachePadded::new(AtomicUsize::new(0)),
        }
    }

    /// Thread `thread`'s own seat.
    pub(crate) fn seat(&self, thread: usize) -> &Seat {
        &self.seats[thread]
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
    pub(crate) fn seen(&self) -> Seen {
        Seen(self.news.load(Acquire))
    }

    /// Announces that there may be something to run for the threads that `under` names, in this
    /// order of preference: wakes the first that sleeps, or all that sleep, as `all` then says.
    /// `cluster` is handed to those who are woken.
    #[inline]
    pub(crate) fn announce(
        &self,
        cluster: ClusterId,
        under: impl Iterator<Item = usize>,
        all: impl FnOnce() -> bool,
    ) {
        fence(SeqCst);
        if self.idle.load(Relaxed) > 0 {
            self.announce_to_idle(cluster, under, all);
        }
    }

    #[cold]
    #[inline(never)]
    fn announce_to_idle(
        &self,
        cluster: ClusterId,
        under: impl Iterator<Item = usize>,
        all: impl FnOnce() -> bool,
    ) {
        self.news.fetch_add(1, AcqRel);
        fence(SeqCst);
        if self.sleepers.load(Relaxed) == 0 {
            return;
        }
        let all = all();
        for thread in under {
            if self.seats[thread].tell(Told::News(cluster)) && !all {
                return;
            }
        }
    }

    /// Announces that there is mail for `thread`, after it was posted.
    pub(crate) fn announce_mail(&self, thread: usize) {
        self.news.fetch_add(1, AcqRel);
        fence(SeqCst);
        self.seats[thread].tell(Told::Mail);
    }

    /// Lets thread `me` sleep until there is news since `seen`, or `latch` is set. It may return
    /// early. If it would be the last to sleep it first asks `may_be_stuck`, and stays awake if
    /// that answers true. Answers the cluster of the announcement that woke it, which it must pass
    /// on if it does not look for work now.
    pub(crate) fn sleep(
        &self,
        me: usize,
        seen: Seen,
        latch: &Latch,
        may_be_stuck: impl FnOnce() -> bool,
    ) -> Option<ClusterId> {
        self.sleepers.fetch_add(1, Relaxed);
        let seat = &self.seats[me];
        seat.announce_sleep();
        fence(SeqCst);
        let wanted = self.seen() != seen || latch.probe();
        let last = || self.seats.iter().all(|seat| seat.is_sleepy());
        if !(wanted || (last() && may_be_stuck())) {
            seat.sleep();
        }
        let told = seat.leave();
        self.sleepers.fetch_sub(1, Relaxed);
        match told {
            Some(Told::News(cluster)) => Some(cluster),
            Some(Told::Latch | Told::Mail) | None => None,
        }
    }
}
