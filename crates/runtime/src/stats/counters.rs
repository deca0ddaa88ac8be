//! The counters of one worker: cheap, written by one thread, read by anyone.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Instant,
};

use befit_machine::{ClusterId, Level, Machine};

use super::{Times, WorkerStatistics, most_levels};

/// A counter that only its owner writes.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    /// One more. Only on the owner's thread: a load and a store, not a read-modify-write.
    #[inline(always)]
    pub(crate) fn bump(&self) {
        self.add(1);
    }

    /// So many more; as [`Self::bump`].
    #[inline(always)]
    pub(crate) fn add(&self, count: u64) {
        self.set(self.get().wrapping_add(count));
    }

    /// Only on the owner's thread.
    #[inline(always)]
    pub(super) fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }

    #[inline(always)]
    pub(super) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// One worker's counters; see [`WorkerStatistics`] for their meaning.
#[derive(Debug)]
pub(crate) struct Counters {
    pub(crate) forks: Counter,
    pub(crate) handed_out: Counter,
    pub(crate) spawned: Counter,
    pub(crate) executed: Counter,
    pub(crate) near_steals: Counter,
    pub(crate) far_steals: Counter,
    pub(crate) failed_steals: Counter,
    pub(crate) sleeps: Counter,
    /// By the level of the smallest common cache; at 0 those that have none in common.
    steals: [Counter; most_levels() + 1],
    /// By cluster.
    anchors: Box<[Counter]>,
    pub(crate) times: Times,
}

impl Counters {
    /// Zeros, for a worker of `machine`. Its time is measured from `epoch` on, if there is one.
    pub(crate) fn new(machine: &Machine, epoch: Option<Instant>) -> Self {
        Self {
            forks: Counter::default(),
            handed_out: Counter::default(),
            spawned: Counter::default(),
            executed: Counter::default(),
            near_steals: Counter::default(),
            far_steals: Counter::default(),
            failed_steals: Counter::default(),
            sleeps: Counter::default(),
            steals: Default::default(),
            anchors: machine.clusters().iter().map(|_| Counter::default()).collect(),
            times: Times::new(epoch),
        }
    }

    /// A task was taken from the queue of a worker with which the smallest common cache is of `level`.
    pub(crate) fn stolen(&self, level: Option<Level>) {
        self.steals[super::place_of(level)].bump();
    }

    /// A task was handed to this worker that is anchored at `cluster`.
    pub(crate) fn anchored_at(&self, cluster: ClusterId) {
        self.anchors[cluster.index()].bump();
    }

    /// What has been counted, but for the time.
    pub(super) fn read(&self) -> WorkerStatistics {
        WorkerStatistics {
            forks: self.forks.get(),
            handed_out: self.handed_out.get(),
            spawned: self.spawned.get(),
            executed: self.executed.get(),
            anchored: self.anchors().sum(),
            near_steals: self.near_steals.get(),
            far_steals: self.far_steals.get(),
            failed_steals: self.failed_steals.get(),
            sleeps: self.sleeps.get(),
            time: None,
            steals: std::array::from_fn(|level| self.steals[level].get()),
        }
    }

    /// Tasks anchored at each cluster.
    pub(super) fn anchors(&self) -> impl Iterator<Item = u64> + '_ {
        self.anchors.iter().map(Counter::get)
    }
}
