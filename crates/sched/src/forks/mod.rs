//! When a fork is inlined, kept private or published: the rules that threads and the simulator's
//! virtual workers share; and how much of what is spawned they pass on at once.
//!
//! `crates/runtime/src/threads/fork/README.md` specifies them. An engine keeps the forks, and asks
//! here what to do with them:
//!
//! ```
//! use std::time::Duration;
//!
//! use befit_sched::{
//!     Capabilities,
//!     forks::{Batch, PAUSE, is_early, keeps_spawned, missing, pauses},
//! };
//!
//! let batch = Batch::new();
//! // A steal request has come and nobody is idle: one fork, then two, then four.
//! assert_eq!([(); 3].map(|()| batch.next(missing(0, 0, 0), true)), [1, 2, 4]);
//! batch.came_back();
//! assert_eq!(batch.next(0, true), 1);
//! // Three are idle, one fork waits for them: two more are missing.
//! assert_eq!(missing(1, 3, 0), 2);
//! assert!(is_early(2, 2) && !is_early(3, 2));
//! // A policy that deals spawned tasks out sees one for each worker at once, the others later.
//! let deals = Capabilities { defers_spawned: true, ..Capabilities::default() };
//! assert!(!keeps_spawned(&deals, 1, 2) && keeps_spawned(&deals, 2, 2));
//! // At a short task, a worker that published just now keeps its forks for the moment.
//! let just_now = || Some(Duration::from_micros(1));
//! assert!(pauses(true, just_now) && !pauses(false, just_now) && !pauses(true, || Some(PAUSE)));
//! ```

mod grain;
mod thresholds;

use std::{cell::Cell, time::Duration};

pub use grain::{Advice, Grain, SiteId};
pub use thresholds::ForkThresholds;

use crate::{Capabilities, ForkOrder};

/// The most forks that one request publishes, unless more workers are idle.
const LARGEST_BATCH: usize = 64;

/// At most so many spawned tasks of one worker's outbox are moved to the policy at once, so that
/// two workers find something for some time, and the owner keeps what is newest.
pub const OUTBOX_BATCH: usize = 32;

/// Whether a worker that [may](may_keep_spawned) keeps a spawned task, the `index`-th of its
/// parent, for the moment. A policy that only waits for what is spawned gets the first at once, one
/// for each of `workers`: it deals them out, and each may be long. Where there are more, they are
/// short enough to come in batches.
#[inline]
pub fn keeps_spawned(capabilities: &Capabilities, index: u32, workers: usize) -> bool {
    capabilities.own_newest_first || capabilities.defers_spawned && index as usize >= workers
}

/// Whether workers may keep any of the tasks that they spawn: the policy is not to see them, or
/// waits for them.
pub fn may_keep_spawned(capabilities: &Capabilities) -> bool {
    capabilities.defers_spawned
        || capabilities.own_newest_first
            && !capabilities.may_refuse
            && !capabilities.follows_tasks
            && !capabilities.sees_forks
            && !capabilities.uses_sizes
}

/// The memory of so many spawned tasks goes from one worker to another at once. A worker keeps two
/// such batches for tasks of its own.
pub const MEMORY_BATCH: usize = 128;

/// So many batches that its workers have too many of are kept by a pool.
pub const SPARE_BATCHES: usize = 64;

/// Whether a fork `depth` forks below the program's start is published at once: each of `workers`
/// is to have one.
#[inline]
pub fn is_early(depth: u32, workers: usize) -> bool {
    depth <= workers.ilog2() + 1
}

/// How many forks of a worker should be published, whether or not one was requested: `at_least`,
/// and one for each `idle` worker for which no fork of this worker's is `untaken`.
#[inline]
pub fn missing(untaken: usize, idle: usize, at_least: usize) -> usize {
    idle.saturating_sub(untaken).max(at_least)
}

