//! Notifications that are put off because they are hardly ever needed.

use std::{
    ptr::NonNull,
    sync::atomic::Ordering::{AcqRel, Acquire, SeqCst},
};

use crate::threads::{
    fork::StealRequests,
    primitive::{AtomicU32, Mutex, fence, lock},
};

/// A notification was put off, or would have been.
const PUT_OFF: u32 = 1;
/// From now on everything is notified.
const OVER: u32 = 2;

/// The notifications of one call from outside the pool. The worker that runs the call puts them off
/// as long as the call is young; the thread that waits for the call makes up for them when it is
/// not young any more. See "What is put off" in `README.md`.
#[derive(Debug)]
pub(crate) struct PutOff {
    state: AtomicU32,
    /// Of the worker that runs the call, while it does.
    requests: Mutex<Option<NonNull<StealRequests>>>,
}

// SAFETY: all else is `Send`; the requests, which are `Sync`, are used under the lock only, and are
// gone from there before their thread ends (promised to `begin`).
unsafe impl Send for PutOff {}
// SAFETY: as above.
unsafe impl Sync for PutOff {}

impl PutOff {
    /// `may`: notifications may be put off. Else it is only found out whether they would be.
    pub(crate) fn new(may: bool) -> Self {
        let state = AtomicU32::new(if may { 0 } else { OVER });
        Self { state, requests: Mutex::new(None) }
    }

    /// A worker that has these `requests` begins to run the call, until the result is dropped.
    ///
    /// # Safety
    /// The result is dropped before the worker's thread ends.
    pub(crate) unsafe fn begin(&self, requests: &StealRequests) -> Begun<'_> {
        if !self.is_over() {
            *lock(&self.requests) = Some(NonNull::from(requests));
        }
        Begun(self)
    }

    /// The worker, after it has made something ready: whether it need not notify. Whoever
    /// [ends](Self::end) this then does.
    pub(crate) fn put_off(&self) -> bool {
        self.state.fetch_or(PUT_OFF, AcqRel) & OVER == 0
    }

    /// Anyone: nothing is put off any more. Returns whether the caller must notify of what was.
    pub(crate) fn end(&self) -> bool {
        let must_notify = self.state.fetch_or(OVER, AcqRel) == PUT_OFF;
        fence(SeqCst);
        if let Some(requests) = *lock(&self.requests) {
            // SAFETY: the worker takes them away before they go, and cannot while we hold the lock.
            unsafe { requests.as_ref() }.request();
        }
        must_notify
    }

    /// Whether it has [ended](Self::end).
    pub(crate) fn is_over(&self) -> bool {
        self.state.load(Acquire) & OVER != 0
    }

    /// Whether a notification was put off, or would have been.
    pub(crate) fn is_wanted(&self) -> bool {
        self.state.load(Acquire) & PUT_OFF != 0
    }
}

/// A worker runs the call.
#[must_use = "the call ends when it is dropped"]
pub(crate) struct Begun<'a>(&'a PutOff);

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        *lock(&self.0.requests) = None;
    }
}
