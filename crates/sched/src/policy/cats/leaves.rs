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
    waiting: Guarded<Room<T>>,
}

#[derive(Debug)]
struct Room<T> {
    waiting: Vec<Waiting<T>>,
    /// Bytes of the subtrees that run.
    running: u64,
}

impl<T: Copy> Leaves<T> {
    pub(super) fn new(lock: LockId) -> Self {
        Self {
            len: AtomicUsize::new(0),
            waiting: Guarded::new(lock, Room { waiting: Vec::new(), running: 0 }),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len.load(SeqCst) == 0
    }

    pub(super) fn put(&self, leaf: Waiting<T>, env: &mut dyn Env) {
        self.waiting.with(env, |room, _| {
            room.waiting.push(leaf);
            self.len.store(room.waiting.len(), SeqCst);
        });
    }

    /// The next to run here: if none runs, or if it fits into `cache` bytes beside those that do.
    pub(super) fn take(&self, cache: u64, env: &mut dyn Env) -> Option<Waiting<T>> {
        self.waiting.with(env, |room, _| {
            let next = (0..room.waiting.len()).min_by_key(|i| room.waiting[*i].order)?;
            if room.running > 0 && room.running + room.waiting[next].bytes > cache {
                return None;
            }
            let leaf = room.waiting.swap_remove(next);
            room.running += leaf.bytes.max(1);
            self.len.store(room.waiting.len(), SeqCst);
            Some(leaf)
        })
    }

    /// The one that would run here last, if others run here that it must wait for, or nobody is
    /// there to run it (`staffed`).
    pub(super) fn steal(&self, staffed: bool, env: &mut dyn Env) -> Option<Waiting<T>> {
        self.waiting.with(env, |room, _| {
            if staffed && room.running == 0 {
                return None;
            }
            let last = (0..room.waiting.len()).max_by_key(|i| room.waiting[*i].order)?;
            let leaf = room.waiting.swap_remove(last);
            self.len.store(room.waiting.len(), SeqCst);
            Some(leaf)
        })
    }

    /// The first that `accepts` accepts.
    pub(super) fn take_if(
        &self,
        accepts: &dyn Fn(&T) -> bool,
        env: &mut dyn Env,
    ) -> Option<Waiting<T>> {
        if self.is_empty() {
            return None;
        }
        self.waiting.with(env, |room, _| {
            let at = room.waiting.iter().position(|leaf| accepts(&leaf.ready.job))?;
            let leaf = room.waiting.swap_remove(at);
            self.len.store(room.waiting.len(), SeqCst);
            Some(leaf)
        })
    }

    /// A stolen subtree of `bytes` begins here.
    pub(super) fn begin(&self, bytes: u64, env: &mut dyn Env) {
        self.waiting.with(env, |room, _| room.running += bytes.max(1));
    }

    /// A subtree of `bytes` that ran here has ended.
    pub(super) fn end(&self, bytes: u64, env: &mut dyn Env) {
        self.waiting.with(env, |room, _| room.running = room.running.saturating_sub(bytes.max(1)));
    }
}
