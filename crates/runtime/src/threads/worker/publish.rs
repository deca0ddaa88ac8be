//! What a worker gives to the policy.

use std::ptr::NonNull;

use befit_sched::{
    TaskInfo,
    forks::{self, SiteId},
};

use super::{Handler, Worker};
use crate::{
    stats::Phase,
    threads::{
        engine::{JobRef, NoUnwind, SpawnedRef},
        fork::{PendingFork, StealRequests},
        latch::Latch,
        sleep::PutOff,
    },
};

impl Worker {
    /// Links `fork` into the list of pending forks, and then [serves](Self::serve) requests. `site`
    /// is the `join` that makes it, if it may be inlined.
    ///
    /// # Safety
    /// The fork stays until it is popped, and fulfils what [`PendingFork::publish`] requires.
    pub(crate) unsafe fn push_fork(&self, fork: NonNull<PendingFork>, site: Option<SiteId>) {
        // The list points into this stack.
        let no_unwind = NoUnwind;
        let alone = !self.forks.has_private();
        self.forks.push(fork);
        self.counters().forks.bump();
        let early = forks::is_early(self.inlined_regions.depth(), self.engine().threads);
        self.serve_with(usize::from(early), site.filter(|_| alone));
        no_unwind.over();
    }

    /// Publishes the oldest private forks, as many as the largest of
    /// - `at_least`,
    /// - the idle threads for which no fork of this worker's lies with the policy yet, and
    /// - if a steal request has come, the batch. It doubles each time, as the next occasion may be
    ///   far, and starts at one again when a fork comes back to this worker.
    pub(crate) fn serve(&self, at_least: usize) {
        self.serve_with(at_least, None);
    }

    /// As [`Self::serve`]. `site` made the only private fork.
    #[inline]
    fn serve_with(&self, at_least: usize, site: Option<SiteId>) {
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
            if let Some((call, site)) = site.and_then(|site| self.short_call(site)) {
                self.publish_oldest_unless(|| self.put_off(call, site));
            } else {
                for _ in 0..batch {
                    if !self.publish_oldest() {
                        break;
                    }
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
            self.begin_part();
        }
    }

    /// The running job, if it is a call from outside and a fork by `site` is predicted to be short.
    fn short_call(&self, site: SiteId) -> Option<(&PutOff, SiteId)> {
        let call = self.outside_call()?;
        self.inlined_regions.predicts_short(site).then_some((call, site))
    }

    /// Gives the oldest private fork to the policy; returns whether there was one. The running
    /// strand must be suspended.
    pub(super) fn publish_oldest(&self) -> bool {
        self.publish_oldest_unless(|| false)
    }

    /// As [`Self::publish_oldest`]; nobody is notified if `put_off` returns true.
    #[inline(always)]
    fn publish_oldest_unless(&self, put_off: impl FnOnce() -> bool) -> bool {
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
        self.add_unless(job, task, put_off);
        true
    }

    /// Gives a job to the policy, after what was spawned before. The running strand must be
    /// suspended.
    #[inline(always)]
    pub(super) fn add(&self, job: JobRef, task: TaskInfo) {
        self.add_unless(job, task, || false);
    }

    #[inline(always)]
    fn add_unless(&self, job: JobRef, task: TaskInfo, put_off: impl FnOnce() -> bool) {
        self.empty_outbox();
        self.counters().times.enter(Phase::Add);
        self.engine().add_unless(self.id, job, task, &mut self.env(), put_off);
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
