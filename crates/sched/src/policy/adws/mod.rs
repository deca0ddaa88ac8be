//! `adws`: almost deterministic work stealing.
//!
//! S. Shiina and K. Taura, *Almost deterministic work stealing* (SC 2019). Each task has a *range*
//! of the workers, from x to y in real numbers.
//!
//! - **Deterministic task allocation.** A task whose range reaches over several workers divides it
//!   among its children in the proportion of their work, and each child goes to the worker at which
//!   its part begins. The same program so lies on the same workers each time. Below that, a worker
//!   forks as under `ws`.
//! - **Hierarchical localized work stealing.** The children of a task with such a range are a *task
//!   group*. It becomes *dominant* when one of them has ended: its workers begin to run out of
//!   work. An idle worker steals within the range of the topmost dominant group around it. One on
//!   a border may stand in several that lie side by side, and steals in each of them.
//!
//! Readings and deviations. Any child's end makes its group dominant, also where its range does not
//! end at a worker's border. What a scope spawns is a group from its first task on, though more
//! follow; tasks of one range and depth share theirs. A computation begins on any worker. Once the
//! engine finds that nothing moves, a worker takes from any queue, as under `static`. [`ranges`]
//! has those of the ranges.

mod groups;
mod queues;
mod ranges;

use std::{
    fmt::Debug,
    sync::atomic::{AtomicBool, Ordering::SeqCst},
};

use befit_machine::{ClusterId, Machine, WorkerId};
use crossbeam_utils::CachePadded;

use self::{
    groups::{Groups, range},
    queues::Queues,
    ranges::Ranges,
};
use crate::{
    Ask, Capabilities, Env, Finds, ForkOrder, Handle, LockId, Ready, Scheduler, Stage, Strand,
    TaskInfo,
};

/// Ranges of workers, and stealing within them.
#[derive(Debug)]
pub(crate) struct Adws<T> {
    ranges: Ranges,
    groups: Groups,
    queues: Queues<T>,
    leaves: Vec<ClusterId>,
    /// A worker found nothing: it asks again when a strand has ended.
    hungry: CachePadded<AtomicBool>,
}

impl<T: Handle> Adws<T> {
    pub(crate) fn new(machine: &Machine) -> Self {
        let count = machine.workers().len() as u32;
        Self {
            ranges: Ranges::new(count),
            groups: Groups::new(LockId(3 * count + 1)),
            queues: Queues::new(count),
            leaves: machine.workers().iter().map(|worker| worker.leaf).collect(),
            hungry: CachePadded::default(),
        }
    }

    /// Within the topmost dominant groups around `w`. What reaches over several workers stays.
    fn steal(&self, w: WorkerId, env: &mut dyn Env) -> Option<Ready<T>> {
        let around = self.groups.around(w.index(), |it| self.ranges.workers(it), env);
        around.into_iter().find_map(|within| {
            let may = |ready: &Ready<T>| range(&ready.task).is_some_and(|own| within.contains(own));
            self.queues.steal(w.index(), self.ranges.workers(within), may, env)
        })
    }
}

impl<T: Handle> Scheduler<T> for Adws<T> {
    fn name(&self) -> &'static str {
        "adws"
    }

    fn capabilities(&self) -> Capabilities {
        let finds = Finds::Everything;
        Capabilities { finds, may_refuse: true, sees_forks: true, ..Capabilities::default() }
    }

    fn has_threads(&self, workers: u32) {
        self.ranges.limit(workers.clamp(1, self.queues.workers()));
    }

    fn fork_order(&self, parent: &TaskInfo) -> ForkOrder {
        self.ranges.wide(parent).map_or(ForkOrder::ChildFirst, |_| ForkOrder::ParentFirst)
    }

    fn add(&self, w: WorkerId, mut ready: Ready<T>, env: &mut dyn Env) -> ClusterId {
        let task = &mut ready.task;
        let parent = range(task);
        if ready.stage == Stage::Start {
            let own = self.ranges.divide(task);
            task.mark = match self.ranges.wide(task) {
                Some(parent) => self.groups.enter(parent, task, own, env),
                None => own.word(),
            };
            if parent.is_none() {
                self.queues.add_root(ready, env);
                return ClusterId::ROOT;
            }
        }
        let owner = self.ranges.owner(w, &ready, parent);
        let is_wide = self.ranges.wide(&ready.task).is_some();
        let is_sent = self.queues.add(w.index(), owner, is_wide, ready, env);
        // A worker that found nothing may steal it.
        let may_lose = !is_wide && self.hungry.load(SeqCst);
        if is_sent && !may_lose { self.leaves[owner] } else { ClusterId::ROOT }
    }

    fn get(&self, w: WorkerId, ask: Ask<'_, T>, env: &mut dyn Env) -> Option<Ready<T>> {
        let found = self.queues.next(w.index(), &ask, env);
        if found.is_some() || ask.own_only {
            return found;
        }
        if ask.accepts.is_some() || ask.is_stalled() {
            return self.queues.any(w.index(), ask.accepts, env);
        }
        let found = self.steal(w, env);
        if found.is_none() && !self.hungry.load(SeqCst) {
            self.hungry.store(true, SeqCst);
        }
        found
    }

    fn has_own(&self, w: WorkerId) -> bool {
        self.queues.have(w.index())
    }

    /// Returns all workers while it has something to steal, and another found nothing.
    fn done(&self, w: WorkerId, _: &Strand, _: &mut dyn Env) -> Option<ClusterId> {
        let asks_again = self.hungry.load(SeqCst) && self.queues.may_lose(w.index());
        (asks_again && self.hungry.swap(false, SeqCst)).then_some(ClusterId::ROOT)
    }

    /// Returns all workers if its group becomes dominant.
    fn task_ended(&self, _: WorkerId, task: &TaskInfo, env: &mut dyn Env) -> Option<ClusterId> {
        self.groups.child_ended(task, env).then_some(ClusterId::ROOT)
    }
}
