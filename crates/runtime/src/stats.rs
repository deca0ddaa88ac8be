//! What the workers count: cheap counters, written by one thread each and read by anyone.
//!
//! ```
//! let pool = befit::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
//! pool.install(|| befit::join(|| (), || ()));
//! let total = pool.statistics().total();
//! assert_eq!(total.forks, 1);
//! ```

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

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
        self.0.store(self.0.load(Relaxed).wrapping_add(count), Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// One worker's counters; see [`WorkerStatistics`] for their meaning.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) forks: Counter,
    pub(crate) handed_out: Counter,
    pub(crate) spawned: Counter,
    pub(crate) executed: Counter,
    pub(crate) anchored: Counter,
    pub(crate) near_steals: Counter,
    pub(crate) far_steals: Counter,
    pub(crate) failed_steals: Counter,
    pub(crate) sleeps: Counter,
}

/// What one worker has counted since its pool was built.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct WorkerStatistics {
    /// Calls of `join`, those left out that were plain calls (see [`join`](crate::join)).
    pub forks: u64,
    /// Forks that were given to the scheduler; all others never left their worker.
    pub handed_out: u64,
    /// Calls of `spawn`, of scopes or detached.
    pub spawned: u64,
    /// Tasks that the scheduler handed to this worker.
    pub executed: u64,
    /// Of these, tasks that the scheduler anchored at a cache.
    pub anchored: u64,
    /// Tasks taken from the queue of a worker under the same last-level cache.
    pub near_steals: u64,
    /// Tasks taken from the queue of any other worker.
    pub far_steals: u64,
    /// Looks into another worker's queue that found nothing.
    pub failed_steals: u64,
    /// Times that it went to sleep.
    pub sleeps: u64,
}

/// What a pool's workers have counted; from [`ThreadPool::statistics`](crate::ThreadPool::statistics).
///
/// The counters are read one by one while the workers go on: only in an idle pool do they fit together.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Statistics {
    /// One entry for each thread of the pool, in order.
    pub workers: Vec<WorkerStatistics>,
}

impl Statistics {
    /// The sum over all workers.
    pub fn total(&self) -> WorkerStatistics {
        self.workers.iter().fold(WorkerStatistics::default(), |t, w| WorkerStatistics {
            forks: t.forks + w.forks,
            handed_out: t.handed_out + w.handed_out,
            spawned: t.spawned + w.spawned,
            executed: t.executed + w.executed,
            anchored: t.anchored + w.anchored,
            near_steals: t.near_steals + w.near_steals,
            far_steals: t.far_steals + w.far_steals,
            failed_steals: t.failed_steals + w.failed_steals,
            sleeps: t.sleeps + w.sleeps,
        })
    }
}

impl Counters {
    pub(crate) fn read(&self) -> WorkerStatistics {
        WorkerStatistics {
            forks: self.forks.get(),
            handed_out: self.handed_out.get(),
            spawned: self.spawned.get(),
            executed: self.executed.get(),
            anchored: self.anchored.get(),
            near_steals: self.near_steals.get(),
            far_steals: self.far_steals.get(),
            failed_steals: self.failed_steals.get(),
            sleeps: self.sleeps.get(),
        }
    }
}
