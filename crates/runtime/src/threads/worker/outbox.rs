//! Spawned tasks that the policy has not seen: each worker keeps those that it spawns in an
//! *outbox*, where that makes no difference to the policy
//! ([`Capabilities::own_newest_first`](befit_sched::Capabilities::own_newest_first)), or the policy
//! can wait ([`Capabilities::defers_spawned`](befit_sched::Capabilities::defers_spawned)).
//!
//! The outbox is a [`Deque`]. Its worker takes the newest out and runs it; no lock is taken and the
//! policy is not called. Under a policy that only waits, the worker takes nothing out, but adds all
//! of it before it asks. Tasks go from it to the policy, the oldest first, as if the worker had
//! added them only now:
//! - before the worker adds anything else (see [`Worker::add`]), so the policy has all in the order
//!   in which it came;
//! - when another worker has got nothing from the policy: that worker adds a batch from each
//!   outbox, in its worker's name, and asks again. So the policy decides what is stolen from whom,
//!   and the thieves take the locks of queues that their owners do not touch meanwhile;
//! - before a worker asks for descendants of what it waits for: only the policy can look for them.
//!
//! A task in an outbox is notified of when it is put in, as one that is added. A worker that moves
//! tasks hides them for a moment from others that look. So it notifies once more, unless it has
//! itself been given the only one that it moved. And the outbox's own worker must not think
//! meanwhile that it has run all that it spawned: see [`Outbox::until_moved`].

use std::{
    ptr::NonNull,
    sync::atomic::Ordering::{Acquire, Relaxed, Release},
};

use befit_machine::ClusterId;
use befit_sched::{Ready, Stage, forks::OUTBOX_BATCH};
use crossbeam_utils::CachePadded;

use super::Worker;
use crate::threads::{
    deque::Deque,
    engine::{Ancestor, JobRef, SpawnedHeader, SpawnedRef},
    latch::Latch,
    primitive::{AtomicUsize, fence},
    sleep::relax,
};

/// Spawned tasks that the policy has not seen. Its worker puts them in and takes them out; a thread
/// that moves some to the policy calls [`Self::move_oldest`].
#[derive(Debug)]
pub(crate) struct Outbox<T = SpawnedHeader> {
    pub(crate) tasks: Deque<T>,
    /// How many threads may have taken tasks out that the policy does not have yet.
    movers: CachePadded<AtomicUsize>,
}

impl<T> Outbox<T> {
    pub(crate) fn new() -> Self {
        Self { tasks: Deque::new(), movers: CachePadded::new(AtomicUsize::new(0)) }
    }

    /// Anyone: takes out the oldest tasks, at most `count`, and calls `add` with each.
    pub(crate) fn move_oldest(&self, count: usize, add: impl FnMut(NonNull<T>)) {
        if count == 0 {
            return;
        }
        // To take a task out is a release: a thread that sees it done sees this, too.
        self.movers.fetch_add(1, Relaxed);
        (0..count).map_while(|_| self.tasks.take_old()).for_each(add);
        self.movers.fetch_sub(1, Release);
    }

    /// The owner has found its outbox empty: returns when the policy has all that others have taken
    /// out before.
    pub(crate) fn until_moved(&self) {
        // The owner saw that the tasks were taken out, so it sees the count of those who did.
        fence(Acquire);
        let mut round = 0;
        while self.movers.load(Acquire) > 0 {
            relax(round);
            round += 1;
        }
    }
}

impl Worker {
    /// Puts a spawned task into the outbox.
    #[inline(always)]
    pub(super) fn put_out(&self, job: SpawnedRef) {
        // SAFETY: this worker's own, on its thread.
        unsafe { self.outbox.tasks.push(job.header()) };
        self.outbox_mark.put_in();
        // After the fence that this passed.
        if self.engine().sleep.idle() > 0 {
            self.notify_of_outbox();
        }
    }

