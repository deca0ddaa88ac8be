//! Models of the sleep protocol: workers search by [`Sleep::search`] in a small policy.
//! A lost wake-up shows as a deadlock.

use std::{
    sync::{
        Arc,
        atomic::Ordering::{Acquire, Relaxed, Release, SeqCst},
    },
    time::Duration,
};

use befit_machine::ClusterId;

use crate::threads::{
    latch::Latch,
    primitive::{AtomicBool, AtomicUsize, Condvar, Mutex, lock},
    sleep::{Notification, Search, Sleep},
};

/// A notification for all.
const ROOT: Notification =
    Notification { cluster: ClusterId::ROOT, passed_on: false, goes_on: true };

/// The policy of the models: a number of things to take.
struct Shared {
    sleep: Sleep,
    latches: Vec<Latch>,
    ready: Mutex<usize>,
    /// A hint at `ready`, read without the lock: as in the policies' queues.
    hint: AtomicUsize,
    /// The policy refuses things to workers, and counts what it has.
    may_refuse: bool,
    /// The policy may refuse a thing to all workers.
    may_be_stuck: bool,
    /// An alarm has been raised: nothing is refused any more.
    alarm: AtomicBool,
    /// How many things have been taken, where a model counts them.
    taken: AtomicUsize,
    /// Workers that have told that they are about to sleep.
    tellers: Mutex<Vec<usize>>,
    told: Condvar,
}

impl Shared {
    fn new(threads: usize) -> Arc<Self> {
        Arc::new(Self::refusing(threads, false, false))
    }

    fn refusing(threads: usize, may_refuse: bool, may_be_stuck: bool) -> Self {
        let sleep = Sleep::new(threads, 0);
        let latches = (0..threads).map(|t| Latch::new(sleep.parker(t))).collect();
        let (ready, hint) = (Mutex::new(0), AtomicUsize::new(0));
        let (alarm, taken) = (AtomicBool::new(false), AtomicUsize::new(0));
        let (tellers, told) = (Mutex::new(Vec::new()), Condvar::new());
        Self { sleep, latches, ready, hint, may_refuse, may_be_stuck, alarm, taken, tellers, told }
    }

    fn add(&self) {
        self.change(|ready| *ready += 1);
        self.notify(ROOT);
    }

    /// Cluster n + 1 has thread n.
    fn notify(&self, notification: Notification) {
        let only = notification.cluster.index().checked_sub(1);
        let threads = only.map_or(0..self.latches.len(), |thread| thread..thread + 1);
        self.sleep.notify(notification, || threads.clone(), None);
    }

    /// Adds a thing that only this thread may have.
    fn add_for(&self, thread: u32) {
        self.change(|ready| *ready += 1);
        self.notify(Notification { cluster: ClusterId(thread + 1), ..ROOT });
    }

    /// Thread `me` tells that it is about to sleep.
    fn tell(&self, me: usize) {
        lock(&self.tellers).push(me);
        self.told.notify_one();
    }

    /// Until thread `me` has told that it is about to sleep.
    fn await_sleep(&self, me: usize) {
        let mut tellers = lock(&self.tellers);
        while !tellers.contains(&me) {
            tellers = self.told.wait(tellers).unwrap();
        }
    }

    /// Takes a thing if there are more than so many.
    fn take(&self, refused: usize) -> bool {
        let take = |ready: &mut usize| {
            let found = *ready > refused;
            *ready -= usize::from(found);
            found
        };
        self.hint.load(Acquire) > 0 && self.change(take)
    }

    fn change<R>(&self, change: impl FnOnce(&mut usize) -> R) -> R {
        let mut ready = lock(&self.ready);
        let result = change(&mut ready);
        self.hint.store(*ready, Release);
        result
    }

    /// Waits as thread `me` until it has taken one thing, or its latch is set; returns whether it
    /// has.
    fn wait(&self, me: usize) -> bool {
        self.wait_as(Waiting { refused: 0, ..self.refused() }, me)
    }

