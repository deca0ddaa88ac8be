//! How an idle worker looks for work, spins and sleeps: the worker's side of the protocol.

use std::{
    cell::Cell,
    sync::atomic::Ordering::{Relaxed, SeqCst},
    time::{Duration, Instant},
};

use befit_machine::ClusterId;

use super::{
    EventCount, Sleep,
    parker::{Notified, Parker, Sleepy, WakeReason},
};
use crate::threads::{
    latch::Latch,
    primitive::{fence, spin_loop, yield_now},
};

/// What an idle worker looks for, and where.
pub(crate) trait Search {
    type Found;

    /// Looks for work.
    fn look(&self) -> Option<Self::Found>;

    /// It has found nothing: for how much longer it is kept from what the policy leaves to others
    /// for a while; `None` if there is no such thing.
    fn due(&self) -> Option<Duration>;

    /// It is about to sleep.
    fn falls_asleep(&self);

    /// As [`Self::look`], for what the worker may have only because nothing has happened for so
    /// long though it was refused something: what runs may wait for that. So it may be bound
    /// elsewhere.
    fn look_stalled(&self, still_for: Duration) -> Option<Self::Found>;

    /// Whether the worker may take only some jobs: no notification then relies on it alone.
    fn is_held(&self) -> bool;

    /// Whether a thread waits for this worker's processor that may bring work: the worker then does
    /// not keep it while it looks.
    fn gives_way(&self) -> bool;

    /// Whether something may be ready that this worker was refused, and another may have.
    fn leaves_work(&self) -> bool;

    /// Whether this worker may [have it if nothing happens](Self::look_stalled).
    fn may_watch(&self) -> bool;

    /// Whether there is something that this worker has if nothing happens for long enough.
    fn watches(&self) -> bool {
        self.leaves_work() && self.may_watch()
    }

    /// [Notifies](Sleep::notify) again for `cluster`, as this worker does not take what it was
    /// notified of, or not all of it.
    fn pass_on(&self, cluster: ClusterId);

    /// Before this worker sleeps: makes workers publish what they keep for the moment; returns
    /// whether there is anything.
    fn urge(&self) -> bool;

    /// Wakes a worker that has not looked for work since the last event, if there is one
    /// ([`Sleep::wake_next`]).
    fn wake_next(&self);

    /// Whether the pool is stuck, if all its workers sleep.
    fn is_stuck(&self) -> bool;

    /// All workers sleep, or are about to, and the pool [is stuck](Self::is_stuck): sees to it that
    /// it is not.
    fn raise_alarm(&self);
}

/// Looks at event counter and latch before a worker sleeps: some ten microseconds.
pub(super) const SPINS: u32 = if cfg!(loom) { 1 } else { 64 };

/// So many idle workers may spin whatever the others do. Where a program goes from one short
/// parallel phase to the next, one of them takes the call, and the other its first fork: nobody has
/// to be woken.
const FEW: usize = 2;

/// From this one on, each look lets other threads have the processor first.
const YIELDS: u32 = SPINS / 2;

/// One look in so many notes where the worker is: some systems take long to say it.
const NOTES: u32 = 8;

/// How long nothing must happen before a worker may have what it was refused. shuttle gives up a
/// schedule after a million steps, which a fast processor makes in less time than a few such waits
/// take.
const STALLED: Duration = Duration::from_millis(if cfg!(shuttle) { 1 } else { 50 });

/// Since when a worker has been refused something while nothing happened.
#[derive(Default)]
pub(crate) struct Refused(Cell<Option<(EventCount, Instant)>>);

impl Refused {
    /// It has found something, or there is nothing to find.
    pub(crate) fn no_longer(&self) {
        self.0.set(None);
    }
}

/// A worker that counts as idle.
struct Idle<'a> {
    sleep: &'a Sleep,
    /// See [`Search::is_held`].
    held: bool,
    /// Since it first slept, or something was due, while it [watches](Search::watches).
    refused: Refused,
}

