//! Jobs for one thread, which the policy knows nothing of.

use std::{collections::VecDeque, sync::atomic::Ordering::Relaxed};

use crate::threads::{
    engine::JobRef,
    primitive::{AtomicUsize, Mutex, lock},
};

/// What one thread of a pool, and no other, must run.
///
/// Who posts must announce it afterwards
/// ([`Sleep::notify_mail`](crate::threads::sleep::Sleep::notify_mail)): the thread reads the number of
/// announcements *before* it looks here, and so sees the job, or else that there is news.
#[derive(Debug)]
pub(crate) struct Mailbox {
    /// Changed under the lock, but read without: the common case is an empty box. It may be read
    /// too late to see a job; then the announcement is still to come.
    waiting: AtomicUsize,
    jobs: Mutex<VecDeque<JobRef>>,
}

impl Mailbox {
    pub(crate) fn new() -> Self {
        Self { waiting: AtomicUsize::new(0), jobs: Mutex::new(VecDeque::new()) }
    }

    /// Anyone: puts a job in. To be announced.
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
