//! How idle workers go to sleep and are woken, and why no wake-up is lost. `README.md` beside this
//! file is the specification; the names here are the names there.

mod calls;
mod parker;
mod patience;
mod put_off;
mod search;

use std::sync::{
    Arc,
    atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst},
};

use befit_machine::ClusterId;
use crossbeam_utils::CachePadded;

use self::parker::{Notified, Sleepy, WakeReason};
pub(crate) use self::{
    calls::Calls,
    parker::Parker,
    put_off::{HeldFork, PutOff},
    search::{Refused, Search, relax},
};
use crate::threads::primitive::{AtomicBool, AtomicUsize, current_cpu, fence};

/// The sleep of one pool's threads.
#[derive(Debug)]
pub(crate) struct Sleep {
    /// Latches point to them. So not in a `Box`: to move one claims that nothing does.
    parkers: Arc<[CachePadded<Parker>]>,
    counts: CachePadded<Counts>,
    /// How many the process may use.
    processors: usize,
}

/// What notifiers and idle workers read together, in one line: a notifier that finds a worker idle
/// waits for that worker's core once.
#[derive(Debug)]
struct Counts {
    /// The number of workers that are idle: at 0 a notifier has nothing to do.
    idle: AtomicUsize,
    /// The event counter: counts the notifications that found a worker idle, those for several jobs
    /// twice, and the mail. An idle worker that found nothing need not look again before it
    /// changes.
    events: AtomicUsize,
    /// At least the number of sleepy parkers, and of idle workers that are held: at 0 a notifier
    /// need not look at the parkers.
    sleepers: AtomicUsize,
    /// The number of idle workers that may take only some jobs.
    held: AtomicUsize,
    /// The number of sleepers that look again after a while, as they were refused something.
    watchers: AtomicUsize,
    /// The number of sleepers that look again as something is due: without them, time alone brings
    /// nothing.
    due: AtomicUsize,
    /// Whether a notifier has ever relied on a watcher, or woken one to watch.
    relied_on_watchers: AtomicBool,
    /// Where the worker that became idle last did so.
    idle_on: SeenOn,
}

/// The processor that a thread was on at some moment; one that there is not if that is unknown.
#[derive(Debug)]
struct SeenOn(AtomicUsize);

impl SeenOn {
    fn nowhere() -> Self {
        Self(AtomicUsize::new(usize::MAX))
    }

    /// The calling thread is seen.
    fn note(&self) {
        let cpu = current_cpu().unwrap_or(usize::MAX);
        // The load avoids a write to a line that others read.
        if self.0.load(Relaxed) != cpu {
            self.0.store(cpu, Relaxed);
        }
    }

    /// The thread is not seen any more.
    fn forget(&self) {
        if self.0.load(Relaxed) != usize::MAX {
            self.0.store(usize::MAX, Relaxed);
        }
    }

    fn is(&self, cpu: Option<usize>) -> bool {
        cpu.is_some_and(|cpu| cpu == self.0.load(Relaxed))
    }
}

/// A value of the event counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EventCount(usize);

impl EventCount {
    /// How many events have come since `earlier`.
    fn since(self, earlier: Self) -> usize {
        self.0.wrapping_sub(earlier.0)
    }

    /// The count before the event whose number has these low bits, the last one such.
    fn before(self, event: u32) -> Self {
        Self(self.0.wrapping_sub((self.0 as u32).wrapping_sub(event) as usize + 1))
    }
}

/// A notification, as its sender makes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Notification {
    /// The workers under it may find a job.
    pub(crate) cluster: ClusterId,
    /// There may be more than one job: whoever finds one passes on.
    pub(crate) passed_on: bool,
    /// The sender goes on: a worker that it wakes should have another processor.
    pub(crate) goes_on: bool,
}

impl Sleep {
    /// Of so many threads, that may use so many processors.
    pub(crate) fn new(threads: usize, processors: usize) -> Self {
        Self {
            processors,
            parkers: (0..threads).map(|_| CachePadded::new(Parker::new())).collect(),
            counts: CachePadded::new(Counts {
                idle: AtomicUsize::new(0),
                events: AtomicUsize::new(0),
                sleepers: AtomicUsize::new(0),
                held: AtomicUsize::new(0),
                watchers: AtomicUsize::new(0),
                due: AtomicUsize::new(0),
                relied_on_watchers: AtomicBool::new(false),
                idle_on: SeenOn::nowhere(),
            }),
        }
    }

    /// Whether each thread may have a processor of its own.
    pub(crate) fn is_roomy(&self) -> bool {
        self.parkers.len() <= self.processors
    }

    /// Thread `thread`'s own parker.
    pub(crate) fn parker(&self, thread: usize) -> &Parker {
        &self.parkers[thread]
    }

