//! What is ready, on the workers that it belongs to.

use std::{fmt::Debug, ops::Range};

use befit_machine::WorkerId;

use crate::{
    Env, Handle, LockId, Ready,
    policy::queue::{Accepts, Queue, others},
};

/// The queues of all workers.
#[derive(Debug)]
pub(super) struct Queues<T> {
    /// Per worker: what was forked there.
    own: Vec<Queue<T>>,
    /// Per worker: what has a range that begins there.
    sent: Vec<Queue<T>>,
    /// Tasks that begin a computation.
    roots: Queue<T>,
}

impl<T: Handle> Queues<T> {
    /// They use the locks below 2 × `workers` + 1.
    pub(super) fn new(workers: u32) -> Self {
        let queues = |from: u32| (from..from + workers).map(|i| Queue::new(LockId(i))).collect();
        Self { own: queues(0), sent: queues(workers), roots: Queue::new(LockId(2 * workers)) }
    }

    pub(super) fn workers(&self) -> u32 {
        self.own.len() as u32
    }

    /// A computation begins.
    pub(super) fn add_root(&self, ready: Ready<T>, env: &mut dyn Env) {
        self.roots.push_new(ready, env);
    }

    /// `ready` belongs to worker `owner`; it was sent there, or forked there.
    pub(super) fn add(&self, owner: usize, is_sent: bool, ready: Ready<T>, env: &mut dyn Env) {
        let queues = if is_sent { &self.sent } else { &self.own };
        queues[owner].push_new(ready, env);
    }

    /// The next of `w`: what reaches over several workers before all else, then the newest that was
    /// forked there, what was sent there, a computation.
    pub(super) fn next(
        &self,
        w: usize,
        accepts: Accepts<'_, T>,
        is_wide: impl Fn(&Ready<T>) -> bool,
        env: &mut dyn Env,
    ) -> Option<Ready<T>> {
        let accepted = |ready: &Ready<T>| accepts.is_none_or(|accepts| accepts(&ready.job));
        let first = |ready: &Ready<T>| is_wide(ready) && accepted(ready);
        self.sent[w]
            .pop(env, |all| all.remove(all.iter().position(first)?))
            .or_else(|| self.own[w].newest(accepts, env))
            .or_else(|| self.sent[w].pop_old(accepts, env))
            .or_else(|| self.roots.pop_old(accepts, env))
    }

    /// Of what `victims` have and `w` may take: the last that was sent there, the oldest that was
    /// forked there.
    pub(super) fn steal(
        &self,
        w: usize,
        victims: Range<usize>,
        may: impl Fn(&Ready<T>) -> bool,
        env: &mut dyn Env,
    ) -> Option<Ready<T>> {
        others(victims, w, env).find_map(|victim| {
            let sent = self.sent[victim].pop(env, |all| all.remove(all.iter().rposition(&may)?));
            let found = sent.or_else(|| {
                self.own[victim].pop(env, |all| all.remove(all.iter().position(&may)?))
            });
            env.steal(WorkerId(victim as u32), found.is_some());
            found
        })
    }

    /// Whatever another worker than `w` has.
    pub(super) fn any(
        &self,
        w: usize,
        accepts: Accepts<'_, T>,
        env: &mut dyn Env,
    ) -> Option<Ready<T>> {
        others(0..self.own.len(), w, env).find_map(|victim| {
            let own = self.own[victim].pop_old(accepts, env);
            own.or_else(|| self.sent[victim].pop_old(accepts, env))
        })
    }

    /// Whether there is something for `w`, apart from what it may steal.
    pub(super) fn have(&self, w: usize) -> bool {
        [&self.own[w], &self.sent[w], &self.roots].iter().any(|queue| !queue.seems_empty())
    }
}
