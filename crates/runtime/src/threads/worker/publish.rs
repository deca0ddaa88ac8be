//! What a worker gives to the policy.

use std::ptr::NonNull;

use befit_sched::{TaskInfo, forks};

use super::{Handler, Worker};
use crate::{
    stats::Phase,
    threads::{
        engine::{JobRef, NoUnwind, SpawnedRef},
        fork::{PendingFork, StealRequests},
        latch::Latch,
    },
};

impl Worker {
    /// Links `fork` into the list of pending forks, and then [serves](Self::serve) requests.
    ///
    /// # Safety
    /// The fork stays until it is popped, and fulfils what [`PendingFork::publish`] requires.
    pub(crate) unsafe fn push_fork(&self, fork: NonNull<PendingFork>) {
        // The list points into this stack.
        let no_unwind = NoUnwind;
        self.forks.push(fork);
        self.counters().forks.bump();
        let early = forks::is_early(self.inlined_regions.depth(), self.engine().threads);
        self.serve(usize::from(early));
        no_unwind.over();
    }

    /// Publishes the oldest private forks, as many as the largest of
    /// - `at_least`,
    /// - the idle threads for which no fork of this worker's lies with the policy yet, and
    /// - if a steal request has come, the batch. It doubles each time, as the next occasion may be
    ///   far, and starts at one again when a fork comes back to this worker.
    pub(crate) fn serve(&self, at_least: usize) {
        let untaken = self.published.get().wrapping_sub(self.requests().taken());
        let missing = forks::missing(untaken, self.engine().sleep.idle(), at_least);
        let requested = self.requests().is_requested();
        if !requested && missing == 0 {
            return;
        }
        let no_unwind = NoUnwind;
        if !self.may_share() {
            self.requests().set_requested(false);
        } else if self.forks.has_private() {
            // Before the policy learns of the forks: a taker's request must not be overwritten.
            self.requests().set_requested(false);
            let batch = self.batch.next(missing, requested);
            self.suspend();
            for _ in 0..batch {
                if !self.publish_oldest() {
                    break;
                }
            }
            self.resume();
        }
        no_unwind.over();
    }

    /// Counts halves of forks that go to the policy.
    pub(crate) fn count_published(&self, count: usize) {
        self.counters().published.add(count as u64);
        self.published.set(self.published.get().wrapping_add(count));
    }

    /// A fork of the worker with these `requests` is about to run here.
    pub(crate) fn begins_fork_of(&self, requests: &StealRequests) {
        if std::ptr::eq(requests, self.requests()) {
            // This worker's own: more were published than the others needed.
            self.batch.came_back();
        }
    }

    /// Gives the oldest private fork to the policy; returns whether there was one. The running
    /// strand must be suspended.
    pub(super) fn publish_oldest(&self) -> bool {
        let Some((at, fork)) = self.forks.publish_next() else { return false };
        self.count_published(1);
        // SAFETY: it is in the list and was not published before, so it is live and its work is
        // there.
        let (about, depth) = unsafe { PendingFork::about(fork) };
        let parent = self.task_of_fork(at);
        // SAFETY: as above; nobody else has it before it is published, below.
        let (size, strand) = unsafe { self.sizes(&about, 1, depth, parent) };
        self.counters().sized.add(u64::from(size.is_some()));
        let task = parent.task.child(1, size, strand);
        let latch = Latch::new(self.parker());
        // SAFETY: live until its owner, this worker, saw the latch set (promised to `push_fork`);
        // `publish_next` returns each fork once; parker and requests are this worker's; the lineage
        // outlives it, as it is of the job that forked it.
        let job = unsafe { PendingFork::publish(fork, latch, self.requests(), self.lineage()) };
        self.add(job, task);
        true
    }

    /// Gives a job to the policy, after what was spawned before. The running strand must be
    /// suspended.
    #[inline(always)]
    pub(super) fn add(&self, job: JobRef, task: TaskInfo) {
        self.empty_outbox();
        self.counters().times.enter(Phase::Add);
        self.engine().add(self.id, job, task, &mut self.env());
    }

    /// A task was spawned: keeps it, or gives it to the policy.
    #[inline(always)]
    pub(crate) fn spawn_task(&self, job: SpawnedRef, task: impl FnOnce() -> TaskInfo) {
        if self.keeps_spawned && self.handler.get() != Some(Handler::Exit) {
            self.counters().spawned.bump();
            // SAFETY: it is put into the outbox below.
            unsafe { job.set_task(task()) };
            self.put_out(job);
        } else {
            self.spawn(job.job(), task());
        }
    }

    /// Gives a spawned job to the policy.
    #[inline]
    pub(crate) fn spawn(&self, job: JobRef, task: TaskInfo) {
        let no_unwind = NoUnwind;
        self.counters().spawned.bump();
        if self.handler.get() == Some(Handler::Exit) {
            self.registry.mailboxes[self.thread].post(job);
            return no_unwind.over();
        }
        self.suspend();
        self.add(job, task);
        self.resume();
        no_unwind.over();
    }
}
