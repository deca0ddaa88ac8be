//! What an idle worker takes.

use std::sync::atomic::Ordering::SeqCst;

use befit_machine::{ClusterId, WorkerId};

use super::{Cats, Mark, Place, Tier};
use crate::{Ask, Env, Handle, Ready, Scheduler, policy::queue::others};

impl<T: Handle> Cats<T> {
    /// CATS, task stealing: from the intra-socket pools of its socket, its own first; from
    /// inter-socket pools, its own first, only the head core, and only if nothing of a subtree is
    /// left on its socket.
    pub(super) fn find(&self, w: WorkerId, ask: Ask<'_, T>, env: &mut dyn Env) -> Option<Ready<T>> {
        if let Some(ready) = self.pools.get_intra(w, &ask, env) {
            return Some(ready);
        }
        let socket = self.pools.sockets.of(w);
        if self.pools.may_begin(w)
            && let Some(ready) = self.pools.get_inter(socket, &ask, env)
        {
            return Some(self.begin(socket, ready, 0, env));
        }
        self.plain.get(w, ask, env)
    }

    /// `cats-s`: the upper tier first; then subtrees that run on its socket; then those that are
    /// bound to it; then one that a busy socket has waiting.
    pub(super) fn find_sticky(
        &self,
        w: WorkerId,
        ask: Ask<'_, T>,
        env: &mut dyn Env,
    ) -> Option<Ready<T>> {
        let sockets = &self.pools.sockets;
        let socket = sockets.of(w);
        let inter = self.pools.get_inter(socket, &ask, env);
        let found = inter.or_else(|| self.pools.get_intra(w, &ask, env));
        if found.is_some() {
            return found;
        }
        if self.unexpanded.load(SeqCst) == 0
            && !self.leaves[socket].is_empty()
            && let Some(leaf) = self.leaves[socket].take(sockets.cache, env)
        {
            return Some(self.begin(socket, leaf.ready, leaf.bytes, env));
        }
        if let Some(ready) = self.plain.get(w, ask, env) {
            return Some(ready);
        }
        if self.unexpanded.load(SeqCst) > 0
            || !self.leaves[socket].is_empty()
            || self.pools.running(socket) > 0
        {
            return None;
        }
        let victims = others(0..self.leaves.len(), socket, env);
        for victim in victims.filter(|s| !self.leaves[*s].is_empty()) {
            let found = self.leaves[victim].steal(sockets.head(victim).is_some(), env);
            env.steal(WorkerId(sockets.workers(victim).start), found.is_some());
            if let Some(leaf) = found {
                self.leaves[socket].begin(leaf.bytes, env);
                return Some(self.begin(socket, leaf.ready, leaf.bytes, env));
            }
        }
        None
    }

    /// What is found without stealing: in the worker's own queues, and in the upper tier's pool of
    /// its socket as far as it may take from there.
    pub(super) fn find_own(
        &self,
        w: WorkerId,
        ask: Ask<'_, T>,
        env: &mut dyn Env,
    ) -> Option<Ready<T>> {
        let anywhere = ask.within == ClusterId::ROOT || ask.accepts.is_some();
        let plain = if anywhere { self.plain.get(w, ask, env) } else { None };
        let found = plain.or_else(|| self.pools.own_intra(w, &ask, env));
        if found.is_some() || !anywhere || !(self.sticky || self.pools.may_begin(w)) {
            return found;
        }
        let socket = self.pools.sockets.of(w);
        let ready = self.pools.own_inter(socket, &ask, env)?;
        Some(self.begin(socket, ready, 0, env))
    }

    /// What `accepts` accepts, wherever it waits and whatever the tiers say: a worker that asks
    /// like this may take nothing else.
    pub(super) fn find_accepted(
        &self,
        w: WorkerId,
        accepts: &dyn Fn(&T) -> bool,
        ask: Ask<'_, T>,
        env: &mut dyn Env,
    ) -> Option<Ready<T>> {
        // Most that is waited for while all is measured.
        let own = self.plain.get(w, Ask { own_only: true, ..ask }, env);
        if own.is_some() {
            return own;
        }
        let socket = self.pools.sockets.of(w);
        if let Some(ready) = self.pools.get_accepted(w, &ask, env) {
            return Some(self.begin(socket, ready, 0, env));
        }
        for leaves in &self.leaves {
            if let Some(leaf) = leaves.take_accepted(accepts, env) {
                self.leaves[socket].begin(leaf.bytes, env);
                return Some(self.begin(socket, leaf.ready, leaf.bytes, env));
            }
        }
        self.plain.get(w, ask, env)
    }

    /// What may begin anywhere, whatever the tiers say: the subtrees that run may wait for it.
    pub(super) fn find_stalled(
        &self,
        w: WorkerId,
        ask: Ask<'_, T>,
        env: &mut dyn Env,
    ) -> Option<Ready<T>> {
        let socket = self.pools.sockets.of(w);
        if let Some(ready) = self.pools.get_inter(socket, &ask, env) {
            return Some(self.begin(socket, ready, 0, env));
        }
        let leaf = self.leaves.iter().find_map(|leaves| leaves.take_accepted(&|_| true, env))?;
        self.leaves[socket].begin(leaf.bytes, env);
        Some(self.begin(socket, leaf.ready, leaf.bytes, env))
    }

    /// Marks that `ready`, from the upper tier, begins on `socket`: a leaf inter-socket task is
    /// bound to it from now on.
    fn begin(&self, socket: usize, mut ready: Ready<T>, bytes: u64, env: &mut dyn Env) -> Ready<T> {
        let mark = Mark::of(ready.task.mark);
        if mark.tier != Tier::Leaf {
            return ready;
        }
        ready.task.anchor = self.pools.sockets.cluster(socket);
        self.pools.begin(socket);
        self.known.with(env, |known, _| {
            let node = known.table.node_mut(mark.slot);
            let last = node.ran_on.replace((socket as u32, bytes));
            if let Some(Place::Leaf { socket: Some(bound), .. }) = &mut node.place {
                *bound = socket as u32;
            }
            known.tiers.ran += 1;
            known.tiers.moved += u64::from(last.is_some_and(|(last, _)| last != socket as u32));
        });
        ready
    }
}
