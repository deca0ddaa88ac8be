//! The counters of one worker: cheap, written by one thread, read by anyone.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Instant,
};

use befit_machine::{ClusterId, Machine, WorkerId};

use super::{
    Times, WorkerStatistics,
    steals::{ByDistance, Steals},
};

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
    pub(crate) published: Counter,
    pub(crate) spawned: Counter,
    pub(crate) executed: Counter,
    pub(crate) failed_steals: Counter,
    pub(crate) sleeps: Counter,
    steals: Steals,
    /// By cluster.
    anchors: Box<[Counter]>,
    pub(crate) times: Times,
}

impl Counters {
    /// Zeros, for one of so many workers, under a scheduler that may anchor tasks at so many
    /// clusters. Its time is measured from `epoch` on, if there is one.
    pub(crate) fn new(workers: usize, clusters: usize, epoch: Option<Instant>) -> Self {
        Self {
            forks: Counter::default(),
            published: Counter::default(),
            spawned: Counter::default(),
            executed: Counter::default(),
            failed_steals: Counter::default(),
            sleeps: Counter::default(),
            steals: Steals::new(workers),
            anchors: (0..clusters).map(|_| Counter::default()).collect(),
            times: Times::new(epoch),
        }
    }

    /// A task was taken from the queue of `victim`.
    pub(crate) fn stolen_from(&self, victim: WorkerId) {
        self.steals.count(victim);
    }

    /// A task was handed to this worker that is anchored at `cluster`.
    pub(crate) fn anchored_at(&self, cluster: ClusterId) {
        self.anchors[cluster.index()].bump();
    }

    /// What has been counted, but for the time, by `worker` of `machine`.
    pub(super) fn read(&self, machine: &Machine, worker: WorkerId) -> WorkerStatistics {
        let ByDistance { near, far, levels } = self.steals.by_distance(machine, worker);
        WorkerStatistics {
            forks: self.forks.get(),
            published: self.published.get(),
            spawned: self.spawned.get(),
            executed: self.executed.get(),
            anchored: self.anchors().sum(),
            near_steals: near,
            far_steals: far,
            failed_steals: self.failed_steals.get(),
            sleeps: self.sleeps.get(),
            time: None,
            steals: levels,
        }
    }

    /// Tasks anchored at each cluster.
    pub(super) fn anchors(&self) -> impl Iterator<Item = u64> + '_ {
        self.anchors.iter().map(Counter::get)
    }
}
