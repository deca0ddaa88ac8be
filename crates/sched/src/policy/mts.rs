//! `mts`: a stack shared by the workers of each socket.
//!
//! S. Olivier, A. Porterfield, K. Wheeler, M. Spiegel, J. Prins, *OpenMP task scheduling strategies
//! for multicore NUMA systems* (IJHPCA 26(2), 2012): the workers under one last-level cache share
//! one queue, last in, first out, so that they work near each other in serial order. A worker that
//! finds it empty steals for all of them: the oldest tasks of another socket's queue, as many as
//! the socket has workers.
//!
//! Deviation: any worker that finds the queue empty steals, not only a head core while all others
//! are idle. The stolen tasks go to the shared stack, so it makes no difference which worker it
//! was.

use std::{
    fmt::Debug,
    sync::atomic::{AtomicBool, Ordering::SeqCst},
};

use befit_machine::{ClusterId, Machine, WorkerId};

use super::{
    bitier::Sockets,
    queue::{Queue, others},
};
use crate::{Ask, Capabilities, Env, Handle, LockId, Ready, Scheduler, Strand};

/// A stack per socket, refilled in batches.
#[derive(Debug)]
pub(crate) struct Mts<T> {
    sockets: Sockets,
    stacks: Vec<Queue<T>>,
    /// Per socket: a batch has left tasks on its stack, of which nobody was notified.
    refilled: Vec<AtomicBool>,
}

impl<T: Handle> Mts<T> {
    pub(crate) fn new(machine: &Machine) -> Self {
        let sockets = Sockets::new(machine);
        let stacks = (0..sockets.count() as u32).map(|i| Queue::new(LockId(i))).collect();
        let refilled = (0..sockets.count()).map(|_| AtomicBool::new(false)).collect();
        Self { sockets, stacks, refilled }
    }
}

impl<T: Handle> Scheduler<T> for Mts<T> {
    fn name(&self) -> &'static str {
        "mts"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { may_refuse: true, uses_sizes: false, ..Capabilities::default() }
    }

    fn add(&self, w: WorkerId, ready: Ready<T>, env: &mut dyn Env) -> ClusterId {
        self.stacks[self.sockets.of(w)].push_new(ready, env);
        ClusterId::ROOT
    }

    fn get(&self, w: WorkerId, ask: Ask<'_, T>, env: &mut dyn Env) -> Option<Ready<T>> {
        if ask.accepts.is_some() {
            return None;
        }
        let own = self.sockets.of(w);
        let found = self.stacks[own].pop_new(env);
        if found.is_some() || ask.own_only {
            return found;
        }
        for victim in others(0..self.stacks.len(), own, env) {
            let first = self.stacks[victim].pop_old(None, env);
            env.steal(WorkerId(self.sockets.workers(victim).start), first.is_some());
            let Some(first) = first else { continue };
            for _ in 1..self.sockets.workers(own).len() {
                let Some(more) = self.stacks[victim].pop_old(None, env) else { break };
                self.stacks[own].push_new(more, env);
                self.refilled[own].store(true, SeqCst);
            }
            return Some(first);
        }
        None
    }

    fn has_own(&self, w: WorkerId) -> bool {
        !self.stacks[self.sockets.of(w)].seems_empty()
    }

    /// Returns the socket after a batch has left tasks there: none of its workers was notified of
    /// them.
    fn done(&self, w: WorkerId, _: &Strand, _: &mut dyn Env) -> Option<ClusterId> {
        let socket = self.sockets.of(w);
        let refilled = &self.refilled[socket];
        let news = refilled.load(SeqCst) && refilled.swap(false, SeqCst);
        news.then(|| self.sockets.cluster(socket))
    }
}
