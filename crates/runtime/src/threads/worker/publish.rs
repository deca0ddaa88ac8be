//! What a worker gives to the policy.

use std::{ptr::NonNull, sync::atomic::Ordering::Relaxed};

use befit_sched::{
    TaskInfo,
    forks::{self, SiteId},
};

use super::{Handler, Worker};
use crate::{
    stats::Phase,
    threads::{
        engine::{JobRef, NoUnwind, SpawnedRef},
        fork::{PendingFork, Reachable, StealRequests},
        latch::Latch,
        sleep::{HeldFork, PutOff},
    },
};

impl Worker {
    /// Links `fork` into the list of pending forks, and then holds it back, or
    /// [serves](Self::serve) requests. `site` is the `join` that makes it, if it may be inlined.
    ///
    /// # Safety
    /// The fork stays until it is popped, and fulfils what [`PendingFork::publish`] requires.
    pub(crate) unsafe fn push_fork(&self, fork: NonNull<PendingFork>, site: Option<SiteId>) {
        // The list points into this stack.
        let no_unwind = NoUnwind;
        let alone = !self.forks.has_private();
        self.forks.push(fork);
        self.counters().forks.bump();
        if let Some(site) = site
            && self.holds_back(site, alone)
        {
            return no_unwind.over();
        }
        let early = forks::is_early(self.inlined_regions.depth(), self.engine().threads);
        // The early ones are few, and their halves may wait for one another: they are never kept.
        self.serve(usize::from(early), site.filter(|_| !early));
        no_unwind.over();
    }

