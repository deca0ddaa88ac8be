//! `cpdf`: controlled parallel depth-first. The workers under a shared cache run one subtree that
//! fits it after another, in serial order, and what fits a private cache stays on one worker.
//!
//! G. E. Blelloch, R. A. Chowdhury, P. B. Gibbons, V. Ramachandran, S. Chen and M. Kozuch,
//! *Provably good multicore cache performance for divide-and-conquer algorithms* (SODA 2008). A
//! task that fits the shared cache, while its parent does not, is an *L2-supernode*: all workers
//! run the tasks of one in serial order (`pdf`) before they begin the next. A task that fits a
//! private cache, while its parent does not, is an *L1-supernode*: one worker runs all of it. So
//! both caches miss no more than a constant times as often as in a serial run.
//!
//! Readings and deviations:
//! - The paper has one shared cache. With several, the workers under each take the next
//!   L2-supernode that nobody has begun.
//! - A task that fits a private cache, while its parent fits no cache, is an L1-supernode alone:
//!   else all but one of the workers would have nothing.
//! - What is too large for the shared cache is divided by whoever is idle, in serial order.
//! - Where no size is known there are no supernodes, and it is `pdf`. Where no cache is private
//!   there are no L1-supernodes, and whoever forks goes on with the first child, as under `pdf`.
//! - Once the engine finds that nothing moves, a worker takes whatever there is, as under `static`.

mod supernodes;

use std::fmt::Debug;

use befit_machine::{ClusterId, Machine, WorkerId};

use self::supernodes::{Supernodes, is_alone};
use super::queue::{Queue, others};
use crate::{Ask, Capabilities, Env, Finds, ForkOrder, Handle, LockId, Ready, Scheduler, TaskInfo};

/// L1-supernodes on their workers, and all else in serial order.
#[derive(Debug)]
pub(crate) struct Controlled<T> {
    supernodes: Supernodes<T>,
    leaves: Vec<ClusterId>,
    /// Per worker: what is ready of its L1-supernode.
    own: Vec<Queue<T>>,
}

impl<T: Handle> Controlled<T> {
    pub(crate) fn new(machine: &Machine) -> Self {
        let count = machine.workers().len() as u32;
        Self {
            supernodes: Supernodes::new(LockId(count), machine),
            leaves: machine.workers().iter().map(|worker| worker.leaf).collect(),
            own: (0..count).map(|i| Queue::new(LockId(i))).collect(),
        }
    }
}

impl<T: Handle> Scheduler<T> for Controlled<T> {
    fn name(&self) -> &'static str {
        "cpdf"
    }

    fn capabilities(&self) -> Capabilities {
        let finds = Finds::Everything;
        Capabilities { finds, may_refuse: true, sees_forks: true, ..Capabilities::default() }
    }

    fn fork_order(&self, parent: &TaskInfo) -> ForkOrder {
        let is_known = parent.size != TaskInfo::UNKNOWN && self.supernodes.have_private();
        let is_divided = is_known && !is_alone(parent);
        if is_divided { ForkOrder::ParentFirst } else { ForkOrder::ChildFirst }
    }

    fn add(&self, w: WorkerId, mut ready: Ready<T>, env: &mut dyn Env) -> ClusterId {
        if !is_alone(&ready.task) {
            return self.supernodes.add(ready, env);
        }
        // A worker that may take nothing else may have taken it out of its L2-supernode.
        if !self.supernodes.has(w, &ready.task) {
            ready.task.anchor = ClusterId::ROOT;
        }
        self.own[w.index()].push_new(ready, env);
        self.leaves[w.index()]
    }

    fn get(&self, w: WorkerId, ask: Ask<'_, T>, env: &mut dyn Env) -> Option<Ready<T>> {
        let own = self.own[w.index()].next(&ask, env);
        let found = own.or_else(|| self.supernodes.get(w, ask, env));
        if found.is_some() || ask.own_only || ask.accepts.is_none() && !ask.is_stalled() {
            return found;
        }
        let may = |ready: &Ready<T>| match ask.accepts {
            Some(accepts) => accepts(&ready.job),
            None => self.supernodes.has(w, &ready.task),
        };
        let mut others = others(0..self.own.len(), w.index(), env);
        others.find_map(|victim| {
            self.own[victim].pop(env, |all| all.remove(all.iter().position(may)?))
        })
    }

    fn has_own(&self, w: WorkerId) -> bool {
        !self.own[w.index()].seems_empty() || !self.supernodes.seem_empty()
    }

    fn task_ended(&self, _: WorkerId, task: &TaskInfo, env: &mut dyn Env) -> Option<ClusterId> {
        if is_alone(task) { None } else { self.supernodes.task_ended(task, env) }
    }
}
