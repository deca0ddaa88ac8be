//! How a worker runs what the policy gives it, and reports it to the policy.

use std::{
    cell::Cell,
    ptr::{self, NonNull},
    time::{Duration, Instant},
};

use befit_machine::ClusterId;
use befit_sched::{Ready, Stage, Strand, TaskInfo, forks::SiteId};

use super::{Running, Worker};
use crate::{
    stats::Phase,
    threads::{
        engine::{JobRef, NoUnwind},
        fork::PendingFork,
        scope::{Base, HeldCredits},
        sleep::{HeldFork, PutOff},
    },
};

/// A worker that comes to a fork after so long in a call from outside holds none back any more. The
/// thread that waits for the call would see to it later: the system wakes it as late as it likes.
const SOON: Duration = Duration::from_micros(20);

/// A task that the policy gave to this worker, on the stack while it runs.
#[derive(Debug)]
pub(super) struct Entry {
    task: TaskInfo,
    /// Of the strand that runs, or ran last.
    stage: Cell<Stage>,
    /// The task's end has not been reported to the policy.
    open: Cell<bool>,
    /// An alarm was raised while it waited: its claims are given back, its restrictions lifted.
    freed: Cell<bool>,
    /// Another thread may run what it forks: see [`Worker::may_share`].
    shared: bool,
    /// What is held back in the call from outside that it is; null if it is none.
    call: Cell<*const PutOff>,
    /// When that began.
    call_began: Cell<Option<Instant>>,
    /// The entry that waits below this one.
    outer: *const Entry,
}

impl Entry {
    /// For a task whose strand `stage` runs next, inside the entry `outer`. `shared`: see
    /// [`Worker::shares`].
    #[inline(always)]
    fn new(task: TaskInfo, stage: Stage, shared: bool, outer: *const Self) -> Self {
        Self {
            task,
            stage: Cell::new(stage),
            open: Cell::new(true),
            freed: Cell::new(false),
            shared,
            call: Cell::new(ptr::null()),
            call_began: Cell::new(None),
            outer,
        }
    }
}

/// A call from outside that a worker is at; over when it is dropped.
struct AtCall<'a> {
    worker: &'a Worker,
    entry: &'a Entry,
    call: &'a PutOff,
    began: Instant,
}

impl Drop for AtCall<'_> {
    fn drop(&mut self) {
        self.call.ended(self.began.elapsed());
        self.worker.gives_way.set(self.call.is_from_here());
        self.entry.call.set(ptr::null());
    }
}

impl Worker {
    /// The innermost entry.
    fn entry(&self) -> Option<&Entry> {
        // SAFETY: set by `execute` for as long as the entry lives, on the caller's stack, further
        // up.
        unsafe { self.entry.get().as_ref() }
    }

    /// The innermost entry, if the policy follows tasks.
    fn followed_entry(&self) -> Option<&Entry> {
        self.entry().filter(|_| self.engine().capabilities.follows_tasks)
    }

    /// Whether another thread may run what a job forks that is anchored at `anchor`.
    fn shares(&self, anchor: ClusterId) -> bool {
        self.handler.get().is_none() && self.engine().is_shared(anchor)
    }

    /// Lets user code run outside any job, as long as this worker lives, which is for ever.
    pub(super) fn begin_base(&'static self) {
        let task = TaskInfo::root(None, None);
        let shared = self.shares(task.anchor);
        let entry = Entry::new(task, Stage::Continuation, shared, self.entry.get());
        let entry: &Entry = Box::leak(Box::new(entry));
        self.entry.set(entry);
        let running: &Running<'_> = Box::leak(Box::new(self.inner_task(&entry.task)));
        self.task.set(running);
        self.requests().set_requested(self.may_share());
        self.counters().times.begin();
        self.engine().policy.resume(self.id, &task, &mut self.env());
    }

    /// Runs `work`, which is the running job's and a call from outside.
    pub(crate) fn run_call<R>(&self, call: &PutOff, work: impl FnOnce() -> R) -> R {
        let Some(entry) = self.entry() else { return work() };
        // SAFETY: it is dropped below, on this thread.
        let _begun = unsafe { call.begin(self.requests()) };
        entry.call.set(call);
        let began = Instant::now();
        entry.call_began.set(Some(began));
        let _at_call = AtCall { worker: self, entry, call, began };
        work()
    }