impl<'a> Idle<'a> {
    /// The calling worker has found nothing. Until it ends, notifications step the event counter.
    /// The worker must look once more, for what was added before.
    fn begin(sleep: &'a Sleep, held: bool) -> Self {
        // As of a sleeper, nobody relies on a held worker.
        if held {
            sleep.counts.sleepers.fetch_add(1, Relaxed);
            sleep.counts.held.fetch_add(1, SeqCst);
        }
        sleep.counts.idle_on.note();
        sleep.counts.idle.fetch_add(1, Relaxed);
        fence(SeqCst);
        Self { sleep, held, refused: Refused::default() }
    }

    /// The worker is held no longer.
    fn free(&mut self) {
        if std::mem::take(&mut self.held) {
            self.sleep.counts.held.fetch_sub(1, SeqCst);
            self.sleep.counts.sleepers.fetch_sub(1, Relaxed);
        }
    }

    /// The worker is idle no longer. Returns the event counter: a notification that still counted
    /// this worker as idle is in it.
    fn end(mut self) -> EventCount {
        self.sleep.counts.idle.fetch_sub(1, Relaxed);
        self.free();
        fence(SeqCst);
        self.sleep.seen()
    }
}

/// A notification that woke a worker.
#[derive(Clone, Copy)]
struct Woken {
    notified: Notified,
    /// It slept, and was not only about to.
    slept: bool,
}

impl Sleep {
    /// Thread `me` has found nothing: looks on, and sleeps, until it finds something or `latch` is
    /// set (`None`). `README.md` has the protocol.
    pub(crate) fn search<S: Search>(
        &self,
        me: usize,
        latch: &Latch,
        search: &S,
    ) -> Option<S::Found> {
        let mut idle = Idle::begin(self, search.is_held());
        // The event counter, read before the worker last looked.
        let mut seen = self.seen();
        // For the events up to this one somebody else looks, or has looked in vain. Unknown at
        // first: a notifier that already counted on this worker may have stepped the counter
        // before.
        let mut served = None;
        let mut woken: Option<Woken> = None;
        // It looks as it is time for what it was refused.
        let mut was_due = false;
        let mut round = if search.gives_way() { YIELDS } else { 0 };
        // It has looked for long enough to ask for what is not published yet.
        let mut urged = false;
        let Parker { spins_on, patience, .. } = self.parker(me);
        let found = loop {
            if let Some(found) = search.look() {
                break Some(found);
            }
            (served, woken) = (Some(seen), None);
            if idle.held && !search.is_held() {
                idle.free();
            }
            if search.leaves_work() {
                search.wake_next();
            }
            let is_called = || self.seen() != seen || latch.probe();
            // One beyond all clocks never comes.
            let due = search.due().and_then(|due| Instant::now().checked_add(due));
            let is_due = || due.is_some_and(|due| due <= Instant::now());
            let is_over = || is_called() || is_due();
            if is_due() {
                relax(round);
                round = round.saturating_add(1);
            }
            let spins = patience.looks();
            while !is_over() && round < spins && self.may_spin() {
                if round % NOTES == 0 {
                    spins_on.note();
                }
                relax(round);
                round += 1;
            }
            spins_on.forget();
            if !is_over() && round >= spins && !urged {
                urged = true;
                if search.urge() {
                    round = YIELDS;
                    continue;
                }
            }
            if !is_over() {
                let began = self.is_roomy().then(Instant::now);
                search.falls_asleep();
                woken = self.sleep(me, seen, &idle, latch, search, due);
                // One that ended by its limit says nothing about how soon work comes.
                let began = began.filter(|_| is_called());
                let was_brief = began.is_some_and(|began| patience.slept(began.elapsed()));
                // It has been woken for nothing, or it finds something.
                (round, urged) = (if was_brief { YIELDS } else { patience.looks() }, true);
            }
            if latch.probe() {
                break None;
            }
            was_due = is_due();
            if self.seen() == seen
                && search.watches()
                && let Some(still_for) = self.still_for(&idle.refused)
                && let Some(found) = search.look_stalled(still_for)
            {
                break Some(found);
            }
            seen = self.seen();
            if let Some(Woken { notified, slept: true }) = woken {
                // That event is its own. Nobody relies on it for an earlier one.
                served = Some(seen.before(notified.event));
            }
        };
        let (held, has_watched) = (idle.held, idle.refused.0.get().is_some());
        let now = idle.end();
        let notified = woken.map(|woken| woken.notified);
        let passed_on = notified.is_some_and(|notified| notified.passed_on);
        let owes = match found {
            // It looked only once for all of them, and found one thing.
            Some(_) => {
                let events = served.map(|served| seen.since(served));
                // It may have found what it had been refused, for which none of these events
                // stands.
                let more = was_due && events != Some(0) && search.leaves_work();
                passed_on || now != seen || more || events.is_none_or(|events| events > 1)
            }
            // It has not looked since it saw the last ones.
            None => notified.is_some() || Some(now) != served,
        };
        // One that is held is not relied on, but by those who pass on.
        if owes && (passed_on || !held) {
            let is_one = |served| now.since(served) == 1;
            let own = notified.filter(|_| served.is_some_and(is_one));
            // Only notifications for all rely on a worker that is awake.
            search.pass_on(own.map_or(ClusterId::ROOT, |notified| notified.cluster));
        }
        // Others may sleep without a limit, as it was this one that would look again.
        if has_watched && self.lacks_watcher() && search.leaves_work() {
            search.wake_next();
        }
        found
    }

