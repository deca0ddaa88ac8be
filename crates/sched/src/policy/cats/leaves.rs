//! Subtrees that are bound to a socket and wait there (`cats-s`).

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
};

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
    /// By the order in which they run; of one order, as those that were not there when the tree was
    /// cut, by the number in which they came.
    waiting: BTreeMap<(i64, u64), Waiting<T>>,
    /// The number of the next.
    next: u64,
    /// Bytes of the subtrees that run, and their number. Of one that ends the bytes are those that
    /// its place in the table last ran with: where two computations use it at once, not what it
    /// began with.
    running: u64,
    count: u64,
}

impl<T> Queued<T> {
    /// A subtree of `bytes` begins.
    fn begin(&mut self, bytes: u64) {
        self.running = self.running.saturating_add(bytes.max(1));
        self.count += 1;
    }
}

impl<T: Copy> Leaves<T> {
    pub(super) fn new(lock: LockId) -> Self {
        let queued = Queued { waiting: BTreeMap::new(), next: 0, running: 0, count: 0 };
        Self { len: AtomicUsize::new(0), queued: Guarded::new(lock, queued) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len.load(SeqCst) == 0
    }

    pub(super) fn put(&self, leaf: Waiting<T>, env: &mut dyn Env) {
        self.queued.with(env, |queued, _| {
            queued.waiting.insert((leaf.order, queued.next), leaf);
            queued.next += 1;
            self.len.store(queued.waiting.len(), SeqCst);
        });
    }

    /// The next to run here: if none runs, or if it fits into `cache` bytes beside those that do.
    pub(super) fn take(&self, cache: u64, env: &mut dyn Env) -> Option<Waiting<T>> {
        self.take_by(env, |queued| {
            let (&next, &Waiting { bytes, .. }) = queued.waiting.first_key_value()?;
            let may_begin = queued.running == 0 || queued.running.saturating_add(bytes) <= cache;
            may_begin.then(|| {
                queued.begin(bytes);
                next
            })
        })
    }

    /// The one that would run here last, if it must wait for others that run here, or if no worker
    /// is there to run it (`staffed`).
    pub(super) fn steal(&self, staffed: bool, env: &mut dyn Env) -> Option<Waiting<T>> {
        self.take_by(env, |queued| {
            let (&last, _) = queued.waiting.last_key_value()?;
            (!staffed || queued.running > 0).then_some(last)
        })
    }

    /// The first in order that is accepted.
    pub(super) fn take_accepted(
        &self,
        accepts: &dyn Fn(&T) -> bool,
        env: &mut dyn Env,
    ) -> Option<Waiting<T>> {
        if self.is_empty() {
            return None;
        }
        self.take_by(env, |queued| {
            let mut waiting = queued.waiting.iter();
            waiting.find(|(_, leaf)| accepts(&leaf.ready.job)).map(|(at, _)| *at)
        })
    }

    /// Takes the one at the place that `find` returns.
    fn take_by(
        &self,
        env: &mut dyn Env,
        find: impl FnOnce(&mut Queued<T>) -> Option<(i64, u64)>,
    ) -> Option<Waiting<T>> {
        self.queued.with(env, |queued, _| {
            let at = find(queued)?;
            let leaf = queued.waiting.remove(&at)?;
            self.len.store(queued.waiting.len(), SeqCst);
            Some(leaf)
        })
    }

    /// A stolen subtree of `bytes` begins here.
    pub(super) fn begin(&self, bytes: u64, env: &mut dyn Env) {
        self.queued.with(env, |queued, _| queued.begin(bytes));
    }

    /// A subtree of `bytes` that ran here has ended.
    pub(super) fn end(&self, bytes: u64, env: &mut dyn Env) {
        self.queued.with(env, |queued, _| {
            queued.count = queued.count.saturating_sub(1);
            let left = queued.running.saturating_sub(bytes.max(1));
            // As much as runs: nothing, or a byte for each at least.
            queued.running = if queued.count == 0 { 0 } else { left.max(queued.count) };
        });
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
    fn regression_what_ends_with_other_bytes_than_it_began_with_leaves_nothing_running() {
        let (leaves, mut env) = leaves(&[(1, 1, 10), (2, 2, 10)]);
        leaves.begin(90, &mut env);
        leaves.begin(40, &mut env);
        leaves.end(200, &mut env);
        assert_eq!(job(leaves.steal(true, &mut env)), Some(2), "the other one runs on");
        leaves.end(40, &mut env);
        leaves.begin(300, &mut env);
        leaves.end(40, &mut env);
        assert_eq!(job(leaves.steal(true, &mut env)), None, "its own workers can begin it");
        assert_eq!(job(leaves.take(10, &mut env)), Some(1));
    }

    #[test]
    fn one_that_is_accepted_is_taken_out_of_turn() {
        let (leaves, mut env) = leaves(&[(1, 5, 10), (2, 9, 10), (3, 7, 10)]);
        assert_eq!(job(leaves.take_accepted(&|job| *job > 1, &mut env)), Some(3));
        assert_eq!(job(leaves.take_accepted(&|job| *job == 3, &mut env)), None);
        assert_eq!(job(leaves.take_accepted(&|_| true, &mut env)), Some(1));
        assert_eq!(job(leaves.take(100, &mut env)), Some(2));
        assert_eq!(job(leaves.take_accepted(&|_| true, &mut env)), None);
    }

    #[test]
    fn regression_many_of_one_order_begin_in_turn_without_a_search() {
        // Each look went through all of them: hours for these.
        let many = 500_000;
        let waiting: Vec<_> = (0..many).map(|job| (job, i64::from(u32::MAX), 1)).collect();
        let (leaves, mut env) = leaves(&waiting);
        assert_eq!(job(leaves.steal(false, &mut env)), Some(many - 1));
        assert!((0..many - 1).all(|next| job(leaves.take(u64::MAX, &mut env)) == Some(next)));
        assert!(leaves.is_empty());
    }
}
