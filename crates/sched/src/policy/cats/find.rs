//! What an idle worker takes.

use std::{fmt::Debug, sync::atomic::Ordering};

use befit_machine::WorkerId;

use super::{Cats, Mark, Place, Tier, Upper};
use crate::{Env, Ready, Scheduler};

impl<T: Copy + Send + Debug> Cats<T> {
    /// CATS, task stealing: from the intra-socket pools of its socket, its own first; from
    /// inter-socket pools, its own first, only the head core, and only if nothing of a subtree is
    /// left on its socket.
    pub(super) fn find(
        &self,
        upper: &Upper<T>,
        w: WorkerId,
        env: &mut dyn Env,
    ) -> Option<Ready<T>> {
        let socket = upper.sockets.of(w);
        if let Some(ready) = upper.pools.get_intra(&upper.sockets, w, env) {
            return Some(ready);
        }
        let may_begin = upper.sockets.is_head(w) && upper.pools.running(socket) == 0;
        if may_begin && upper.pools.intra_is_empty(&upper.sockets, socket) {
            let found = upper.pools.get_inter(socket, env);
            if let Some(ready) =
                found.or_else(|| upper.pools.steal_inter(&upper.sockets, socket, env))
            {
                return Some(self.begin(upper, socket, ready, 0, env));
            }
        }
        self.plain.get(w, env)
    }

    /// `cats-s`: the upper tier first; then subtrees that run on its socket; then those that are
    /// bound to it; then one that a busy socket has waiting.
    pub(super) fn find_sticky(
        &self,
        upper: &Upper<T>,
        w: WorkerId,
        env: &mut dyn Env,
    ) -> Option<Ready<T>> {
        let socket = upper.sockets.of(w);
        let found = upper.pools.get_inter(socket, env);
        if let Some(ready) = found.or_else(|| upper.pools.steal_inter(&upper.sockets, socket, env))
        {
            return Some(ready);
        }
        if let Some(ready) = upper.pools.get_intra(&upper.sockets, w, env) {
            return Some(ready);
        }
        if upper.unexpanded.load(Ordering::SeqCst) == 0
            && !upper.leaves[socket].is_empty()
            && let Some(leaf) = upper.leaves[socket].take(upper.sockets.cache(), env)
        {
            return Some(self.begin(upper, socket, leaf.ready, leaf.bytes, env));
        }
        if let Some(ready) = self.plain.get(w, env) {
            return Some(ready);
        }
        if upper.unexpanded.load(Ordering::SeqCst) > 0
            || !upper.leaves[socket].is_empty()
            || upper.pools.running(socket) > 0
        {
            return None;
        }
        let count = upper.leaves.len();
        let start = env.random(count as u32) as usize;
        let others = (0..count)
            .map(|i| (start + i) % count)
            .filter(|s| *s != socket && !upper.leaves[*s].is_empty());
        for victim in others {
            let found = upper.leaves[victim].steal(upper.sockets.is_staffed(victim), env);
            env.steal(WorkerId(upper.sockets.workers(victim).start), found.is_some());
            if let Some(leaf) = found {
                upper.leaves[socket].begin(leaf.bytes, env);
                return Some(self.begin(upper, socket, leaf.ready, leaf.bytes, env));
            }
        }
        None
    }

    /// What `accepts` accepts, wherever it waits and whatever the tiers say: a worker that asks
    /// like this may take nothing else.
    pub(super) fn find_accepted(
        &self,
        upper: &Upper<T>,
        w: WorkerId,
        accepts: &dyn Fn(&T) -> bool,
        env: &mut dyn Env,
    ) -> Option<Ready<T>> {
        // Most that is waited for while all is measured.
        if let Some(ready) = self.plain.get_own_if(w, accepts, env) {
            return Some(ready);
        }
        let socket = upper.sockets.of(w);
        if let Some(ready) = upper.pools.get_if(w, accepts, env) {
            return Some(self.begin(upper, socket, ready, 0, env));
        }
        for leaves in &upper.leaves {
            if let Some(leaf) = leaves.take_if(accepts, env) {
                upper.leaves[socket].begin(leaf.bytes, env);
                return Some(self.begin(upper, socket, leaf.ready, leaf.bytes, env));
            }
        }
        self.plain.get_if(w, accepts, env)
    }

    /// What was taken from the upper tier begins on `socket`: a leaf inter-socket task is bound to
    /// it from now on.
    fn begin(
        &self,
        upper: &Upper<T>,
        socket: usize,
        mut ready: Ready<T>,
        bytes: u64,
        env: &mut dyn Env,
    ) -> Ready<T> {
        let mark = Mark::of(ready.task.mark);
        if mark.tier != Tier::Leaf {
            return ready;
        }
        ready.task.anchor = upper.sockets.cluster(socket);
        upper.pools.begin(socket);
        upper.known.with(env, |known, _| {
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
