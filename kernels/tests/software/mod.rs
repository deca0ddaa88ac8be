//! The operating system's counters of each thread, in place of the caches' counters, which not
//! every machine has.

use befit::WorkerCounts;
use befit_counters::{Software, Source};

/// Counts for the worker that calls: a miss of its private caches for every ten nanoseconds on a
/// processor. The way from the counters to the scheduler is that of hardware events. The closure
/// gives nothing where not even these may be counted.
pub(crate) fn counts() -> impl FnMut() -> Option<WorkerCounts> {
    let mut software = Software::open();
    let mut sum = WorkerCounts::default();
    move || {
        let counts = software.as_mut().ok()?.read().ok()?;
        sum.private_misses += counts.task_clock?.as_nanos() as u64 / 10;
        Some(sum)
    }
}
