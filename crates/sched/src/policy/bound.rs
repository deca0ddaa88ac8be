//! `static`: each task is bound to a worker when it is forked, and nobody steals.
//!
//! The baseline that dynamic schedulers are held against, as OpenMP's `schedule(static)` for loops:
//! the serial (depth-first) order of the program is cut into as many pieces as there are workers,
//! before anything has run. It costs next to nothing, puts the same task on the same worker each
//! time, and leaves workers idle where the pieces take unequally long.
//!
//! A root has all workers, and runs on the first of them that is free. The halves of a `join` get
//! half of their parent's workers each. The spawned tasks of a scope, whose number is not known
//! before the sync, begin on its workers in turn, and have all of them for what they fork. A task
//! of one worker keeps all that it forks.
//!
//! Deviation: once the engine finds that nothing moves, a worker takes from any queue. The task may
//! be bound to a thread that waits for just that task, or to one of the program's own threads that
//! does something else.

use std::{
    fmt::Debug,
    ops::Range,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use befit_machine::{ClusterId, Machine, WorkerId};

use super::queue::{Queue, others};
use crate::{Ask, Capabilities, Env, ForkOrder, Handle, LockId, Ready, Scheduler, Stage, TaskInfo};

/// A queue for each worker, which no other takes from.
#[derive(Debug)]
pub(crate) struct Bound<T> {
    queues: Vec<Queue<T>>,
    /// Tasks that begin a computation.
    roots: Queue<T>,
    leaves: Vec<ClusterId>,
    /// Only the first so many take part.
    present: AtomicU32,
}

impl<T: Handle> Bound<T> {
    pub(crate) fn new(machine: &Machine) -> Self {
        let workers = machine.workers();
        let queue = |id| Queue::new(LockId(id));
        Self {
            queues: (0..workers.len() as u32).map(queue).collect(),
            roots: Queue::new(LockId(workers.len() as u32)),
            leaves: workers.iter().map(|worker| worker.leaf).collect(),
            present: AtomicU32::new(workers.len() as u32),
        }
    }

    /// The workers of a task, as its mark says; all of them for one that has none yet.
    fn workers(&self, task: &TaskInfo) -> Range<u32> {
        match (task.mark as u32, (task.mark >> 32) as u32) {
            (_, 0) => 0..self.present.load(Relaxed),
            (from, to) => from..to,
        }
    }

    /// Those of a task that was just forked and has its parent's mark.
    fn part(&self, task: &TaskInfo) -> Range<u32> {
        let all = self.workers(task);
        let count = all.end - all.start;
        if task.depth == 0 || count == 1 || task.twin().is_none() {
            return all;
        }
        let middle = all.start + count / 2;
        if task.index == 0 { all.start..middle } else { middle..all.end }
    }
}

impl<T: Handle> Scheduler<T> for Bound<T> {
    fn name(&self) -> &'static str {
        "static"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            may_refuse: true,
            sees_forks: true,
            uses_sizes: false,
            ..Capabilities::default()
        }
    }

    fn has_threads(&self, workers: u32) {
        self.present.store(workers.clamp(1, self.queues.len() as u32), Relaxed);
    }

    fn fork_order(&self, parent: &TaskInfo) -> ForkOrder {
        let own = self.workers(parent);
        if own.end - own.start > 1 { ForkOrder::ParentFirst } else { ForkOrder::ChildFirst }
    }

    fn add(&self, _: WorkerId, mut ready: Ready<T>, env: &mut dyn Env) -> ClusterId {
        if ready.stage == Stage::Start {
            let part = self.part(&ready.task);
            ready.task.mark = u64::from(part.start) | u64::from(part.end) << 32;
            if ready.task.depth == 0 {
                self.roots.push_new(ready, env);
                return ClusterId::ROOT;
            }
        }
        let workers = self.workers(&ready.task);
        let is_spawned = ready.stage == Stage::Start && ready.task.twin().is_none();
        let turn = if is_spawned { ready.task.index % (workers.end - workers.start) } else { 0 };
        let worker = (workers.start + turn) as usize;
        self.queues[worker].push_new(ready, env);
        self.leaves[worker]
    }

    fn get(&self, w: WorkerId, ask: Ask<'_, T>, env: &mut dyn Env) -> Option<Ready<T>> {
        if ask.accepts.is_some() {
            return None;
        }
        let own = self.queues[w.index()].next(&ask, env);
        let own = own.or_else(|| self.roots.pop_old(None, env));
        if own.is_some() || !ask.is_stalled() {
            return own;
        }
        others(0..self.queues.len(), w.index(), env)
            .find_map(|victim| self.queues[victim].pop_old(None, env))
    }

    fn has_own(&self, w: WorkerId) -> bool {
        !self.queues[w.index()].seems_empty() || !self.roots.seems_empty()
    }
}