    /// What is held back by the running job, if that is a call from outside.
    #[inline]
    pub(super) fn outside_call(&self) -> Option<&PutOff> {
        // SAFETY: null, or alive: `run_call` resets it.
        self.entry().and_then(|entry| unsafe { entry.call.get().as_ref() })
    }

    /// Whether the worker has been at the running call from outside for so long that it is not to
    /// hold a fork back any more.
    pub(super) fn is_long_at_call(&self) -> bool {
        let began = self.entry().and_then(|entry| entry.call_began.get());
        began.is_some_and(|began| began.elapsed() > SOON)
    }

    /// The running job, if it is a call from outside that is young, and a fork by `site` may be
    /// short. `known`: if it is known to be.
    #[inline]
    pub(super) fn young_call(&self, site: SiteId, known: bool) -> Option<&PutOff> {
        let call = self.outside_call()?;
        (self.inlined_regions.may_be_short(site, known) && call.is_young()).then_some(call)
    }

    /// Whether `fork` was held back and is private again.
    pub(super) fn takes_back(&self, fork: NonNull<PendingFork>) -> bool {
        let back = self.outside_call().and_then(|call| call.take_back(fork));
        if let Some(held) = &back {
            self.is_private_again(held);
        }
        back.is_some()
    }

    /// Nothing is held back in the running call any more. The running strand must be suspended.
    pub(super) fn catch_up(&self) {
        if let Some(call) = self.outside_call()
            && let Some(HeldFork { job, task, .. }) = call.end()
        {
            call.share();
            self.add(job, task);
        }
    }

    /// Whether the running user code is in no job.
    pub(super) fn is_at_base(&self) -> bool {
        self.entry().is_some_and(|entry| entry.outer.is_null())
    }

    /// Whether this worker runs nothing, not even what waits.
    pub(super) fn is_in_no_job(&self) -> bool {
        self.entry.get().is_null()
    }

    /// The task of a job that bypasses the policy: a part of the task that waits here, else a task
    /// of its own. It has no notes of the policy's, which has never seen it.
    pub(super) fn bypassing_task(&self) -> TaskInfo {
        let Some(entry) = self.entry() else { return TaskInfo::root(None, None) };
        let mut part = entry.task.child(0, None, None);
        part.mark = 0;
        part
    }

    /// Whether another thread may run what the running task forks. What is anchored where only this
    /// thread runs would come back to it; what a handler forks stays here.
    pub(super) fn may_share(&self) -> bool {
        self.entry().is_some_and(|entry| entry.shared)
    }

    /// The cluster that what this worker runs while it waits should be bound to: see
    /// [`crate::threads::engine::Engine::get`].
    pub(super) fn within(&self) -> ClusterId {
        match self.entry() {
            Some(entry) if !entry.freed.get() => entry.task.anchor,
            _ => ClusterId::ROOT,
        }
    }

    /// Reports to the policy that the running strand has ended, at a fork or a join.
    #[inline]
    pub(super) fn suspend(&self) {
        if self.watched {
            self.report_suspension();
        }
    }

    /// Reports to the policy that the suspended task goes on here.
    #[inline]
    pub(super) fn resume(&self) {
        if self.watched {
            self.report_resumption();
        }
    }

    #[inline(never)]
    fn report_suspension(&self) {
        self.counters().times.enter(Phase::Done);
        if let Some(entry) = self.followed_entry() {
            let strand = Strand { task: entry.task, stage: entry.stage.get() };
            self.engine().done(self.id, &strand, &mut self.env());
        }
    }

    #[inline(never)]
    fn report_resumption(&self) {
        if let Some(entry) = self.followed_entry() {
            entry.stage.set(Stage::Continuation);
            self.counters().times.enter(Phase::Get);
            self.engine().policy.resume(self.id, &entry.task, &mut self.env());
        }
        self.counters().times.enter(Phase::Active);
    }

    /// Runs what the policy gave to this worker.
    pub(super) fn execute(&self, ready: &Ready<JobRef>) {
        self.execute_all(ready, || None);
    }