    #[cold]
    #[inline(never)]
    fn notify_of_outbox(&self) {
        self.engine().notify(self.id, ClusterId::ROOT);
    }

    /// The newest task of the outbox, unless the policy decides where it runs.
    #[inline(always)]
    pub(super) fn take_back(&self) -> Option<Ready<JobRef>> {
        if self.engine().capabilities.defers_spawned {
            self.empty_outbox();
            return None;
        }
        // SAFETY: this worker's own, on its thread.
        let header = unsafe { self.outbox.tasks.pop() }?;
        Some(Self::ready(SpawnedRef::of(header)))
    }

    /// Runs `first`, and then the outbox until it is empty or `latch` is set.
    pub(super) fn execute_own(&self, first: &Ready<JobRef>, latch: &Latch) {
        self.execute_all(first, || if latch.probe() { None } else { self.take_back() });
    }

    /// What was taken out of an outbox.
    #[inline(always)]
    fn ready(job: SpawnedRef) -> Ready<JobRef> {
        // SAFETY: taken out, so it was put in with its task, and has not been executed.
        let task = unsafe { job.task() };
        Ready { job: job.job(), task, stage: Stage::Start }
    }

    /// Moves all tasks of this worker's outbox to the policy.
    #[inline]
    pub(super) fn empty_outbox(&self) {
        if self.keeps_spawned && self.outbox.tasks.len() > 0 {
            self.move_own();
        }
    }

    #[cold]
    #[inline(never)]
    fn move_own(&self) {
        if self.move_from(self.thread, usize::MAX).is_some() {
            self.engine().pass_on(self.id, ClusterId::ROOT);
        }
    }

    /// As [`Worker::get`], where outboxes are used.
    pub(super) fn get_with_outboxes(&self, awaited: Option<Ancestor>) -> Option<Ready<JobRef>> {
        if awaited.is_some() {
            self.empty_outbox();
            if self.move_from_others(usize::MAX).is_some() {
                self.engine().pass_on(self.id, ClusterId::ROOT);
            }
            return self.ask(awaited);
        }
        if let Some(ready) = self.take_back().or_else(|| self.ask(None)) {
            return Some(ready);
        }
        let moved = self.move_from_others(OUTBOX_BATCH)?;
        let ready = self.ask(None);
        let is_only = ready.as_ref().is_some_and(|ready| moved == Moved::Only(ready.job));
        if !is_only {
            self.engine().pass_on(self.id, ClusterId::ROOT);
        }
        ready
    }

    /// Moves tasks of other workers' outboxes to the policy, from each half of them, and at most
    /// `most`, or all.
    #[cold]
    fn move_from_others(&self, most: usize) -> Option<Moved> {
        let mut moved = None;
        let is_empty = |thread: usize| self.registry.outboxes[thread].tasks.len() == 0;
        let again = self.registry.filled.look_around(self.thread, is_empty, |thread| {
            let from_one = self.move_from(thread, most);
            if from_one.is_some() {
                moved = if moved.is_none() { from_one } else { Some(Moved::Several) };
            }
            from_one.is_some()
        });
        // What others did not see while a mark was missing, they must be notified of once more.
        moved.map(|moved| if again { Moved::Several } else { moved })
    }

    /// As [`Self::move_from_others`], of one outbox.
    fn move_from(&self, thread: usize, most: usize) -> Option<Moved> {
        let outbox = &self.registry.outboxes[thread];
        let size = outbox.tasks.len();
        let count = if most == usize::MAX { size } else { size.div_ceil(2).min(most) };
        let owner = self.engine().worker(thread);
        let mut moved = None;
        outbox.move_oldest(count, |header| {
            let ready = Self::ready(SpawnedRef::of(header));
            moved = Some(if moved.is_none() { Moved::Only(ready.job) } else { Moved::Several });
            self.engine().add_kept(owner, ready, &mut self.env());
        });
        moved
    }
}

/// What was moved from outboxes to the policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Moved {
    Only(JobRef),
    Several,
}
