//! What is ready, on the workers that it belongs to.

use std::{fmt::Debug, ops::Range};

use befit_machine::WorkerId;

use crate::{
    Ask, Env, Handle, LockId, Ready,
    policy::queue::{Accepts, Queue, others},
};

/// The queues of all workers.
#[derive(Debug)]
pub(super) struct Queues<T> {
    /// Per worker: what was forked there.
    own: Vec<Queue<T>>,
    /// Per worker: what was sent there and reaches no further.
    sent: Vec<Queue<T>>,
    /// Per worker: what reaches from there over several workers. Thieves may not have it, and need
    /// not take a lock to see so.
    wide: Vec<Queue<T>>,
    /// Tasks that begin a computation.
    roots: Queue<T>,
}

impl<T: Handle> Queues<T> {
    /// They use the locks below 3 × `workers` + 1.
    pub(super) fn new(workers: u32) -> Self {
        let queues = |from: u32| (from..from + workers).map(|i| Queue::new(LockId(i))).collect();
        Self {
            own: queues(0),
            sent: queues(workers),
            wide: queues(2 * workers),
            roots: Queue::new(LockId(3 * workers)),
        }
    }

    pub(super) fn workers(&self) -> u32 {
        self.own.len() as u32
    }

    /// A computation begins.
    pub(super) fn add_root(&self, ready: Ready<T>, env: &mut dyn Env) {
        self.roots.push_new(ready, env);
    }

    /// `ready`, which was forked on `w`, belongs to worker `owner`. Returns whether it is sent
    /// there.
    pub(super) fn add(
        &self,
        w: usize,
        owner: usize,
        is_wide: bool,
        ready: Ready<T>,
        env: &mut dyn Env,
    ) -> bool {
        let queues = match is_wide {
            true => &self.wide,
            false if owner != w => &self.sent,
            false => &self.own,
        };
        queues[owner].push_new(ready, env);
        is_wide || owner != w
    }

    /// The next of `w`: what reaches over several workers before all else, then the newest that was
    /// forked there, what was sent there, a computation.
    pub(super) fn next(&self, w: usize, ask: &Ask<'_, T>, env: &mut dyn Env) -> Option<Ready<T>> {
        self.wide[w]
            .pop_old(ask.accepts, env)
            .or_else(|| self.own[w].next(ask, env))
            .or_else(|| self.sent[w].pop_old(ask.accepts, env))
            .or_else(|| self.roots.pop_old(ask.accepts, env))
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
            let sent = own.or_else(|| self.sent[victim].pop_old(accepts, env));
            sent.or_else(|| self.wide[victim].pop_old(accepts, env))
        })
    }

    /// Whether there is something for `w`, apart from what it may steal.
    pub(super) fn have(&self, w: usize) -> bool {
        let all = [&self.own[w], &self.sent[w], &self.wide[w], &self.roots];
        all.iter().any(|queue| !queue.seems_empty())
    }

    /// Whether there is something that may be stolen of `w`.
    pub(super) fn may_lose(&self, w: usize) -> bool {
        [&self.own[w], &self.sent[w]].iter().any(|queue| !queue.seems_empty())
    }
}
