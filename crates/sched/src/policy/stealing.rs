//! `ws` and `pws`: a queue per worker, and thieves.
//!
//! A worker puts what becomes ready on the new end of its own queue and takes from there (so it
//! runs in serial order); when its queue is empty it takes from the old end of another's, where the
//! largest pieces of work lie. Blumofe & Leiserson, *Scheduling multithreaded computations by work
//! stealing* (JACM 1999), prove the bounds in time and space.
//!
//! `ws` picks its victim uniformly at random. `pws` (Quintin & Wagner, *Hierarchical
//! work-stealing*, Euro-Par 2010; with the weights of the space-bounded study) picks one under the
//! same last-level cache r times likelier: with c workers under that cache of P in all, each of
//! them with weight r, each other with weight 1 (the study's r/(rc+P−c) and 1/(rc+P−c), given that
//! a thief is never its own victim).
//!
//! Deviation: a thief that finds a victim's queue empty goes on to another, without repetition,
//! until it found work or has looked everywhere. So `get` answers `None` only if nothing was ready,
//! and an engine may let the worker sleep. The first victim has the distribution above; later ones
//! are drawn likewise from those that are left, next in order within the class drawn.

use std::fmt::Debug;

use befit_machine::{ClusterId, Machine, WorkerId};
use crossbeam_utils::CachePadded;

use super::queue::Queue;
use crate::{Env, LockId, Ready, Scheduler};

/// Work stealing, with uniform or distance-aware choice of the victim.
#[derive(Debug)]
pub struct WorkStealing<T> {
    name: &'static str,
    queues: Vec<CachePadded<Queue<T>>>,
    /// Per worker: the others under its last-level cache. Empty for uniform choice: everyone is
    /// far.
    near: Vec<Vec<u32>>,
    /// Per worker: all others that are not near.
    far: Vec<Vec<u32>>,
    /// r, the weight of a near victim against a far one's 1.
    nearness: u32,
}

impl<T: Copy + Send + Debug> WorkStealing<T> {
    /// `ws`: every other worker is as likely a victim.
    pub fn uniform(machine: &Machine) -> Self {
        Self::new("ws", machine, 1, |_, _| false)
    }

    /// `cilk-a`: as [`Self::uniform`], child-first, as MIT Cilk's scheduler is; what CATS and CAB
    /// are compared with.
    pub fn cilk(machine: &Machine) -> Self {
        Self { name: "cilk-a", ..Self::uniform(machine) }
    }

    /// `pws`: workers under the same last-level cache are `nearness` times likelier.
    pub fn priority(machine: &Machine, nearness: u32) -> Self {
        Self::new("pws", machine, nearness.max(1), |a, b| {
            let cluster = machine.last_level(a);
            cluster != ClusterId::ROOT && machine.cluster(cluster).has(b)
        })
    }

    fn new(
        name: &'static str,
        machine: &Machine,
        nearness: u32,
        near: impl Fn(WorkerId, WorkerId) -> bool,
    ) -> Self {
        let count = machine.workers().len() as u32;
        let others = |w: u32, nearby: bool| {
            (0..count)
                .filter(|&v| v != w && near(WorkerId(w), WorkerId(v)) == nearby)
                .collect::<Vec<_>>()
        };
        Self {
            name,
            queues: (0..count).map(|w| CachePadded::new(Queue::new(LockId(w)))).collect(),
            near: (0..count).map(|w| others(w, true)).collect(),
            far: (0..count).map(|w| others(w, false)).collect(),
            nearness,
        }
    }

    /// The newest in `w`'s own queue that `accepts` accepts.
    pub(super) fn get_own_if(
        &self,
        w: WorkerId,
        accepts: &dyn Fn(&T) -> bool,
        env: &mut dyn Env,
    ) -> Option<Ready<T>> {
        self.queues[w.index()].take_new(accepts, env)
    }

    /// Takes from another's queue, by `take`.
    fn steal(
        &self,
        thief: WorkerId,
        take: impl Fn(&Queue<T>, &mut dyn Env) -> Option<Ready<T>>,
        env: &mut dyn Env,
    ) -> Option<Ready<T>> {
        let mut near = Round::new(&self.near[thief.index()], env);
        let mut far = Round::new(&self.far[thief.index()], env);
        loop {
            let near_weight = near.left() * self.nearness;
            let total = near_weight + far.left();
            if total == 0 {
                return None;
            }
            let class = if near_weight > 0 && (far.left() == 0 || env.random(total) < near_weight) {
                &mut near
            } else {
                &mut far
            };
            let victim = class.next();
            let found = take(&self.queues[victim as usize], env);
            env.steal(WorkerId(victim), found.is_some());
            if found.is_some() {
                return found;
            }
        }
    }
}

/// Goes once round a list of victims, from a random start.
struct Round<'a> {
    victims: &'a [u32],
    start: usize,
    taken: usize,
}

impl<'a> Round<'a> {
    fn new(victims: &'a [u32], env: &mut dyn Env) -> Self {
        let start = if victims.is_empty() { 0 } else { env.random(victims.len() as u32) as usize };
        Self { victims, start, taken: 0 }
    }

    fn left(&self) -> u32 {
        (self.victims.len() - self.taken) as u32
    }

    fn next(&mut self) -> u32 {
        let victim = self.victims[(self.start + self.taken) % self.victims.len()];
        self.taken += 1;
        victim
    }
}

impl<T: Copy + Send + Debug> Scheduler<T> for WorkStealing<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn add(&self, w: WorkerId, ready: Ready<T>, env: &mut dyn Env) -> ClusterId {
        self.queues[w.index()].push_new(ready, env);
        ClusterId::ROOT
    }

    fn get(&self, w: WorkerId, env: &mut dyn Env) -> Option<Ready<T>> {
        self.queues[w.index()].pop_new(env).or_else(|| self.steal(w, Queue::pop_old, env))
    }

    fn get_if(
        &self,
        w: WorkerId,
        accepts: &dyn Fn(&T) -> bool,
        env: &mut dyn Env,
    ) -> Option<Ready<T>> {
        self.get_own_if(w, accepts, env)
            .or_else(|| self.steal(w, |queue, env| queue.take_old(accepts, env), env))
    }

    fn can_choose(&self) -> bool {
        true
    }

    fn follows_tasks(&self) -> bool {
        false
    }

    fn get_own(&self, w: WorkerId, _: ClusterId, env: &mut dyn Env) -> Option<Ready<T>> {
        self.queues[w.index()].pop_new(env)
    }

    fn has_own(&self, w: WorkerId) -> bool {
        !self.queues[w.index()].seems_empty()
    }
}
