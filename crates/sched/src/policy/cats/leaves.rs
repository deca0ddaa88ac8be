//! Subtrees that are bound to a socket and wait there (`cats-s`).

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use crate::{Env, Guarded, LockId, Ready, policy::queue::Accepts};

/// A leaf inter-socket task that waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting<T> {
    pub(super) ready: Ready<T>,
    /// The one with the smallest goes first.
    pub(super) order: i64,
    pub(super) bytes: u64,
}

/// Those of one socket.
#[derive(Debug)]
pub(super) struct Leaves<T> {
    /// A hint, written under the lock.
    len: AtomicUsize,
    waiting: Guarded<Queued<T>>,
}

#[derive(Debug)]
struct Queued<T> {
    waiting: Vec<Waiting<T>>,
    /// Bytes of the subtrees that run.
    running: u64,
}

impl<T: Copy> Leaves<T> {
    pub(super) fn new(lock: LockId) -> Self {
        Self {
            len: AtomicUsize::new(0),
            waiting: Guarded::new(lock, Queued { waiting: Vec::new(), running: 0 }),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len.load(SeqCst) == 0
    }

    pub(super) fn put(&self, leaf: Waiting<T>, env: &mut dyn Env) {
        self.waiting.with(env, |queued, _| {
            queued.waiting.push(leaf);
            self.len.store(queued.waiting.len(), SeqCst);
        });
    }

    /// The next to run here: if none runs, or if it fits into `cache` bytes beside those that do.
    pub(super) fn take(&self, cache: u64, env: &mut dyn Env) -> Option<Waiting<T>> {
        self.waiting.with(env, |queued, _| {
            let next = (0..queued.waiting.len()).min_by_key(|i| queued.waiting[*i].order)?;
            if queued.running > 0 && queued.running + queued.waiting[next].bytes > cache {
                return None;
            }
            let leaf = queued.waiting.swap_remove(next);
            queued.running += leaf.bytes.max(1);
            self.len.store(queued.waiting.len(), SeqCst);
            Some(leaf)
        })
    }

    /// The one that would run here last, if others run here that it must wait for, or nobody is
    /// there to run it (`staffed`).
    pub(super) fn steal(&self, staffed: bool, env: &mut dyn Env) -> Option<Waiting<T>> {
        self.waiting.with(env, |queued, _| {
            if staffed && queued.running == 0 {
                return None;
            }
            let last = (0..queued.waiting.len()).max_by_key(|i| queued.waiting[*i].order)?;
            let leaf = queued.waiting.swap_remove(last);
            self.len.store(queued.waiting.len(), SeqCst);
            Some(leaf)
        })
    }

    /// The first that is accepted.
    pub(super) fn take_accepted(
        &self,
        accepts: Accepts<'_, T>,
        env: &mut dyn Env,
    ) -> Option<Waiting<T>> {
        let accepts = accepts.filter(|_| !self.is_empty())?;
        self.waiting.with(env, |queued, _| {
            let at = queued.waiting.iter().position(|leaf| accepts(&leaf.ready.job))?;
            let leaf = queued.waiting.swap_remove(at);
            self.len.store(queued.waiting.len(), SeqCst);
            Some(leaf)
        })
    }

    /// A stolen subtree of `bytes` begins here.
    pub(super) fn begin(&self, bytes: u64, env: &mut dyn Env) {
        self.waiting.with(env, |queued, _| queued.running += bytes.max(1));
    }

    /// A subtree of `bytes` that ran here has ended.
    pub(super) fn end(&self, bytes: u64, env: &mut dyn Env) {
        self.waiting
            .with(env, |queued, _| queued.running = queued.running.saturating_sub(bytes.max(1)));
    }
}