    /// A worker was refused something: for how long it has been, without an event, if that is so
    /// long that it may have it.
    pub(crate) fn still_for(&self, refused: &Refused) -> Option<Duration> {
        let seen = self.seen();
        match refused.0.get() {
            Some((before, since)) if before == seen => {
                Some(since.elapsed()).filter(|still_for| *still_for >= STALLED)
            }
            _ => {
                refused.0.set(Some((seen, Instant::now())));
                None
            }
        }
    }

    /// Lets thread `me` sleep until there is an event since `seen`, or `latch` is set, or something
    /// is `due`. It may return early. If it would be the last to sleep while the pool is stuck, it
    /// raises the alarm instead. Returns how it was woken, if by a notification.
    fn sleep(
        &self,
        me: usize,
        seen: EventCount,
        idle: &Idle<'_>,
        latch: &Latch,
        search: &impl Search,
        due: Option<Instant>,
    ) -> Option<Woken> {
        let how = if idle.held { Sleepy::Held } else { Sleepy::Free };
        if how == Sleepy::Free {
            self.counts.sleepers.fetch_add(1, Relaxed);
        }
        let looks_again = usize::from(due.is_some());
        self.counts.due.fetch_add(looks_again, Relaxed);
        let parker = self.parker(me);
        parker.prepare_to_park(how, seen);
        fence(SeqCst);
        let all_sleep = || self.parkers.iter().all(|parker| parker.sleepy().is_some());
        let mut slept = false;
        if self.seen() != seen || latch.probe() {
            // Awake.
        } else if self.counts.due.load(Relaxed) == 0 && search.is_stuck() && all_sleep() {
            search.raise_alarm();
        } else {
            let watches = search.watches();
            if watches {
                self.still_for(&idle.refused);
                self.counts.watchers.fetch_add(1, Relaxed);
            }
            let limits = [watches.then(|| Instant::now() + STALLED), due];
            parker.sleep(limits.into_iter().flatten().min());
            if watches {
                self.counts.watchers.fetch_sub(1, Relaxed);
            }
            slept = true;
        }
        self.counts.due.fetch_sub(looks_again, Relaxed);
        match parker.leave() {
            Some(WakeReason::Notified(notified)) => Some(Woken { notified, slept }),
            Some(WakeReason::Latch | WakeReason::Mail) | None => {
                if how == Sleepy::Free {
                    self.counts.sleepers.fetch_sub(1, Relaxed);
                }
                None
            }
        }
    }

    /// Whether one of the workers that are idle and awake may spin. Where threads have to share
    /// processors, they are to be no more than those that work, or than [`FEW`]: one that sleeps
    /// costs nothing, and is woken when the others do not suffice.
    fn may_spin(&self) -> bool {
        if self.is_roomy() {
            return true;
        }
        let idle = self.counts.idle.load(Relaxed);
        let awake = idle.saturating_sub(self.counts.sleepers.load(Relaxed));
        awake <= self.parkers.len().saturating_sub(idle).max(FEW)
    }
}

/// A pause between two looks; the later ones let other threads have the core.
pub(crate) fn relax(round: u32) {
    if round < YIELDS {
        for _ in 0..8 {
            spin_loop();
        }
    } else {
        yield_now();
    }
}
