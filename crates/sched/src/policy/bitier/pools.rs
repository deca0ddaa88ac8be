//! Where tasks of the two tiers wait.

use std::{
    fmt::Debug,
    ops::Range,
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
};

use befit_machine::WorkerId;
use crossbeam_utils::CachePadded;

use super::Sockets;
use crate::{
    Ask, Env, Handle, LockId, Ready,
    policy::queue::{Queue, others},
};

/// An inter-socket pool per socket, an intra-socket pool per worker.
#[derive(Debug)]
pub(in crate::policy) struct Pools<T> {
    pub(in crate::policy) sockets: Sockets,
    intra: Vec<Queue<T>>,
    inter: Vec<Queue<T>>,
    /// Per socket: intra-socket subtrees that have begun and not ended.
    running: Vec<CachePadded<AtomicUsize>>,
}

impl<T: Handle> Pools<T> {
    /// Its locks are named from `first_lock` on. Returns the first lock that is free, too.
    pub(in crate::policy) fn new(sockets: Sockets, workers: u32, first_lock: u32) -> (Self, u32) {
        let queues =
            |locks: Range<u32>| locks.map(|lock| Queue::new(LockId(lock))).collect::<Vec<_>>();
        let first_inter = first_lock + workers;
        let end = first_inter + sockets.count() as u32;
        let pools = Self {
            intra: queues(first_lock..first_inter),
            inter: queues(first_inter..end),
            running: (0..sockets.count()).map(|_| CachePadded::default()).collect(),
            sockets,
        };
        (pools, end)
    }

    /// Into worker `w`'s own pool; or, if it stands outside the socket that `ready` is bound to,
    /// the pool of that one's first worker.
    pub(in crate::policy) fn add_intra(&self, w: WorkerId, ready: Ready<T>, env: &mut dyn Env) {
        let socket = self.sockets.of_task(&ready.task, w);
        let first = self.sockets.workers(socket).start as usize;
        let at = if self.sockets.of(w) == socket { w.index() } else { first };
        self.intra[at].push_new(ready, env);
    }

    /// Into the inter-socket pool of `w`'s socket.
    pub(in crate::policy) fn add_inter(&self, w: WorkerId, ready: Ready<T>, env: &mut dyn Env) {
        self.inter[self.sockets.of(w)].push_new(ready, env);
    }

    /// An intra-socket task: the worker's own newest, else the oldest of another of its socket.
    pub(in crate::policy) fn get_intra(
        &self,
        w: WorkerId,
        ask: &Ask<'_, T>,
        env: &mut dyn Env,
    ) -> Option<Ready<T>> {
        let near = self.sockets.workers(self.sockets.of(w));
        let near = near.start as usize..near.end as usize;
        take(&self.intra, w.index(), near, |v| v as u32, ask.as_thief, env)
    }

    /// The worker's own newest intra-socket task.
    pub(in crate::policy) fn own_intra(
        &self,
        w: WorkerId,
        ask: &Ask<'_, T>,
        env: &mut dyn Env,
    ) -> Option<Ready<T>> {
        self.intra[w.index()].next(ask, env)
    }

    /// The newest inter-socket task of `socket`.
    pub(in crate::policy) fn own_inter(
        &self,
        socket: usize,
        ask: &Ask<'_, T>,
        env: &mut dyn Env,
    ) -> Option<Ready<T>> {
        self.inter[socket].next(ask, env)
    }

    /// An inter-socket task: the newest of the worker's own socket, else the oldest of another.
    pub(in crate::policy) fn get_inter(
        &self,
        socket: usize,
        ask: &Ask<'_, T>,
        env: &mut dyn Env,
    ) -> Option<Ready<T>> {
        let first = |socket| self.sockets.workers(socket).start;
        take(&self.inter, socket, 0..self.inter.len(), first, ask.as_thief, env)
    }

    /// Whatever is accepted, wherever it waits: a worker that may take nothing else must find it.
    pub(in crate::policy) fn get_accepted(
        &self,
        w: WorkerId,
        ask: &Ask<'_, T>,
        env: &mut dyn Env,
    ) -> Option<Ready<T>> {
        let own = self.intra[w.index()].next(ask, env);
        let others = || self.intra.iter().chain(&self.inter);
        own.or_else(|| others().find_map(|queue| queue.pop_old(ask.accepts, env)))
    }

    /// Whether no intra-socket task waits on the socket.
    fn intra_is_empty(&self, socket: usize) -> bool {
        self.sockets.workers(socket).all(|w| self.intra[w as usize].seems_empty())
    }

    /// Whether `w` may take a subtree as CAB and CATS have it: the head core only, and only if
    /// nothing of a subtree is left on its socket.
    pub(in crate::policy) fn may_begin(&self, w: WorkerId) -> bool {
        let socket = self.sockets.of(w);
        self.sockets.head(socket).is_none_or(|head| head == w)
            && self.running(socket) == 0
            && self.intra_is_empty(socket)
    }

    /// Whether something waits that `w` finds without stealing.
    pub(in crate::policy) fn has_own(&self, w: WorkerId) -> bool {
        !self.intra[w.index()].seems_empty() || !self.inter[self.sockets.of(w)].seems_empty()
    }

    /// A subtree begins on the socket.
    pub(in crate::policy) fn begin(&self, socket: usize) {
        self.running[socket].fetch_add(1, SeqCst);
    }

    /// A subtree of the socket has ended.
    pub(in crate::policy) fn end(&self, socket: usize) {
        self.running[socket].fetch_sub(1, SeqCst);
    }

    /// How many subtrees run on the socket.
    pub(in crate::policy) fn running(&self, socket: usize) -> usize {
        self.running[socket].load(SeqCst)
    }
}

/// The newest of queue `own` (the oldest, `as_thief`), else the oldest of another of the queues
/// `among`, from a random one on. `victim` says which worker is stolen from.
fn take<T: Handle>(
    queues: &[Queue<T>],
    own: usize,
    among: Range<usize>,
    victim: impl Fn(usize) -> u32,
    as_thief: bool,
    env: &mut dyn Env,
) -> Option<Ready<T>> {
    let found = if as_thief { queues[own].pop_old(None, env) } else { queues[own].pop_new(env) };
    if found.is_some() || queues[among.clone()].iter().all(|queue| queue.seems_empty()) {
        return found;
    }
    others(among, own, env).find_map(|i| {
        let found = queues[i].pop_old(None, env);
        env.steal(WorkerId(victim(i)), found.is_some());
        found
    })
}
