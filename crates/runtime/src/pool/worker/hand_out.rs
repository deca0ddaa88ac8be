//! What a worker gives to the policy.

use std::ptr::NonNull;

use befit_sched::{ForkOrder, Ready, Stage, Task};

use super::Worker;
use crate::{
    engine::{JobRef, NoUnwind},
    fork::OpenFork,
    latch::Latch,
    stats::Phase,
};

impl Worker {
    /// Whether a fork that runs as plain calls would keep an idle worker waiting: one is idle, and nothing of this
    /// worker's lies with the policy.
    #[inline(always)]
    pub(crate) fn is_asked(&self) -> bool {
        self.forks.is_requested() && self.registry.has_idle()
    }

    /// Whether the policy must decide where `child`, a fork of `parent`, runs.
    pub(crate) fn places(&self, parent: &Task, child: &Task) -> bool {
        self.engine().places_by_size()
            && self.thresholds.is_anchored_at_a_shared_cache(child.size, parent.size)
            && self.engine().is_shared(parent.anchor)
    }

    pub(crate) fn fork_order(&self, parent: &Task) -> ForkOrder {
        self.engine().fork_order(parent)
    }

    /// Links `fork` as [`ForkList::push`](crate::fork::ForkList::push) does; hands out the oldest fork if none of this
    /// worker's lies with the policy.
    ///
    /// # Safety
    /// As for `ForkList::push`, without the room; and what [`OpenFork::hand_out`] asks of the fork.
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn push_slowly(&self, fork: NonNull<OpenFork>) {
        // The list points into this stack.
        let no_unwind = NoUnwind;
        self.forks.make_room();
        // SAFETY: there is room now; the rest is promised by the caller.
        unsafe { self.forks.push(fork) };
        if self.forks.is_requested() {
            // Before the policy learns of it: who takes it will request the next.
            self.forks.request(false);
            if self.may_share() {
                self.suspend();
                self.hand_out_oldest();
                self.resume();
            }
        }
        no_unwind.over();
    }

    /// Gives the oldest private fork to the policy; answers whether there was one. The running strand must be
    /// suspended.
    pub(super) fn hand_out_oldest(&self) -> bool {
        let Some((at, fork)) = self.forks.expose() else { return false };
        self.counters().handed_out.bump();
        // SAFETY: it is in the list and was not handed out before, so it is live and its work is there.
        let task = unsafe { OpenFork::task(fork, self.task_of_fork(at)) };
        let latch = Latch::new(self.seat());
        // SAFETY: live until its owner, this worker, saw the latch set (promised to `push`); `expose` answers each fork
        // once; seat and limit are this worker's.
        let job = unsafe { OpenFork::hand_out(fork, latch, self.forks.limit()) };
        self.add(job, task);
        true
    }

    /// Gives a job to the policy. The running strand must be suspended.
    pub(super) fn add(&self, job: JobRef, task: Task) {
        self.counters().times.enter(Phase::Add);
        self.engine().add(self.id, Ready { job, task, stage: Stage::Start }, &mut self.env());
    }

    /// Gives a spawned job to the policy.
    pub(crate) fn spawn(&self, job: JobRef, task: Task) {
        let no_unwind = NoUnwind;
        self.counters().spawned.bump();
        self.suspend();
        self.add(job, task);
        self.resume();
        no_unwind.over();
    }
}