    /// Whether `thread` sleeps, or is about to.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn is_asleep(&self, thread: usize) -> bool {
        self.parkers[thread].sleepy().is_some()
    }

    /// The number of workers that are idle.
    pub(crate) fn idle(&self) -> usize {
        self.counts.idle.load(Relaxed)
    }

    /// Whether an idle worker is awake, and looks for work.
    pub(crate) fn is_any_awake(&self) -> bool {
        self.idle() > self.counts.sleepers.load(Relaxed)
    }

    /// Whether the worker that became idle last did so on processor `cpu`.
    pub(crate) fn is_idle_on(&self, cpu: Option<usize>) -> bool {
        self.counts.idle_on.is(cpu)
    }

    /// Whether a worker is idle that may take only some jobs.
    pub(crate) fn holds_any(&self) -> bool {
        self.counts.held.load(SeqCst) > 0
    }

    /// The event counter. An idle worker reads it *before* it looks for work.
    fn seen(&self) -> EventCount {
        EventCount(self.counts.events.load(Acquire))
    }

    /// Notifies the threads `under` the cluster that they may find a job. Wakes one of them, if too
    /// few are awake: the first that sleeps and `would_take`s one, in this order, else the first
    /// that sleeps, on another processor if the sender goes on and there is one. If none sleeps but
    /// such as may take only some jobs, wakes all these. If none sleeps there and nobody watches,
    /// wakes one from elsewhere, which then does.
    #[inline]
    pub(crate) fn notify<U: Iterator<Item = usize>>(
        &self,
        notification: Notification,
        under: impl Fn() -> U,
        would_take: Option<&dyn Fn(usize) -> bool>,
    ) {
        if self.must_notify() {
            self.notify_idle(notification, under, would_take);
        }
    }

    /// Whether a worker is idle, so that [`Self::notify`] would do more than this.
    #[inline(always)]
    pub(crate) fn must_notify(&self) -> bool {
        fence(SeqCst);
        self.counts.idle.load(Relaxed) > 0
    }

    #[cold]
    #[inline(never)]
    fn notify_idle<U: Iterator<Item = usize>>(
        &self,
        notification: Notification,
        under: impl Fn() -> U,
        would_take: Option<&dyn Fn(usize) -> bool>,
    ) {
        // Who is relied on counts one for several jobs as two, and so passes on, too.
        let event = self.step(1 + usize::from(notification.passed_on));
        self.notify_of(event, notification, under, would_take);
    }

    /// Something happens: idle workers look again. It gets this number.
    pub(crate) fn next_event(&self) -> EventCount {
        self.step(1)
    }

    fn step(&self, steps: usize) -> EventCount {
        EventCount(self.counts.events.fetch_add(steps, AcqRel).wrapping_add(steps))
    }

    /// The rest of [`Self::notify`], once that is event `event`.
    pub(crate) fn notify_of<U: Iterator<Item = usize>>(
        &self,
        event: EventCount,
        Notification { cluster, passed_on, goes_on }: Notification,
        under: impl Fn() -> U,
        would_take: Option<&dyn Fn(usize) -> bool>,
    ) {
        fence(SeqCst);
        let sleepers = self.counts.sleepers.load(Relaxed);
        if sleepers == 0 {
            return;
        }
        // One that was woken for a later event leaves this one to others. Who takes a sleeper off
        // has passed a fence since it made its event.
        fence(Acquire);
        let is_last = self.seen() == event;
        let here = if goes_on { current_cpu() } else { None };
        // Those that are awake may be under other clusters.
        if cluster == ClusterId::ROOT && is_last && self.enough_are_awake(sleepers, here) {
            return;
        }
        let notified = Notified { cluster, event: event.0 as u32, passed_on };
        let sleeps = |thread: &usize| self.parkers[*thread].sleepy() == Some(Sleepy::Free);
        if let Some(would_take) = would_take
            && under().filter(sleeps).any(|t| would_take(t) && self.wake(t, notified))
        {
            return;
        }
        let elsewhere = |thread: &usize| !self.parkers[*thread].is_on(here);
        let wake = |thread| self.wake(thread, notified);
        if (here.is_some() && under().filter(sleeps).filter(elsewhere).any(wake))
            || under().filter(sleeps).any(wake)
        {
            return;
        }
        if self.holds_any() {
            self.wake_all(notified, under());
        }
        if cluster != ClusterId::ROOT {
            self.counts.relied_on_watchers.store(true, Relaxed);
            fence(SeqCst);
            if !self.is_watched() {
                self.wake_next(0..self.parkers.len());
            }
        }
    }

    /// Whether a sleeper looks again after a while, whatever happens. A sequentially consistent
    /// fence must come before.
    fn is_watched(&self) -> bool {
        self.counts.watchers.load(Relaxed) > 0
    }

    /// A watcher leaves: whether nobody watches, though somebody may have relied on that one. A
    /// sequentially consistent fence must come before.
    fn lacks_watcher(&self) -> bool {
        self.counts.relied_on_watchers.load(Relaxed) && !self.is_watched()
    }

    /// Whether enough of the idle workers are awake, or about to be: as many as there are workers
    /// at work, or as processors free for them, and at least one. Each of these looks for work, and
    /// wakes another if it finds some; so the number of those that are awake may double in the time
    /// that it takes to wake one. If a processor is free, those do not count that spin on processor
    /// `here`: the notifier does not leave it to them.
    fn enough_are_awake(&self, sleepers: usize, here: Option<usize>) -> bool {
        let idle = self.counts.idle.load(Relaxed);
        let working = self.parkers.len().saturating_sub(idle);
        let free = self.processors.saturating_sub(working);
        let (awake, enough) = (idle.saturating_sub(sleepers), working.min(free).max(1));
        let spin_here = || self.parkers.iter().filter(|parker| parker.spins_on.is(here)).count();
        awake >= enough && (free == 0 || here.is_none() || awake - enough >= spin_here())
    }

    /// Wakes `thread` if it is sleepy; returns whether it was.
    fn wake(&self, thread: usize, notified: Notified) -> bool {
        let woken = self.parkers[thread].wake(WakeReason::Notified(notified));
        if woken == Some(Sleepy::Free) {
            // From now on it counts among those that are awake.
            self.counts.sleepers.fetch_sub(1, Relaxed);
        }
        woken.is_some()
    }

    fn wake_all(&self, notified: Notified, threads: impl Iterator<Item = usize>) {
        for thread in threads {
            self.wake(thread, notified);
        }
    }

    /// Notifies all threads, whatever they may take, and wakes all that sleep.
    pub(crate) fn notify_all(&self) {
        let event = self.next_event().0 as u32;
        fence(SeqCst);
        let notified = Notified { cluster: ClusterId::ROOT, event, passed_on: false };
        self.wake_all(notified, 0..self.parkers.len());
    }

    /// Wakes the first of `threads` that sleeps and has not looked for work since the last event.
    /// More than one job may wait: it passes on if it finds one.
    pub(crate) fn wake_next(&self, threads: impl Iterator<Item = usize>) {
        fence(SeqCst);
        if self.counts.sleepers.load(Relaxed) == 0 {
            return;
        }
        let now = self.seen();
        let notified = Notified { cluster: ClusterId::ROOT, event: now.0 as u32, passed_on: true };
        for thread in threads {
            let parker = &self.parkers[thread];
            if parker.sleepy().is_some() && parker.seen() != now && self.wake(thread, notified) {
                return;
            }
        }
    }

    /// Notifies that there is mail for `thread`, after it was posted.
    pub(crate) fn notify_mail(&self, thread: usize) {
        self.next_event();
        fence(SeqCst);
        self.parkers[thread].wake(WakeReason::Mail);
    }
}

