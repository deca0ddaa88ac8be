//! `ws` and `pws`: a queue per worker, and thieves.
//!
//! A worker puts what becomes ready on the new end of its own queue and takes from there (so it
//! runs in serial order). When its queue is empty it takes from the old end of another's, where the
//! largest pieces of work lie. Blumofe & Leiserson, *Scheduling multithreaded computations by work
//! stealing* (JACM 1999), prove the bounds in time and space.
//!
//! - `ws` picks its victim uniformly at random.
//! - `pws` (Quintin & Wagner, *Hierarchical work-stealing*, Euro-Par 2010) picks one under the same
//!   last-level cache r times likelier. The weights are those of Simhadri et al. (2016): with c
//!   workers under that cache of P in all, each of them is picked with r/(rc+P−c) and each other
//!   one with 1/(rc+P−c), given that a thief is never its own victim.
//!
//! Deviation: a thief that finds a victim's queue empty goes on to another, without repetition,
//! until it found work or has looked everywhere. So `get` returns `None` only if nothing was ready,
//! and an engine may let the worker sleep. The first victim has the distribution above; later ones
//! are drawn likewise from those that are left, next in order within the class drawn.

use std::{fmt::Debug, hint::spin_loop};

use befit_machine::{ClusterId, Machine, WorkerId};

use super::queue::{Accepts, Queue};
use crate::{Ask, Capabilities, Env, Finds, Handle, LockId, Ready, Scheduler, Tiers};

/// Pauses of a thief before it looks again at queues that others were at. One takes 10 to 50 ns,
/// and to steal a job some hundreds.
const BACK_OFF: [u32; 7] = [4, 8, 16, 32, 64, 64, 64];

/// Work stealing, with uniform or distance-aware choice of the victim.
#[derive(Debug)]
pub(crate) struct WorkStealing<T> {
    name: &'static str,
    capabilities: Capabilities,
    tiers: Option<Tiers>,
    queues: Vec<Queue<T>>,
    /// Per worker: the others under its last-level cache. Empty for uniform choice, under which
    /// all are far.
    near: Vec<Vec<u32>>,
    /// Per worker: all others that are not near.
    far: Vec<Vec<u32>>,
    /// r, the weight of a near victim against a far one's 1.
    nearness: u32,
}

impl<T: Handle> WorkStealing<T> {
    /// `ws`, or `cilk-a`, CATS's and CAB's baseline: every other worker is as likely a victim.
    pub(crate) fn uniform(name: &'static str, machine: &Machine) -> Self {
        Self::new(name, machine, 1, |_, _| false)
    }

    /// `pws`: workers under the same last-level cache are `nearness` times likelier; at most so
    /// many that the sum of all weights fits 32 bits.
    pub(crate) fn priority(machine: &Machine, nearness: u32) -> Self {
        let most = u32::MAX / machine.workers().len() as u32 - 1;
        Self::new("pws", machine, nearness.min(most).max(1), |a, b| {
            let cluster = machine.last_level(a);
            cluster != ClusterId::ROOT && machine.cluster(cluster).has(b)
        })
    }

    /// Takes the place of a policy with two tiers on a machine that has no two tiers.
    pub(super) fn in_place_of(
        name: &'static str,
        machine: &Machine,
        finds: Finds,
        tiers: Option<Tiers>,
    ) -> Box<Self> {
        let capabilities = Capabilities { finds, uses_sizes: false, ..Capabilities::default() };
        Box::new(Self { capabilities, tiers, ..Self::uniform(name, machine) })
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
            capabilities: Capabilities {
                finds: Finds::Everything,
                follows_tasks: false,
                uses_sizes: false,
                own_newest_first: true,
                ..Capabilities::default()
            },
            tiers: None,
            queues: (0..count).map(|w| Queue::new(LockId(w))).collect(),
            near: (0..count).map(|w| others(w, true)).collect(),
            far: (0..count).map(|w| others(w, false)).collect(),
            nearness,
        }
    }

    /// As `get`, but only what `accepts` accepts.
    // A function of its own, so that `get` moves an entry in registers.
    #[inline(never)]
    fn get_accepted(
        &self,
        w: WorkerId,
        accepts: &dyn Fn(&T) -> bool,
        ask: &Ask<'_, T>,
        env: &mut dyn Env,
    ) -> Option<Ready<T>> {
        let queue = &self.queues[w.index()];
        let own = if ask.as_thief {
            queue.pop_old(Some(accepts), env)
        } else {
            queue.take_new(accepts, env)
        };
        if own.is_some() || ask.own_only { own } else { self.steal(w, Some(accepts), env) }
    }

    /// Takes from another's queue. It passes over queues that another thief is at, and looks again,
    /// later each time, if it finds nothing else. In the end it waits in line: `None` means that
    /// nothing was ready.
    #[inline(never)]
    fn steal(
        &self,
        thief: WorkerId,
        accepts: Accepts<'_, T>,
        env: &mut dyn Env,
    ) -> Option<Ready<T>> {
        for pauses in BACK_OFF {
            let mut were_busy = false;
            let found = self.go_round(thief, env, |queue, env| {
                let taken = queue.steal_old(accepts, env);
                were_busy |= taken.is_err();
                taken.unwrap_or(None)
            });
            if found.is_some() || !were_busy {
                return found;
            }
            (0..pauses).for_each(|_| spin_loop());
        }
        self.go_round(thief, env, |queue, env| queue.pop_old(accepts, env))
    }

    /// Tries `take` on the other workers' queues until something is found.
    #[inline]
    fn go_round(
        &self,
        thief: WorkerId,
        env: &mut dyn Env,
        mut take: impl FnMut(&Queue<T>, &mut dyn Env) -> Option<Ready<T>>,
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

impl<T: Handle> Scheduler<T> for WorkStealing<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn add(&self, w: WorkerId, ready: Ready<T>, env: &mut dyn Env) -> ClusterId {
        self.queues[w.index()].push_new(ready, env);
        ClusterId::ROOT
    }

    fn get(&self, w: WorkerId, ask: Ask<'_, T>, env: &mut dyn Env) -> Option<Ready<T>> {
        if let Some(accepts) = ask.accepts {
            return self.get_accepted(w, accepts, &ask, env);
        }
        let own = &self.queues[w.index()];
        if ask.as_thief {
            let oldest = own.pop_old(None, env);
            if oldest.is_some() {
                return oldest;
            }
        } else if !own.seems_empty() {
            // Returned as it comes out of the queue: nothing copies it.
            let newest = own.pop_new(env);
            if newest.is_some() {
                return newest;
            }
        }
        if ask.own_only { None } else { self.steal(w, None, env) }
    }

    fn has_own(&self, w: WorkerId) -> bool {
        !self.queues[w.index()].seems_empty()
    }

    fn tiers(&self) -> Option<Tiers> {
        self.tiers.clone()
    }
}
