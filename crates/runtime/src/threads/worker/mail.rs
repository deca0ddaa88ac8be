//! Jobs that only this worker may run: broadcasts, and the handlers of start and exit. They bypass
//! the policy.

use std::{cell::Cell, collections::VecDeque, ptr::NonNull, sync::atomic::Ordering::Relaxed};

use befit_sched::{Finds, Ready, Stage};

use super::{Handler, Worker};
use crate::{
    stats::Phase,
    threads::{
        engine::{About, Ancestor, JobHeader, JobRef, JobTable},
        primitive::{AtomicUsize, Mutex, lock},
    },
};

impl Worker {
    /// A job that this worker must run, if there is one. To be [executed](Self::execute) next.
    pub(super) fn mail(&self) -> Option<Ready<JobRef>> {
        let job = self.registry.mailboxes[self.thread].take()?;
        Some(self.bypassing(job))
    }

    /// As [`Self::mail`], but what this worker finds without stealing comes first: a broadcast runs
    /// after what its thread has spawned before. Nothing if there is no mail. A worker that may run
    /// only what it waits for (`awaited`) reads its mail at once.
    ///
    /// What came from outside the pool [in its turn](crate::threads::scope::Fifos) comes after the
    /// mail, if the policy can tell it apart: there may be more of it for ever.
    #[inline]
    pub(super) fn mail_after_own(&self, awaited: Option<Ancestor>) -> Option<Ready<JobRef>> {
        if self.registry.mailboxes[self.thread].has_mail() {
            self.own_or_mail(awaited)
        } else {
            None
        }
    }

    #[cold]
    fn own_or_mail(&self, awaited: Option<Ancestor>) -> Option<Ready<JobRef>> {
        if awaited.is_some() {
            return self.mail();
        }
        self.get_spawned().or_else(|| self.get_moved()).or_else(|| self.mail())
    }

    /// As [`Self::get_own`], of what comes before the mail.
    fn get_spawned(&self) -> Option<Ready<JobRef>> {
        let engine = self.engine();
        let is_told_apart =
            !engine.looks_at_spawned && engine.policy.capabilities().finds == Finds::Everything;
        let is_own = |job: &JobRef| !self.registry.fifos.is_from_outside(job);
        self.get_own_accepted(is_told_apart.then_some(&is_own))
    }

    /// As [`Self::get_spawned`], which has found nothing, once the policy has the tasks that others
    /// took out of this worker's outbox.
    fn get_moved(&self) -> Option<Ready<JobRef>> {
        if !self.keeps_spawned {
            return None;
        }
        self.outbox.until_moved();
        self.get_spawned()
    }

    /// Reports to the policy that a job runs here that it did not give.
    ///
    /// To the policy it is a strand that goes on, a part of the task that waits here: bound to the
    /// same cluster, so what it forks cannot bury the waiting task (see
    /// [`crate::threads::engine::Engine::get`]).
    fn bypassing(&self, job: JobRef) -> Ready<JobRef> {
        self.counters().times.enter(Phase::Get);
        let task = self.bypassing_task();
        self.engine().policy.resume(self.id, &task, &mut self.env());
        Ready { job, task, stage: Stage::Continuation }
    }

    /// Calls `f`, a handler, which must not unwind, as the user code of a task of its own. Only
    /// while no other runs.
    pub(super) fn call(&self, handler: Handler, f: impl FnOnce()) {
        self.handler.set(Some(handler));
        let job = Call { header: JobHeader::new(Call::table_of(&f)), f: Cell::new(Some(f)) };
        // SAFETY: it stays until executed, below, on this thread, so nothing is sent; the pointer
        // is to all of it; the table is its own.
        let job = unsafe { JobRef::new(NonNull::from(&job).cast()) };
        let ready = self.bypassing(job);
        self.execute(&ready);
        self.return_credits();
        if handler == Handler::Start {
            self.handler.set(None);
        }
    }

    /// Runs the jobs that the handler of the exit has spawned, at the very end. They lie in the
    /// mailbox: the policy might refuse them to this thread, and the threads that it would give
    /// them to may have ended.
    pub(super) fn work_off(&self) {
        while let Some(ready) = self.mail_after_own(None).or_else(|| self.get(None)) {
            self.execute(&ready);
        }
        self.return_credits();
        self.handler.set(None);
    }
}

/// A closure on the stack of the thread that runs it.
#[repr(C)]
struct Call<F> {
    header: JobHeader,
    f: Cell<Option<F>>,
}

impl<F: FnOnce()> Call<F> {
    const TABLE: &'static JobTable =
        &JobTable { execute: Self::execute, about: About::nothing, on_stack: true };

    fn table_of(_: &F) -> &'static JobTable {
        Self::TABLE
    }

    /// See [`JobRef::execute`].
    unsafe fn execute(job: NonNull<JobHeader>, ended: &dyn Fn()) {
        // SAFETY: it lives on the stack of the caller's caller.
        let job = unsafe { job.cast::<Self>().as_ref() };
        if let Some(f) = job.f.take() {
            f();
        }
        ended();
    }
}

/// The jobs that one thread of a pool, and no other, must run.
///
/// The poster must notify the thread afterwards
/// ([`Sleep::notify_mail`](crate::threads::sleep::Sleep::notify_mail)): the thread reads the
/// event counter *before* it looks here, and so sees the job, or else that there is an event.
#[derive(Debug)]
pub(crate) struct Mailbox {
    /// Changed under the lock, but read without: the common case is an empty box. It may be read
    /// too late to see a job; then the notification is still to come.
    waiting: AtomicUsize,
    jobs: Mutex<VecDeque<JobRef>>,
}

impl Mailbox {
    pub(crate) fn new() -> Self {
        Self { waiting: AtomicUsize::new(0), jobs: Mutex::new(VecDeque::new()) }
    }

    /// Anyone: puts a job in. To be notified.
    pub(crate) fn post(&self, job: JobRef) {
        let mut jobs = lock(&self.jobs);
        jobs.push_back(job);
        self.waiting.store(jobs.len(), Relaxed);
    }

    /// Whether there seems to be a job.
    #[inline]
    pub(crate) fn has_mail(&self) -> bool {
        self.waiting.load(Relaxed) > 0
    }

    /// The thread: the oldest job.
    #[inline]
    pub(crate) fn take(&self) -> Option<JobRef> {
        if self.has_mail() { self.take_first() } else { None }
    }

    #[cold]
    fn take_first(&self) -> Option<JobRef> {
        let mut jobs = lock(&self.jobs);
        let job = jobs.pop_front();
        self.waiting.store(jobs.len(), Relaxed);
        job
    }
}