/// A worker that is at short tasks publishes no sooner after the last time. For a fork to be run by
/// another worker, several have to pass on locks and lines of memory, and one may have to be woken:
/// some microseconds, a small part of this. Heartbeat scheduling bounds the price of forks in this
/// way: U. A. Acar, A. Charguéraud, A. Guatto, M. Rainey, F. Sieczkowski, *Heartbeat scheduling:
/// provable efficiency for nested parallelism*, PLDI 2018.
pub const PAUSE: Duration = Duration::from_micros(20);

/// Whether a worker keeps its forks for now, although they are wanted. Only if the task that it is
/// at is [short](Grain::is_short): else the next occasion may be far. `since`: how long ago it
/// published last, if it has.
#[inline]
pub fn pauses(is_short: bool, since: impl FnOnce() -> Option<Duration>) -> bool {
    is_short && since().is_some_and(|since| since < PAUSE)
}

/// Whether the policy must see every fork of a task. `order` is asked only where that matters;
/// `may_share`: another worker may run what the task forks.
#[inline]
pub fn shows_forks(
    capabilities: &Capabilities,
    order: impl FnOnce() -> ForkOrder,
    may_share: impl FnOnce() -> bool,
) -> bool {
    capabilities.sees_forks && order() == ForkOrder::ParentFirst && may_share()
}

/// How many forks a worker's next steal request publishes.
///
/// It doubles each time, as the next occasion may be far, and starts at one again when a fork comes
/// back to its worker.
#[derive(Debug)]
pub struct Batch(Cell<usize>);

impl Batch {
    /// One fork.
    pub const fn new() -> Self {
        Self(Cell::new(1))
    }

    /// How many of the oldest private forks are published now, if there are so many: those that are
    /// [`missing`], and the batch, if that was `requested`.
    #[inline]
    pub fn next(&self, missing: usize, requested: bool) -> usize {
        if !requested {
            return missing;
        }
        let batch = missing.max(self.0.get());
        self.0.set((2 * batch).min(LARGEST_BATCH));
        batch
    }

    /// A published fork came back to its own worker: the others needed fewer.
    #[inline]
    pub fn came_back(&self) {
        self.0.set(1);
    }
}

impl Default for Batch {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_doubles_with_each_request_up_to_64_and_is_one_again_once_a_fork_came_back() {
        let batch = Batch::default();
        assert_eq!([(); 8].map(|()| batch.next(0, true)), [1, 2, 4, 8, 16, 32, 64, 64]);
        assert_eq!(
            [batch.next(3, false), batch.next(100, true), batch.next(0, true)],
            [3, 100, 64]
        );
        batch.came_back();
        assert_eq!([batch.next(5, true), batch.next(0, true)], [5, 10]);
    }

    #[test]
    fn one_fork_is_missing_for_each_idle_worker_without_one_and_as_many_as_are_asked_for() {
        assert_eq!(
            [missing(1, 3, 0), missing(3, 1, 0), missing(1, 3, 1), missing(3, 3, 4)],
            [2, 0, 2, 4]
        );
    }

    #[test]
    fn forks_are_published_at_once_down_to_one_level_below_a_fork_for_each_worker() {
        let deepest = |workers| (0..).take_while(|depth| is_early(*depth, workers)).last();
        assert_eq!([1, 2, 3, 4, 64].map(deepest), [1, 2, 2, 3, 7].map(Some));
    }

    #[test]
    fn what_a_policy_must_see_of_a_task_it_is_shown_and_asked_for_no_more_than_that() {
        let sees = |sees_forks| Capabilities { sees_forks, ..Capabilities::default() };
        let [parent, child] = [ForkOrder::ParentFirst, ForkOrder::ChildFirst];
        assert!(shows_forks(&sees(true), || parent, || true));
        assert!(!shows_forks(&sees(true), || parent, || false));
        assert!(!shows_forks(&sees(true), || child, || unreachable!()));
        assert!(!shows_forks(&sees(false), || unreachable!(), || unreachable!()));
    }
}