    /// Runs `first`, and then what `next` returns until that is nothing: jobs of the same anchor.
    // A job's surroundings are made once for all of them.
    #[inline(always)]
    pub(super) fn execute_all(
        &self,
        first: &Ready<JobRef>,
        mut next: impl FnMut() -> Option<Ready<JobRef>>,
    ) {
        let no_unwind = NoUnwind;
        let (outer, outer_task) = (self.entry.get(), self.task.get());
        let outer_lineage = self.lineage.get();
        let shared = self.shares(first.task.anchor);
        let outer_forks = self.forks.begin_inner();
        let interrupted = self.inlined_regions.interrupt(self.requests());
        let unshared = (!shared).then(|| self.inlined_regions.unshared(self.requests()));
        self.execute_within(first, shared, outer, outer_task);
        while let Some(ready) = next() {
            self.execute_within(&ready, shared, outer, outer_task);
        }
        self.forks.end_inner(outer_forks);
        self.lineage.set(outer_lineage);
        self.entry.set(outer);
        self.task.set(outer_task);
        drop(unshared);
        self.inlined_regions.go_on(&interrupted);
        self.requests().set_requested(self.may_share());
        no_unwind.over();
    }

    /// Runs one job inside entry `outer`, whose running task is `outer_task`. Entry, task and
    /// lineage are left to be set anew.
    #[inline(always)]
    fn execute_within(
        &self,
        ready: &Ready<JobRef>,
        shared: bool,
        outer: *const Entry,
        outer_task: *const Running<'static>,
    ) {
        // A job that bypasses the policy (see `mail`) is a continuation from its start.
        if ready.stage == Stage::Start {
            self.counters().executed.bump();
        }
        if ready.task.maximal {
            self.counters().anchored_at(ready.task.anchor);
        }
        let entry = Entry::new(ready.task, ready.stage, shared, outer);
        self.entry.set(&raw const entry);
        let running = Running {
            task: &entry.task,
            depth: Cell::new(0),
            spawned: Cell::new(0),
            first_fork: self.forks.len(),
            outer: outer_task,
        };
        self.task.set((&raw const running).cast());
        // SAFETY: the job is executed below, and the lineage is used until then; this worker stays
        // until its jobs have ended, and wrote the bounds of its stack before the first of them.
        let lineage = unsafe { ready.job.lineage(&raw const self.stack) };
        if !self.held_credits.is_for(lineage.parent()) {
            self.return_credits();
        }
        self.lineage.set(&raw const lineage);
        self.requests().set_requested(shared);
        let ended = || {
            if self.watched {
                self.report_suspension();
                self.end(&entry);
                self.counters().times.end();
            }
            if lineage.parent().is_null() {
                // Before anybody is woken who waits for it, and may take this worker's CPU.
                self.counters().times.rest();
            }
        };
        self.counters().times.begin();
        // SAFETY: a policy returns each job once, as the protocol of `Scheduler` demands, and so
        // does an outbox; this is a thread of the pool that it was given to.
        unsafe { ready.job.execute(&ended) };
    }

    /// See `scope/credits.rs`.
    pub(crate) fn held_credits(&self) -> &HeldCredits {
        &self.held_credits
    }

    /// Returns the held credits to their scope.
    #[inline]
    pub(super) fn return_credits(&self) {
        if !self.held_credits.is_empty() {
            Base::return_credits(&self.held_credits);
        }
    }

    fn end(&self, entry: &Entry) {
        if entry.open.replace(false) && self.engine().capabilities.follows_tasks {
            self.engine().task_ended(self.id, &entry.task, &mut self.env());
        }
    }

    /// Gives back what the waiting tasks on this stack hold of the caches, and lifts their
    /// restrictions, if the [alarm](crate::threads::engine::Engine::alarm) was raised.
    pub(super) fn heed_alarm(&self) {
        let alarm = self.engine().alarm();
        if self.alarm.replace(alarm) == alarm {
            return;
        }
        let mut next = self.entry();
        while let Some(entry) = next {
            entry.freed.set(true);
            if entry.task.maximal {
                self.end(entry);
            }
            // SAFETY: as in `entry`.
            next = unsafe { entry.outer.as_ref() };
        }
    }
}
