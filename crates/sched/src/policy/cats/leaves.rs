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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{QuietEnv, Stage, TaskInfo};

    /// Those that wait, each with its job, its order and its bytes.
    fn leaves(waiting: &[(u32, i64, u64)]) -> (Leaves<u32>, QuietEnv) {
        let (leaves, mut env) = (Leaves::new(LockId(0)), QuietEnv(fastrand::Rng::with_seed(1)));
        assert!(leaves.is_empty());
        for &(job, order, bytes) in waiting {
            let ready = Ready { job, task: TaskInfo::root(None, None), stage: Stage::Start };
            leaves.put(Waiting { ready, order, bytes }, &mut env);
            assert!(!leaves.is_empty());
        }
        (leaves, env)
    }

    fn job(leaf: Option<Waiting<u32>>) -> Option<u32> {
        leaf.map(|leaf| leaf.ready.job)
    }

    #[test]
    fn the_next_in_order_begins_alone_or_if_it_fits_beside_those_that_run() {
        let (leaves, mut env) = leaves(&[(1, 5, 70), (2, -1, 300), (3, 9, 30), (4, 10, 0)]);
        assert_eq!(job(leaves.take(100, &mut env)), Some(2), "larger than the cache, but alone");
        assert_eq!(job(leaves.take(100, &mut env)), None);
        leaves.end(300, &mut env);
        assert_eq!(job(leaves.take(100, &mut env)), Some(1));
        assert_eq!(job(leaves.take(99, &mut env)), None, "nor does the one behind it");
        assert_eq!(job(leaves.take(100, &mut env)), Some(3));
        assert_eq!(job(leaves.take(100, &mut env)), Some(4));
        assert!(leaves.is_empty());
        assert_eq!(job(leaves.take(100, &mut env)), None);
    }

    #[test]
    fn one_of_which_no_bytes_are_known_runs_all_the_same() {
        let (leaves, mut env) = leaves(&[(1, 0, 0), (2, 1, 500)]);
        assert_eq!(job(leaves.take(100, &mut env)), Some(1));
        assert_eq!(job(leaves.take(100, &mut env)), None, "it is not alone");
        leaves.end(0, &mut env);
        assert_eq!(job(leaves.take(100, &mut env)), Some(2));
    }

    #[test]
    fn the_last_in_order_is_stolen_where_it_must_wait() {
        let (leaves, mut env) = leaves(&[(1, 5, 10), (2, 9, 10), (3, 7, 10)]);
        assert_eq!(job(leaves.steal(true, &mut env)), None, "its own workers can begin it");
        assert_eq!(job(leaves.steal(false, &mut env)), Some(2));
        leaves.begin(0, &mut env);
        assert_eq!(job(leaves.steal(true, &mut env)), Some(3));
        leaves.end(0, &mut env);
        assert_eq!(job(leaves.steal(true, &mut env)), None);
        assert_eq!(job(leaves.steal(false, &mut env)), Some(1));
        assert_eq!(job(leaves.steal(false, &mut env)), None);
    }

    #[test]
    fn one_that_is_accepted_is_taken_out_of_turn() {
        let (leaves, mut env) = leaves(&[(1, 5, 10), (2, 9, 10), (3, 7, 10)]);
        assert_eq!(job(leaves.take_accepted(&|job| *job > 1, &mut env)), Some(2));
        assert_eq!(job(leaves.take_accepted(&|job| *job == 2, &mut env)), None);
        assert_eq!(job(leaves.take_accepted(&|_| true, &mut env)), Some(1));
        assert_eq!(job(leaves.take(100, &mut env)), Some(3));
        assert_eq!(job(leaves.take_accepted(&|_| true, &mut env)), None);
    }
}
