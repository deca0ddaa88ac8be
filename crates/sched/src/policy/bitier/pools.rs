//! Where tasks of the two tiers wait.

use std::{
    fmt::Debug,
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
};

use befit_machine::WorkerId;
use crossbeam_utils::CachePadded;

use super::Sockets;
use crate::{Env, LockId, Ready, policy::queue::Queue};

/// An inter-socket pool per socket, an intra-socket pool per worker.
#[derive(Debug)]
pub(in super::super) struct Pools<T> {
    intra: Vec<CachePadded<Queue<T>>>,
    inter: Vec<CachePadded<Queue<T>>>,
    /// Per socket: intra-socket subtrees that have begun and not ended.
    running: Vec<CachePadded<AtomicUsize>>,
}

impl<T: Copy + Send + Debug> Pools<T> {
    /// Its locks are named from `first_lock` on; answers the first that is free.
    pub(in super::super) fn new(sockets: &Sockets, workers: usize, first_lock: u32) -> (Self, u32) {
        let queues = |from: u32, count: usize| {
            (0..count as u32)
                .map(|i| CachePadded::new(Queue::new(LockId(from + i))))
                .collect::<Vec<_>>()
        };
        let first_inter = first_lock + workers as u32;
        let pools = Self {
            intra: queues(first_lock, workers),
            inter: queues(first_inter, sockets.count()),
            running: (0..sockets.count()).map(|_| CachePadded::new(AtomicUsize::new(0))).collect(),
        };
        (pools, first_inter + sockets.count() as u32)
    }

    /// Into worker `w`'s own pool; or, if it stands outside `socket`, where the task belongs, the
    /// pool of that one's first worker.
    pub(in super::super) fn add_intra(
        &self,
        sockets: &Sockets,
        w: WorkerId,
        socket: usize,
        ready: Ready<T>,
        env: &mut dyn Env,
    ) {
        let at = if sockets.of(w) == socket {
            w.index()
        } else {
            sockets.workers(socket).start as usize
        };
        self.intra[at].push_new(ready, env);
    }

    pub(in super::super) fn add_inter(&self, socket: usize, ready: Ready<T>, env: &mut dyn Env) {
        self.inter[socket].push_new(ready, env);
    }

    /// The worker's own newest intra-socket task, else the oldest of another of its socket, from a
    /// random one on.
    pub(in super::super) fn get_intra(
        &self,
        sockets: &Sockets,
        w: WorkerId,
        env: &mut dyn Env,
    ) -> Option<Ready<T>> {
        if let Some(ready) = self.intra[w.index()].pop_new(env) {
            return Some(ready);
        }
        let near = sockets.workers(sockets.of(w));
        if self.intra_is_empty(sockets, sockets.of(w)) {
            return None;
        }
        let count = near.len() as u32;
        let start = env.random(count);
        let others = (0..count).map(|i| near.start + (start + i) % count).filter(|v| *v != w.0);
        others.into_iter().find_map(|v| self.steal(&self.intra[v as usize], WorkerId(v), env))
    }

    /// The newest inter-socket task of the worker's own socket.
    pub(in super::super) fn get_inter(&self, socket: usize, env: &mut dyn Env) -> Option<Ready<T>> {
        self.inter[socket].pop_new(env)
    }

    /// The oldest inter-socket task of another socket, from a random one on.
    pub(in super::super) fn steal_inter(
        &self,
        sockets: &Sockets,
        socket: usize,
        env: &mut dyn Env,
    ) -> Option<Ready<T>> {
        if self.inter.iter().all(|queue| queue.seems_empty()) {
            return None;
        }
        let count = self.inter.len();
        let start = env.random(count as u32) as usize;
        let others = (0..count).map(|i| (start + i) % count).filter(|s| *s != socket);
        others
            .into_iter()
            .find_map(|s| self.steal(&self.inter[s], WorkerId(sockets.workers(s).start), env))
    }

    /// Whatever `accepts` accepts, wherever it waits: a worker that may take nothing else must find
    /// it.
    pub(in super::super) fn get_if(
        &self,
        w: WorkerId,
        accepts: &dyn Fn(&T) -> bool,
        env: &mut dyn Env,
    ) -> Option<Ready<T>> {
        let own = self.intra[w.index()].take_new(accepts, env);
        let others = || self.intra.iter().chain(&self.inter);
        own.or_else(|| others().find_map(|queue| queue.take_old(accepts, env)))
    }

    fn steal(&self, queue: &Queue<T>, victim: WorkerId, env: &mut dyn Env) -> Option<Ready<T>> {
        let found = queue.pop_old(env);
        env.steal(victim, found.is_some());
        found
    }

    /// Whether no intra-socket task waits on the socket.
    pub(in super::super) fn intra_is_empty(&self, sockets: &Sockets, socket: usize) -> bool {
        sockets.workers(socket).all(|w| self.intra[w as usize].seems_empty())
    }

    /// Whether something waits that `w` finds without stealing.
    pub(in super::super) fn has_own(&self, sockets: &Sockets, w: WorkerId) -> bool {
        !self.intra[w.index()].seems_empty() || !self.inter[sockets.of(w)].seems_empty()
    }

    /// A subtree begins on the socket.
    pub(in super::super) fn begin(&self, socket: usize) {
        self.running[socket].fetch_add(1, SeqCst);
    }

    /// A subtree of the socket has ended.
    pub(in super::super) fn end(&self, socket: usize) {
        self.running[socket].fetch_sub(1, SeqCst);
    }

    /// How many subtrees run on the socket.
    pub(in super::super) fn running(&self, socket: usize) -> usize {
        self.running[socket].load(SeqCst)
    }
}
