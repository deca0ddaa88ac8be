//! Models of the sleep protocol.
//! A lost wake-up shows as a deadlock.

use std::sync::{
    Arc,
    atomic::Ordering::{Acquire, Release},
};

use befit_machine::ClusterId;

use crate::threads::{
    latch::Latch,
    primitive::{AtomicUsize, Mutex, lock},
    sleep::Sleep,
};

/// The policy of the models: a number of things to take.
struct Shared {
    sleep: Sleep,
    latches: Vec<Latch>,
    ready: Mutex<usize>,
    /// A hint at `ready`, read without the lock: as in the policies' queues.
    hint: AtomicUsize,
    taken: Mutex<u32>,
}

impl Shared {
    fn new(threads: usize) -> Arc<Self> {
        let sleep = Sleep::new(threads);
        let latches = (0..threads).map(|t| Latch::new(sleep.parker(t))).collect();
        let (ready, hint, taken) = (Mutex::new(0), AtomicUsize::new(0), Mutex::new(0));
        Arc::new(Self { sleep, latches, ready, hint, taken })
    }

    fn add(&self, all: bool) {
        self.change(|ready| *ready += 1);
        self.sleep.notify(ClusterId::ROOT, 0..self.latches.len(), || all);
    }

    fn take(&self) -> bool {
        let take = |ready: &mut usize| {
            let found = *ready > 0;
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

    /// Waits as a worker without a latch does, until it has taken one thing.
    fn wait_for_one(&self, me: usize) {
        if !self.take() {
            self.idle_until(me, || self.take());
        }
    }

    /// Waits until somebody has taken something, and helps.
    fn wait_for_taken(&self, me: usize) {
        self.idle_until(me, || *lock(&self.taken) > 0 || self.take());
    }

    fn idle_until(&self, me: usize, is_over: impl Fn() -> bool) {
        let _idle = self.sleep.begin_idle();
        loop {
            let seen = self.sleep.seen();
            if is_over() {
                return;
            }
            self.sleep.sleep(me, seen, &self.latches[me], || false);
        }
    }

    /// Waits as a worker does whose latch will be set: takes what it finds, and passes a
    /// notification on if it does not look for work.
    fn wait_for_latch(&self, me: usize) {
        let _idle = self.sleep.begin_idle();
        let mut notified = None;
        loop {
            if self.latches[me].probe() {
                if notified.is_some() {
                    self.sleep.notify(ClusterId::ROOT, 0..self.latches.len(), || false);
                }
                return;
            }
            let seen = self.sleep.seen();
            if self.take() {
                *lock(&self.taken) += 1;
                self.sleep.notify(ClusterId::ROOT, 0..self.latches.len(), || true);
            }
            notified = self.sleep.sleep(me, seen, &self.latches[me], || false);
        }
    }
}

fn model(preemptions: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut builder = ::loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(f);
}

#[test]
fn a_worker_that_goes_to_sleep_does_not_miss_what_is_added_meanwhile() {
    model(4, || {
        let shared = Shared::new(1);
        let adder = Arc::clone(&shared);
        let adding = ::loom::thread::spawn(move || adder.add(false));
        shared.wait_for_one(0);
        adding.join().unwrap();
    });
}

#[test]
fn two_notifications_wake_two_workers() {
    for all in [false, true] {
        model(2, move || {
            let shared = Shared::new(2);
            let other = Arc::clone(&shared);
            let taking = ::loom::thread::spawn(move || other.wait_for_one(1));
            let adder = Arc::clone(&shared);
            let adding = ::loom::thread::spawn(move || {
                adder.add(all);
                adder.add(all);
            });
            shared.wait_for_one(0);
            taking.join().unwrap();
            adding.join().unwrap();
        });
    }
}

#[test]
fn a_notification_of_a_worker_whose_latch_is_set_reaches_another() {
    model(2, || {
        let shared = Shared::new(2);
        let helper = Arc::clone(&shared);
        let helping = ::loom::thread::spawn(move || helper.wait_for_taken(1));
        let setter = Arc::clone(&shared);
        let setting = ::loom::thread::spawn(move || {
            setter.add(false);
            // SAFETY: latch and parker live as long as `setter`.
            unsafe { Latch::set(&setter.latches[0]) };
        });
        shared.wait_for_latch(0);
        helping.join().unwrap();
        setting.join().unwrap();
    });
}
