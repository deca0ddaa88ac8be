//! What the workers count: cheap counters, written by one thread each and read by anyone.
//!
//! ```
//! let pool = befit::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
//! pool.install(|| befit::join(|| (), || ()));
//! let total = pool.statistics().total();
//! assert_eq!(total.forks, 1);
//! ```
//!
//! `counters` are the counters, `times` says where the time goes, `process` writes what all pools
//! of the process counted to the file that the environment variable `BEFIT_STATS` names.

mod counters;
mod file;
mod json;
pub(crate) mod process;
mod steals;
mod times;

use std::{
    ops::{Add, AddAssign},
    time::Duration,
};

use befit_machine::{Level, Machine, WorkerId};

use self::times::Times;
pub(crate) use self::{counters::Counters, times::Phase};

/// The highest cache level that steals are told apart by; hwloc knows five.
const fn most_levels() -> usize {
    9
}

/// Where `level` stands in a list that starts with memory.
fn place_of(level: Option<Level>) -> usize {
    level.map_or(0, |level| usize::from(level.0).min(most_levels()))
}

/// What one worker has counted since its pool was built.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct WorkerStatistics {
    /// Calls of `join`, those left out that were plain calls (see [`join`](crate::join())).
    pub forks: u64,
    /// Halves of forks that were given to the scheduler; all others never left their worker.
    pub published: u64,
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
    /// Where its time went; in pools that measure it, see
    /// [`ThreadPoolBuilder::timed`](crate::ThreadPoolBuilder::timed).
    pub time: Option<WorkerTime>,
    /// See [`place_of`].
    steals: [u64; most_levels() + 1],
}

impl WorkerStatistics {
    /// Tasks taken from the queues of workers with which the smallest common cache is of `level`;
    /// `None`: of those with which it has no cache in common. Over the machine's levels and `None`
    /// they sum to near and far steals.
    pub fn steals_at(&self, level: Option<Level>) -> u64 {
        self.steals[place_of(level)]
    }
}

/// Where a worker's time went, from the start of its pool's first job to the end of the last one.
/// The five parts sum to that time: [`Statistics::span`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct WorkerTime {
    /// In the program's own code, forks that the scheduler never saw included.
    pub active: Duration,
    /// In the scheduler, making work known.
    pub add: Duration,
    /// In the scheduler, being given work.
    pub get: Duration,
    /// In the scheduler, giving back what ended or waits.
    pub done: Duration,
    /// Without work: looking in vain, or asleep.
    pub idle: Duration,
}

impl WorkerTime {
    /// All five together.
    pub fn total(&self) -> Duration {
        self.active + self.add + self.get + self.done + self.idle
    }
}

impl Add for WorkerTime {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            active: self.active + other.active,
            add: self.add + other.add,
            get: self.get + other.get,
            done: self.done + other.done,
            idle: self.idle + other.idle,
        }
    }
}

impl AddAssign for WorkerStatistics {
    fn add_assign(&mut self, other: Self) {
        self.forks += other.forks;
        self.published += other.published;
        self.spawned += other.spawned;
        self.executed += other.executed;
        self.anchored += other.anchored;
        self.near_steals += other.near_steals;
        self.far_steals += other.far_steals;
        self.failed_steals += other.failed_steals;
        self.sleeps += other.sleeps;
        self.time = match (self.time, other.time) {
            (Some(one), Some(two)) => Some(one + two),
            (one, two) => one.or(two),
        };
        for (sum, steals) in self.steals.iter_mut().zip(other.steals) {
            *sum += steals;
        }
    }
}

/// What a pool's workers have counted; from
/// [`ThreadPool::statistics`](crate::ThreadPool::statistics).
///
/// The counters are read one by one while the workers go on: only in an idle pool do they fit
/// together.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Statistics {
    /// One entry for each thread of the pool, in order.
    pub workers: Vec<WorkerStatistics>,
    /// For each cluster of the pool's machine, in order, how many tasks the scheduler anchored
    /// there.
    pub anchors: Vec<u64>,
    /// From the start of the pool's first job to the end of its last; in pools that measure time.
    /// Zero before the first job.
    pub span: Option<Duration>,
}

impl Statistics {
    /// Reads the counters of a pool's threads, in order, each with the worker of `machine` that the
    /// thread is.
    pub(crate) fn read<'a>(
        machine: &Machine,
        threads: impl Iterator<Item = (WorkerId, &'a Counters)> + Clone,
    ) -> Self {
        let mut workers: Vec<_> =
            threads.clone().map(|(worker, counters)| counters.read(machine, worker)).collect();
        let counters = threads.map(|(_, counters)| counters);
        let times = times::read(counters.clone().map(|counters| &counters.times));
        let span = times.map(|(span, times)| {
            workers.iter_mut().zip(times).for_each(|(worker, time)| worker.time = Some(time));
            span
        });
        let mut anchors = vec![0; machine.clusters().len()];
        for worker in counters {
            anchors.iter_mut().zip(worker.anchors()).for_each(|(sum, tasks)| *sum += tasks);
        }
        Self { workers, anchors, span }
    }

    /// The sum over all workers.
    pub fn total(&self) -> WorkerStatistics {
        let mut total = WorkerStatistics::default();
        self.workers.iter().for_each(|worker| total += *worker);
        total
    }
}
