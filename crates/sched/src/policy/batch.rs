//! `batch`: tasks that became ready together stay together.
//!
//! K. Debattista, K. Vella and J. Cordina, *Cache-affinity scheduling for fine grain
//! multithreading* (Communicating Process Architectures 2002): tasks that wake or fork one another
//! share data, so each worker keeps what becomes ready on it in a batch and runs that alone. A
//! batch that grows too long is cut in two, and one part goes to a queue of batches that all
//! workers share; a worker whose own is empty takes a whole batch from there.
//!
//! Deviations: the cut-off part has the oldest tasks, as thieves take them. Where no batch waits,
//! an idle worker takes the older half of another's, or it would be idle as long as no batch grows
//! too long.

use std::{
    collections::VecDeque,
    fmt::Debug,
    sync::atomic::{AtomicUsize, Ordering},
};

use befit_machine::{ClusterId, Machine, WorkerId};
use crossbeam_utils::CachePadded;

use super::queue::others;
use crate::{Ask, Capabilities, Env, Guarded, Handle, LockId, Ready, Scheduler, Strand};

/// More tasks than this are too many for one batch. The paper leaves it open; trees of forks keep
/// about as many as they have levels.
const LONGEST: usize = 8;

/// Ready tasks, the oldest first.
type Tasks<T> = VecDeque<Ready<T>>;

/// A batch for each worker, and those that wait for one.
#[derive(Debug)]
pub(crate) struct Batch<T> {
    own: Vec<CachePadded<Own<T>>>,
    waiting: Guarded<VecDeque<Tasks<T>>>,
}

#[derive(Debug)]
struct Own<T> {
    /// A hint, written under the lock.
    len: AtomicUsize,
    tasks: Guarded<Tasks<T>>,
}

impl<T> Own<T> {
    fn with<R>(&self, env: &mut dyn Env, f: impl FnOnce(&mut Tasks<T>) -> R) -> R {
        self.tasks.with(env, |tasks, _| {
            let result = f(tasks);
            self.len.store(tasks.len(), Ordering::Release);
            result
        })
    }

    fn seems_empty(&self) -> bool {
        self.len.load(Ordering::Acquire) == 0
    }
}

impl<T: Handle> Batch<T> {
    pub(crate) fn new(machine: &Machine) -> Self {
        let count = machine.workers().len() as u32;
        let own =
            |id| Own { len: AtomicUsize::new(0), tasks: Guarded::new(LockId(id), VecDeque::new()) };
        Self {
            own: (0..count).map(|id| CachePadded::new(own(id))).collect(),
            waiting: Guarded::new(LockId(count), VecDeque::new()),
        }
    }

    /// A batch that waits, or else the older half of another worker's.
    fn find(&self, w: WorkerId, env: &mut dyn Env) -> Option<Tasks<T>> {
        let waiting = self.waiting.with(env, |waiting, _| waiting.pop_front());
        if waiting.is_some() {
            return waiting;
        }
        for victim in others(0..self.own.len(), w.index(), env) {
            let own = &self.own[victim];
            let found = if own.seems_empty() {
                VecDeque::new()
            } else {
                own.with(env, |tasks| older_half(tasks))
            };
            env.steal(WorkerId(victim as u32), !found.is_empty());
            if !found.is_empty() {
                return Some(found);
            }
        }
        None
    }
}

/// Takes it out; of one task, that.
fn older_half<T>(tasks: &mut Tasks<T>) -> Tasks<T> {
    tasks.drain(..tasks.len().div_ceil(2)).collect()
}

impl<T: Handle> Scheduler<T> for Batch<T> {
    fn name(&self) -> &'static str {
        "batch"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { may_refuse: true, uses_sizes: false, ..Capabilities::default() }
    }

    fn add(&self, w: WorkerId, ready: Ready<T>, env: &mut dyn Env) -> ClusterId {
        let cut_off = self.own[w.index()].with(env, |tasks| {
            tasks.push_back(ready);
            (tasks.len() > LONGEST).then(|| older_half(tasks))
        });
        if let Some(batch) = cut_off {
            self.waiting.with(env, |waiting, _| waiting.push_back(batch));
        }
        ClusterId::ROOT
    }

    fn get(&self, w: WorkerId, ask: Ask<'_, T>, env: &mut dyn Env) -> Option<Ready<T>> {
        if ask.accepts.is_some() {
            return None;
        }
        let own = &self.own[w.index()];
        let next = |tasks: &mut Tasks<T>| match ask.as_thief {
            true => tasks.pop_front(),
            false => tasks.pop_back(),
        };
        let found = if own.seems_empty() { None } else { own.with(env, next) };
        if found.is_some() || ask.own_only {
            return found;
        }
        let mut batch = self.find(w, env)?;
        let newest = batch.pop_back();
        if !batch.is_empty() {
            own.with(env, |tasks| tasks.append(&mut batch));
        }
        newest
    }

    fn has_own(&self, w: WorkerId) -> bool {
        !self.own[w.index()].seems_empty()
    }

    /// Returns all workers while its batch holds a task: none of them was notified of what came
    /// with a batch.
    fn done(&self, w: WorkerId, _: &Strand, _: &mut dyn Env) -> Option<ClusterId> {
        (!self.own[w.index()].seems_empty()).then_some(ClusterId::ROOT)
    }
}
