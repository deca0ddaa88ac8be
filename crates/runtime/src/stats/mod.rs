//! Each worker's cheap counters, written by its thread and read by any.
//!
//! ```
//! let pool = befit::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
//! pool.install(|| befit::join(|| (), || ()));
//! let total = pool.statistics().total();
//! assert_eq!(total.forks, 1);
//! ```
//!
//! `counters` holds the counters, `times` says where the time goes, `trace` keeps each change of
//! that, and `process` writes the counts of all pools of the process to the file that the
//! environment variable `BEFIT_STATS` names.

mod counters;
mod file;
mod json;
pub(crate) mod process;
mod times;
mod trace;

use std::time::Duration;

use befit_machine::{Machine, WorkerId};
use befit_sched::Breakdown;

pub use self::counters::WorkerStatistics;
pub(crate) use self::{
    counters::Counters,
    times::{Clock, Phase},
    trace::Trace,
};

/// Where a worker's time went, from the start of its pool's first job to the end of the last one.
/// The five parts sum to that time: [`Statistics::span`].
pub type WorkerTime = Breakdown<Duration>;

/// What a pool's threads, as for [`Statistics::read`], did one by one, if they are traced.
pub(crate) fn trace<'a>(
    machine: &Machine,
    threads: impl Iterator<Item = (WorkerId, &'a Counters)> + Clone,
) -> Option<Trace> {
    times::trace(threads.map(|(id, counters)| (machine.last_level(id), &counters.times)))
}

/// The counts of a pool's workers; from
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
    /// From the start of the pool's first job to the end of its last; in pools that measure time,
    /// or only this (`BEFIT_TIMES=span`).
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
            let times = times.into_iter().flatten();
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
