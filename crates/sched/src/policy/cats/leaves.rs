//! Subtrees that are bound to a socket and wait there (`cats-s`).

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use crate::{Env, Guarded, LockId, Ready};

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
    queued: Guarded<Queued<T>>,
}

#[derive(Debug)]
struct Queued<T> {
    waiting: Vec<Waiting<T>>,
    /// Bytes of the subtrees that run.
    running: u64,
}

impl<T: Copy> Leaves<T> {
    pub(super) fn new(lock: LockId) -> Self {
        let queued = Queued { waiting: Vec::new(), running: 0 };
        Self { len: AtomicUsize::new(0), queued: Guarded::new(lock, queued) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len.load(SeqCst) == 0
    }

    pub(super) fn put(&self, leaf: Waiting<T>, env: &mut dyn Env) {
        self.queued.with(env, |queued, _| {
            queued.waiting.push(leaf);
            self.len.store(queued.waiting.len(), SeqCst);
        });
    }

    /// The next to run here: if none runs, or if it fits into `cache` bytes beside those that do.
    pub(super) fn take(&self, cache: u64, env: &mut dyn Env) -> Option<Waiting<T>> {
        self.take_by(env, |queued| {
            let next = (0..queued.waiting.len()).min_by_key(|i| queued.waiting[*i].order)?;
            let bytes = queued.waiting[next].bytes;
            let may_begin = queued.running == 0 || queued.running.saturating_add(bytes) <= cache;
            may_begin.then(|| {
                queued.running = queued.running.saturating_add(bytes.max(1));
                next
            })
        })
    }

    /// The one that would run here last, if it must wait for others that run here, or if no worker
    /// is there to run it (`staffed`).
    pub(super) fn steal(&self, staffed: bool, env: &mut dyn Env) -> Option<Waiting<T>> {
        self.take_by(env, |queued| {
            let last = (0..queued.waiting.len()).max_by_key(|i| queued.waiting[*i].order)?;
            (!staffed || queued.running > 0).then_some(last)
        })
    }

    /// The first that is accepted.
    pub(super) fn take_accepted(
        &self,
        accepts: &dyn Fn(&T) -> bool,
        env: &mut dyn Env,
    ) -> Option<Waiting<T>> {
        if self.is_empty() {
            return None;
        }
        self.take_by(env, |queued| queued.waiting.iter().position(|leaf| accepts(&leaf.ready.job)))
    }

    /// Takes the one at the place that `find` returns.
    fn take_by(
        &self,
        env: &mut dyn Env,
        find: impl FnOnce(&mut Queued<T>) -> Option<usize>,
    ) -> Option<Waiting<T>> {
        self.queued.with(env, |queued, _| {
            let at = find(queued)?;
            let leaf = queued.waiting.swap_remove(at);
            self.len.store(queued.waiting.len(), SeqCst);
            Some(leaf)
        })
    }

    /// A stolen subtree of `bytes` begins here.
    pub(super) fn begin(&self, bytes: u64, env: &mut dyn Env) {
        let begin = |running: u64| running.saturating_add(bytes.max(1));
        self.queued.with(env, |queued, _| queued.running = begin(queued.running));
    }

    /// A subtree of `bytes` that ran here has ended.
    pub(super) fn end(&self, bytes: u64, env: &mut dyn Env) {
        let end = |running: u64| running.saturating_sub(bytes.max(1));
        self.queued.with(env, |queued, _| queued.running = end(queued.running));
    }
}