    /// One that is refused everything, as long as there is no alarm.
    fn refused(&self) -> Waiting<'_> {
        Waiting { shared: self, refused: usize::MAX, held: false, sleeps: None, watches: None }
    }

    fn wait_as(&self, waiting: Waiting<'_>, me: usize) -> bool {
        self.sleep.search(me, &self.latches[me], &waiting).is_some()
    }

    fn set_latch(&self, thread: usize) {
        // SAFETY: latch and parker live as long as `self`.
        unsafe { Latch::set(&self.latches[thread]) };
    }
}

/// A worker that waits.
struct Waiting<'a> {
    shared: &'a Shared,
    /// So many things the policy refuses it, as long as there is no alarm.
    refused: usize,
    held: bool,
    /// Thread so and so tells when it is about to sleep.
    sleeps: Option<usize>,
    /// The same, if it looks again after a while.
    watches: Option<usize>,
}

impl Search for Waiting<'_> {
    type Found = ();

    fn look(&self) -> Option<()> {
        let freed = self.refused > 0 && self.shared.alarm.load(Relaxed);
        self.shared.take(if freed { 0 } else { self.refused }).then_some(())
    }

    fn due(&self) -> Option<Duration> {
        None
    }

    fn falls_asleep(&self) {
        if let Some(me) = self.sleeps {
            self.shared.tell(me);
        }
    }

    fn look_stalled(&self, _: Duration) -> Option<()> {
        None
    }

    fn is_held(&self) -> bool {
        self.held
    }

    fn gives_way(&self) -> bool {
        false
    }

    fn may_watch(&self) -> bool {
        if let Some(me) = self.watches {
            self.shared.tell(me);
        }
        true
    }

    fn leaves_work(&self) -> bool {
        self.shared.may_refuse && *lock(&self.shared.ready) > 0
    }

    fn pass_on(&self, cluster: ClusterId) {
        self.shared.notify(Notification { cluster, passed_on: true, goes_on: true });
    }

    fn urge(&self) -> bool {
        false
    }

    fn wake_next(&self) {
        self.shared.sleep.wake_next(0..self.shared.latches.len());
    }

    fn is_stuck(&self) -> bool {
        self.shared.may_be_stuck && self.leaves_work()
    }

    fn raise_alarm(&self) {
        self.shared.alarm.store(true, SeqCst);
        self.shared.sleep.notify_all();
    }
}

fn model(preemptions: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut builder = ::loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(f);
}

/// Calls `f` on a thread of its own.
fn beside(
    shared: &Arc<Shared>,
    f: impl FnOnce(&Shared) + 'static,
) -> ::loom::thread::JoinHandle<()> {
    let shared = Arc::clone(shared);
    ::loom::thread::spawn(move || f(&shared))
}

#[test]
fn a_worker_that_goes_to_sleep_does_not_miss_what_is_added_meanwhile() {
    model(3, || {
        let shared = Shared::new(1);
        let adding = beside(&shared, |shared| shared.add());
        assert!(shared.wait(0));
        adding.join().unwrap();
    });
}

/// Two things are added while workers 0 and 1 wait. If `asleep`, worker 1 is asleep by then, or
/// about to be.
fn model_of_two_notifications(preemptions: usize, asleep: bool) {
    model(preemptions, move || {
        let shared = Shared::new(2);
        let taking = beside(&shared, move |shared| {
            let waiting = Waiting { refused: 0, sleeps: asleep.then_some(1), ..shared.refused() };
            assert!(shared.wait_as(waiting, 1));
        });
        if asleep {
            shared.await_sleep(1);
        }
        let adding = beside(&shared, |shared| {
            shared.add();
            shared.add();
        });
        assert!(shared.wait(0));
        taking.join().unwrap();
        adding.join().unwrap();
    });
}