    /// Publishes the oldest private forks, as many as the largest of
    /// - `at_least`,
    /// - the idle threads for which no fork of this worker's lies with the policy yet, and
    /// - if a steal request has come, the batch. It doubles each time, as the next occasion may be
    ///   far, and starts at one again when a fork comes back to this worker.
    ///
    /// `site` is the `join` that the worker is at, if it may be inlined. Where that makes short
    /// tasks, the worker publishes none so soon after the last ones.
    pub(crate) fn serve(&self, at_least: usize, site: Option<SiteId>) {
        let untaken = self.requests().untaken();
        let missing = forks::missing(untaken, self.engine().sleep.idle(), at_least);
        let requested = self.requests().is_requested();
        if !requested && missing == 0 {
            return self.set_pauses(false);
        }
        let no_unwind = NoUnwind;
        if !self.may_share() {
            self.requests().set_requested(false);
        } else if self.forks.has_private() && !self.keeps_forks(site) {
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

    /// A fork is wanted, and the worker is at one by `site`: whether it keeps its forks for now. A
    /// thread that cannot be [urged](StealRequests::urge) never does.
    fn keeps_forks(&self, site: Option<SiteId>) -> bool {
        let site = site.filter(|_| !self.adopted && !self.requests().is_urgent());
        let keeps = self.inlined_regions.keeps_forks(site);
        self.set_pauses(keeps);
        keeps
    }

    /// Whether this worker keeps forks that are wanted.
    #[inline]
    pub(super) fn set_pauses(&self, pauses: bool) {
        if self.requests().pauses() == pauses {
            return;
        }
        self.requests().set_pauses(pauses);
        let pausing = &self.registry.pausing;
        if pauses {
            pausing.fetch_add(1, Relaxed)
        } else {
            pausing.fetch_sub(1, Relaxed)
        };
    }

    /// Urges all workers of which a fork is requested; returns whether one has kept a fork.
    pub(super) fn urge_others(&self) -> bool {
        if self.registry.pausing.load(Relaxed) == 0 {
            return false;
        }
        // All, not only the first.
        let urge = |other: &Reachable| other.with(StealRequests::urge) == Some(true);
        self.registry.reachable.iter().filter(|other| urge(other)).count() > 0
    }

    /// Holds back the fork that `site` has just made, if that may be short in a call that is young
    /// and no other is held back. `alone`: it is the only private one. Returns false if the policy
    /// may have it at once. What is forked while a fork is held back stays private if nobody has
    /// requested it.
    #[inline]
    fn holds_back(&self, site: SiteId, alone: bool) -> bool {
        // A policy that must see each fork is shown those of which nothing is known, too, once the
        // call is not young any more.
        let known = !self.engine().capabilities.sees_forks;
        let Some(call) = self.young_call(site, known).filter(|_| self.may_share()) else {
            return false;
        };
        if self.is_long_at_call() {
            self.suspend();
            self.catch_up();
            self.resume();
            return false;
        }
        if call.holds() {
            return !self.requests().is_requested();
        }
        if !alone {
            return false;
        }
        // Before the call can end, which requests a fork.
        self.requests().set_requested(false);
        let Some(fork) = self.publish_next() else { return false };
        if let Err(HeldFork { job, task, .. }) = call.hold(fork) {
            self.suspend();
            self.add(job, task);
            self.resume();
        }
        true
    }

    /// The owner of `fork`, the youngest pending one, comes to its second half: unlinks it, and
    /// returns true, if no other thread has it.
    #[inline]
    pub(crate) fn unlinks(&self, fork: NonNull<PendingFork>) -> bool {
        if !self.forks.youngest_is_published() {
            self.forks.pop();
            return true;
        }
        let is_back = self.takes_back(fork);
        if is_back {
            self.forks.pop_published();
        }
        is_back
    }

    /// Whether the next fork, by `site`, is kept from a policy that must see each.
    pub(crate) fn hides_fork(&self, site: SiteId) -> bool {
        self.young_call(site, false).is_some()
    }

    /// `held`, which was held back and so counts as published, is private again.
    pub(super) fn is_private_again(&self, held: &HeldFork) {
        self.counters().published.take_back(1);
        self.counters().sized.take_back(held.is_sized.into());
        self.requests().count_private_again();
    }

    /// Counts halves of forks that go to the policy.
    pub(crate) fn count_published(&self, count: usize) {
        self.counters().published.add(count as u64);
        self.requests().count_published(count);
    }

    /// A fork of the worker with these `requests` is about to run here.
    pub(crate) fn begins_fork_of(&self, requests: &StealRequests) {
        if std::ptr::eq(requests, self.requests()) {
            // This worker's own: more were published than the others needed.
            self.batch.came_back();
        }
    }

    /// Gives the oldest private fork to the policy, or the one that is held back, which is older;
    /// returns whether there was one. A younger one may wait for an older one, which nobody could
    /// run if all threads ran younger ones. The running strand must be suspended.
    pub(super) fn publish_oldest(&self) -> bool {
        let call = self.outside_call();
        if call.is_some_and(PutOff::holds) {
            self.catch_up();
            return true;
        }
        let Some(HeldFork { job, task, .. }) = self.publish_next() else { return false };
        if let Some(call) = call {
            call.share();
        }
        self.add(job, task);
        true
    }

    /// Makes a job of the oldest private fork, if there is one, for the policy or to be held back.
    #[inline]
    fn publish_next(&self) -> Option<HeldFork> {
        let (at, fork) = self.forks.publish_next()?;
        self.count_published(1);
        // SAFETY: it is in the list and was not published before, so it is live and its work is
        // there.
        let (about, depth) = unsafe { PendingFork::about(fork) };
        let parent = self.task_of_fork(at);
        // SAFETY: as above; nobody else has it before it is published, below.
        let (size, strand) = unsafe { self.sizes(&about, 1, depth, parent) };
        let is_sized = size.is_some();
        self.counters().sized.add(is_sized.into());
        // Forks of which the policy sees nothing lie between.
        let above = depth.saturating_sub(parent.depth.get()).saturating_sub(1);
        let mut task = parent.task.child(1, size, strand);
        task.depth = task.depth.saturating_add(above);
        let latch = Latch::new(self.parker());
        // SAFETY: live until its owner, this worker, saw the latch set (promised to `push_fork`);
        // `publish_next` returns each fork once; parker and requests are this worker's; the lineage
        // outlives it, as it is of the job that forked it.
        let job = unsafe { PendingFork::publish(fork, latch, self.requests(), self.lineage()) };
        Some(HeldFork { worker: self.id, job, task, is_sized })
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
            let task = task();
            let engine = self.engine();
            if !forks::keeps_spawned(&engine.capabilities, task.index, engine.threads) {
                return self.spawn(job.job(), task);
            }
            self.counters().spawned.bump();
            // SAFETY: it is put into the outbox below.
            unsafe { job.set_task(task) };
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

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::{
        atomic::{
            AtomicBool,
            Ordering::{Relaxed, SeqCst},
        },
        mpsc,
    };

    use crate::{
        SchedulerKind, ThreadPool, ThreadPoolBuilder, join,
        threads::{testing::*, worker::Worker},
    };

    /// How many of its forks each thread takes to lie with the policy, once the other thread has
    /// taken one.
    fn untaken_after_a_steal(pool: &ThreadPool) -> Vec<usize> {
        pool.install(|| {
            let taken = AtomicBool::new(false);
            join(|| wait_for(&taken), || taken.store(true, SeqCst));
        });
        let untaken = |worker: Option<&Worker>| worker.unwrap().requests().untaken();
        pool.broadcast(|_| Worker::with_current(untaken))
    }

    /// What others had taken of them in an earlier pool was counted, but not what was published.
    #[test]
    fn regression_threads_that_serve_another_pool_know_how_many_forks_lie_with_the_policy() {
        let _watchdog = watchdog(MINUTE);
        let first = pool(SchedulerKind::Ws, "pu:2", 2);
        assert_eq!(untaken_after_a_steal(&first), [0, 0]);
        let builder = ThreadPoolBuilder::new().num_threads(2).spawn_handler(|thread| {
            first.spawn(|| thread.run());
            Ok(())
        });
        let second = builder.build().unwrap();
        assert_eq!(untaken_after_a_steal(&second), [0, 0]);
        drop(second);
        assert_eq!(untaken_after_a_steal(&first), [0, 0]);
    }

    /// The inner worker ended a pause of the outer one, and took it from its own pool's number.
    #[test]
    fn regression_a_thread_that_serves_another_pool_keeps_the_requests_of_both_apart() {
        let _watchdog = watchdog(MINUTE);
        let with_worker = |f: fn(&Worker)| Worker::with_current(|worker| f(worker.unwrap()));
        let pausing = |pool: &ThreadPool| pool.pool().pausing.load(Relaxed);
        let first = pool(SchedulerKind::Ws, "pu:2", 2);
        let (sender, requested) = mpsc::channel();
        let builder = ThreadPoolBuilder::new().num_threads(2).spawn_handler(|thread| {
            let sender = sender.clone();
            first.spawn(move || {
                with_worker(|outer| outer.set_pauses(true));
                thread.run();
                with_worker(|outer| assert!(!outer.requests().pauses()));
                let is_requested =
                    |worker: Option<&Worker>| worker.unwrap().requests().is_requested();
                sender.send(Worker::with_current(is_requested)).unwrap();
            });
            Ok(())
        });
        let second = builder.build().unwrap();
        second.broadcast(|_| {
            with_worker(|inner| {
                inner.set_pauses(false);
                inner.requests().set_requested(false);
            });
        });
        assert_eq!([&first, &second].map(pausing), [0, 0]);
        drop(second);
        assert_eq!([(); 2].map(|()| requested.recv()), [Ok(true); 2]);
        assert_eq!(pausing(&first), 0);
    }
}