#[cfg(all(test, not(loom), target_os = "linux"))]
mod tests {
    use super::*;

    /// A pool of eight on so many processors, of which so many work and so many are awake.
    fn pool(processors: usize, working: usize, awake: usize) -> impl Fn(Option<usize>) -> bool {
        let sleep = Sleep::new(8, processors);
        sleep.counts.idle.store(8 - working, Relaxed);
        for parker in &sleep.parkers[..awake.min(2)] {
            parker.spins_on.0.store(3, Relaxed);
        }
        move |here| sleep.enough_are_awake(8 - working - awake, here)
    }

    #[test]
    fn as_many_are_enough_as_work_or_have_a_processor() {
        let enough = |processors, working| {
            let is_enough = |awake: &usize| pool(processors, working, *awake)(None);
            (0..=8 - working).find(is_enough)
        };
        assert_eq!([0, 1, 2, 3, 4].map(|working| enough(8, working)), [1, 1, 2, 3, 4].map(Some));
        assert_eq!([5, 6, 7].map(|working| enough(8, working)), [3, 2, 1].map(Some));
        assert_eq!([0, 1, 2, 5].map(|working| enough(2, working)), [1; 4].map(Some));
    }

    #[test]
    fn who_spins_on_the_notifiers_processor_is_not_relied_on_if_another_is_free() {
        let (here, elsewhere) = (Some(3), Some(2));
        // Two of those that are awake spin there.
        assert!(!pool(2, 1, 2)(here) && pool(2, 1, 2)(elsewhere) && pool(2, 1, 2)(None));
        assert!(pool(2, 1, 3)(here), "the third spins elsewhere");
        assert!(pool(2, 2, 1)(here), "both processors have work");
        assert!(!pool(4, 2, 3)(here) && pool(4, 2, 4)(here), "as many as are free");
    }
}