#[test]
fn two_notifications_reach_two_workers_though_one_may_rely_on_the_other() {
    model_of_two_notifications(1, false);
}

#[test]
fn two_notifications_reach_two_workers_though_one_sleeps() {
    model_of_two_notifications(2, true);
}

#[test]
#[ignore = "minutes: .ci/long loom"]
fn two_notifications_reach_two_workers_in_more_orders() {
    model_of_two_notifications(2, false);
}

/// A worker was woken for a thing that came later: who is late to notify of an earlier one must not
/// rely on it. The thread that is late is made so here: loom does not stop one there within its
/// bounds.
#[test]
fn a_late_notification_reaches_a_worker_that_sleeps() {
    model(1, || {
        let shared = Shared::new(2);
        let taking = [0, 1].map(|me| {
            beside(&shared, move |shared| {
                let waiting = Waiting { refused: 0, sleeps: Some(me), ..shared.refused() };
                assert!(shared.wait_as(waiting, me));
            })
        });
        [0, 1].into_iter().for_each(|me| shared.await_sleep(me));
        shared.change(|ready| *ready += 1);
        assert!(shared.sleep.must_notify());
        let event = shared.sleep.next_event();
        shared.add();
        shared.sleep.notify_of(event, ROOT, || 0..2, None);
        taking.into_iter().for_each(|taking| taking.join().unwrap());
    });
}

/// Three things come at once, with one notification: workers 1 and 2 sleep, and the notifier may
/// rely on worker 0.
#[test]
fn what_stands_for_several_things_reaches_those_that_sleep() {
    model(1, || {
        let shared = Shared::new(3);
        let taking = [1, 2].map(|me| {
            beside(&shared, move |shared| {
                let waiting = Waiting { refused: 0, sleeps: Some(me), ..shared.refused() };
                assert!(shared.wait_as(waiting, me));
            })
        });
        [1, 2].into_iter().for_each(|me| shared.await_sleep(me));
        let adding = beside(&shared, |shared| {
            shared.change(|ready| *ready += 3);
            shared.notify(Notification { passed_on: true, ..ROOT });
        });
        assert!(shared.wait(0));
        taking.into_iter().for_each(|taking| taking.join().unwrap());
        adding.join().unwrap();
    });
}

#[test]
fn a_notification_of_a_worker_whose_latch_is_set_reaches_another() {
    model(2, || {
        let shared = Shared::new(2);
        // If the other takes it, that ends this worker's wait.
        let helping = beside(&shared, |shared| {
            shared.wait(1);
        });
        let setting = beside(&shared, |shared| {
            shared.add();
            shared.set_latch(0);
        });
        if shared.wait(0) {
            shared.set_latch(1);
        }
        helping.join().unwrap();
        setting.join().unwrap();
    });
}

/// Of two workers that wait, each held or not, worker 0 is refused the one thing that comes: worker
/// 1 gets it.
fn model_of_a_refusal(may_refuse: bool, held: [bool; 2]) {
    model(2, move || {
        let shared = Arc::new(Shared::refusing(2, may_refuse, false));
        let taking = beside(&shared, move |shared| {
            assert!(shared.wait_as(Waiting { refused: 0, held: held[1], ..shared.refused() }, 1));
            shared.set_latch(0);
        });
        let adding = beside(&shared, |shared| shared.add());
        assert!(!shared.wait_as(Waiting { held: held[0], ..shared.refused() }, 0));
        taking.join().unwrap();
        adding.join().unwrap();
    });
}

#[test]
fn what_a_worker_is_refused_another_is_woken_for() {
    model_of_a_refusal(true, [false, false]);
}

/// Worker 0 is refused the two things that come, and workers 1 and 2 get them. If `asleep`, these
/// are asleep by then, or about to be. Both notifications may rely on the one that is refused.
fn model_of_two_refusals(asleep: bool) {
    model(1, move || {
        let shared = Arc::new(Shared::refusing(3, true, false));
        let taking = [1, 2].map(|me| {
            beside(&shared, move |shared| {
                let sleeps = asleep.then_some(me);
                assert!(shared.wait_as(Waiting { refused: 0, sleeps, ..shared.refused() }, me));
                if shared.taken.fetch_add(1, SeqCst) == 1 {
                    shared.set_latch(0);
                }
            })
        });
        if asleep {
            [1, 2].into_iter().for_each(|me| shared.await_sleep(me));
        }
        let adding = beside(&shared, |shared| {
            shared.add();
            shared.add();
        });
        assert!(!shared.wait_as(shared.refused(), 0));
        taking.into_iter().for_each(|taking| taking.join().unwrap());
        adding.join().unwrap();
    });
}

#[test]
fn all_that_a_worker_is_refused_reaches_others() {
    model_of_two_refusals(true);
}

#[test]
#[ignore = "minutes: .ci/long loom"]
fn all_that_a_worker_is_refused_reaches_others_asleep_or_not() {
    model_of_two_refusals(false);
}

#[test]
fn what_is_bound_to_a_worker_that_does_not_sleep_is_watched() {
    model(2, || {
        let shared = Arc::new(Shared::refusing(2, true, false));
        let adding = beside(&shared, |shared| {
            shared.add_for(1);
            shared.await_sleep(0);
            shared.set_latch(0);
        });
        assert!(!shared.wait_as(Waiting { watches: Some(0), ..shared.refused() }, 0));
        adding.join().unwrap();
    });
}

#[test]
fn when_a_watcher_leaves_another_watches() {
    model(1, || {
        let shared = Arc::new(Shared::refusing(3, true, false));
        shared.change(|ready| *ready = 1);
        let leaving = beside(&shared, |shared| {
            assert!(
                shared.wait_as(Waiting { refused: 1, watches: Some(1), ..shared.refused() }, 1)
            );
        });
        shared.await_sleep(1);
        assert!(shared.take(0));
        // Thread 0 sleeps without a limit. What comes first thread 1 is refused, too.
        let adding = beside(&shared, |shared| {
            shared.add_for(2);
            shared.add_for(1);
            leaving.join().unwrap();
            shared.await_sleep(0);
            shared.set_latch(0);
        });
        assert!(!shared.wait_as(Waiting { watches: Some(0), ..shared.refused() }, 0));
        adding.join().unwrap();
    });
}

/// A worker is woken for what it alone may have, and relied on for what any may have.
#[test]
fn what_relied_on_a_worker_is_passed_on_to_all() {
    model(1, || {
        let shared = Arc::new(Shared::refusing(2, true, false));
        // Both are refused this, and watch.
        shared.change(|ready| *ready = 1);
        let taking = [0, 1].map(|me| {
            beside(&shared, move |shared| {
                let waiting = Waiting { refused: 1, sleeps: Some(me), ..shared.refused() };
                assert!(shared.wait_as(waiting, me));
            })
        });
        [0, 1].into_iter().for_each(|me| shared.await_sleep(me));
        shared.add_for(0);
        shared.add();
        taking.into_iter().for_each(|taking| taking.join().unwrap());
    });
}

#[test]
fn nobody_relies_on_a_worker_that_is_held() {
    model_of_a_refusal(false, [true, false]);
}

#[test]
fn of_workers_that_are_all_held_the_one_that_may_have_a_thing_is_woken() {
    model_of_a_refusal(false, [true, true]);
}

#[test]
fn the_last_worker_to_sleep_raises_the_alarm_if_the_pool_is_stuck() {
    model(2, || {
        let shared = Arc::new(Shared::refusing(2, true, true));
        shared.add();
        let refused = |shared: &Shared, me| {
            if shared.wait_as(shared.refused(), me) {
                shared.set_latch(1 - me);
            }
        };
        let other = beside(&shared, move |shared| refused(shared, 1));
        refused(&shared, 0);
        other.join().unwrap();
    });
}
