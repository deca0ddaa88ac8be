//! `cats` and `cats-s`: bi-tier stealing that measures by itself what fits a shared cache.
//!
//! Q. Chen, M. Guo, Z. Huang, *CATS: cache aware task-stealing based on online profiling in
//! multi-socket multi-core architectures* (ICS 2012). Many programs do the same computation again
//! and again. The first time, tasks are stolen as ever, and the misses of the last private cache
//! are counted for each strand; a task's *size of involved data* (SOID) is its own misses × line,
//! and its children's SOIDs (online profiling). From the second time on the tree of tasks is cut in
//! two tiers: a task that is larger than a shared cache is inter-socket; its children that are not
//! are leaf inter-socket tasks, each the root of a subtree that stays on one socket (see
//! [`super::bitier`]).
//!
//! `cats` is that, literally. `cats-s` keeps a subtree on the socket whose cache holds its data
//! from the last time:
//!
//! - the tree is cut so that each socket gets a subtree, and further until they can be dealt out
//!   evenly ([`plan`]); subtrees are at most half a shared cache, so that one may come in while
//!   another is there;
//! - subtrees are dealt out in serial order, by size, and then belong to their socket; one is
//!   stolen only from a socket that is busy with another, and then belongs to the thief's;
//! - the upper tier is forked to its end, by any idle worker, before any subtree begins;
//! - any worker of a socket may begin its next subtree if it fits the cache beside those that run;
//! - where all shared caches together do not hold the data, a socket takes its subtrees in
//!   alternating order, so as to begin with what it has touched last.
//!
//! `docs/cats.md` names the choices that the source leaves open, and how they were made.

mod counted;
mod find;
mod leaves;
mod partition;
mod plan;
mod table;
#[cfg(test)]
mod tests;

use std::{
    fmt::Debug,
    sync::atomic::{
        AtomicU64, AtomicUsize,
        Ordering::{Relaxed, SeqCst},
    },
};

use befit_machine::{ClusterId, Machine, WorkerId};
use crossbeam_utils::CachePadded;

use self::{
    counted::Meters,
    leaves::{Leaves, Waiting},
    partition::Found,
    table::{Fork, Place, Table},
};
use super::{
    bitier::{Mark, Pools, Sockets, Tier},
    stealing::WorkStealing,
};
use crate::{
    Ask, Capabilities, Env, Finds, ForkOrder, Guarded, Handle, LockId, QuietEnv, Ready, Scheduler,
    Stage, Strand, TaskInfo, Tiers, WorkerCounts,
};

/// CATS, literal or sticky.
#[derive(Debug)]
pub(crate) struct Cats<T> {
    sticky: bool,
    /// What belongs to no tier waits here.
    plain: WorkStealing<T>,
    pools: Pools<T>,
    /// Per socket, subtrees bound to it (`cats-s`).
    leaves: Vec<CachePadded<Leaves<T>>>,
    known: Guarded<Known>,
    meters: Meters,
    /// Inter-socket tasks that have not forked yet.
    unexpanded: AtomicUsize,
    /// Bytes that subtrees have moved into private caches since their computation's round began.
    moved: AtomicU64,
    /// Bytes in a line of the private caches.
    line: u64,
    /// What a hit in the shared cache costs, as a share of what a miss there costs.
    near: f64,
    workers: u32,
}

/// What has been learned.
#[derive(Debug, Default)]
struct Known {
    table: Table,
    tiers: Tiers,
}

/// Strands per worker that are seen before a program is called CPU-bound.
const ENOUGH: u32 = 4;

impl<T: Handle> Cats<T> {
    /// `cats`, as in Chen et al. (2012); or `cats-s`, where subtrees stay where their data are.
    pub(crate) fn build(sticky: bool, machine: &Machine) -> Box<dyn Scheduler<T>> {
        let name = if sticky { "cats-s" } else { "cats" };
        let sockets = Sockets::new(machine);
        if !sockets.have_tiers() {
            let plain = Some("the machine has no two shared caches");
            let tiers = Some(Tiers { plain, ..Tiers::default() });
            return WorkStealing::in_place_of(name, machine, Finds::Everything, tiers);
        }
        let workers = machine.workers().len() as u32;
        // The queues of plain stealing have the first locks.
        let (pools, next) = Pools::new(sockets, workers, workers);
        let known_lock = next + pools.sockets.count() as u32;
        let shared = machine.cluster(machine.last_level(WorkerId(0))).cache;
        let latency = shared.map_or(0, |cache| cache.latency.0) as f64;
        Box::new(Self {
            sticky,
            plain: WorkStealing::uniform(name, machine),
            pools,
            leaves: (next..known_lock).map(|i| CachePadded::new(Leaves::new(LockId(i)))).collect(),
            known: Guarded::new(LockId(known_lock), Known::default()),
            meters: Meters::new(workers as usize),
            unexpanded: AtomicUsize::new(0),
            moved: AtomicU64::new(0),
            line: shared.map_or(64, |cache| cache.line.0),
            near: latency / (machine.memory.latency.0.max(1) as f64),
            workers,
        })
    }

    /// Puts a task that was just forked where it belongs.
    fn place(&self, w: WorkerId, mut ready: Ready<T>, env: &mut dyn Env) {
        let lookup = |known: &mut Known, env: &mut dyn Env| self.lookup(known, w, &ready.task, env);
        let found = self.with_kept(w, env, lookup);
        let tier = match &found {
            None => Tier::Plain,
            Some(Found { place: None, .. }) => Tier::Open,
            Some(Found { place: Some(Place::Inter), .. }) => Tier::Inter,
            Some(Found { place: Some(Place::Leaf { .. }), .. }) => Tier::Leaf,
        };
        let Found { slot, place, order, bytes } = found.unwrap_or_default();
        ready.task.mark = Mark::new(tier, slot).word();
        match place {
            None => _ = self.plain.add(w, ready, env),
            Some(Place::Inter) => {
                ready.task.anchor = ClusterId::ROOT;
                self.unexpanded.fetch_add(1, SeqCst);
                self.pools.add_inter(w, ready, env);
            }
            Some(Place::Leaf { socket: Some(socket), .. }) => {
                self.leaves[socket as usize].put(Waiting { ready, order, bytes }, env);
            }
            Some(Place::Leaf { socket: None, .. }) => self.pools.add_inter(w, ready, env),
        }
    }

    /// Notes that `w` is about to run `found`, or has found nothing.
    fn begins(&self, w: WorkerId, found: Option<&Ready<T>>, env: &mut dyn Env) {
        match found {
            Some(ready) if Mark::of(ready.task.mark).is_counted() => self.meters.begin(w, env),
            Some(_) => {}
            // It will look again, or sleep.
            None => self.meters.pause(w),
        }
    }

    /// Notes that a strand of the task marked `mark` has ended on `w`.
    fn ends(&self, w: WorkerId, mark: Mark, env: &mut dyn Env) {
        if !mark.is_counted() {
            return self.meters.pause(w);
        }
        let Some(counts) = self.meters.end(w, env) else { return };
        if mark.tier != Tier::Open {
            let bytes = self.bytes(counts);
            // A program that counts for itself may say anything.
            let add = |moved: u64| Some(moved.saturating_add(bytes));
            _ = self.moved.fetch_update(Relaxed, Relaxed, add);
        } else if let Some(before) = self.meters.keep(w, mark.slot, counts) {
            self.known.with(env, |known, env| self.enter(known, before, env));
        }
    }

    /// Enters in the table what was kept of `w`'s last strand. As a rule that has been done,
    /// together with what came next.
    fn enter_kept(&self, w: WorkerId, env: &mut dyn Env) {
        if let Some(kept) = self.meters.take(w) {
            self.known.with(env, |known, env| self.enter(known, kept, env));
        }
    }

    /// Calls `then` under the table's lock, with what was kept of `w`'s last strand entered.
    fn with_kept<R>(
        &self,
        w: WorkerId,
        env: &mut dyn Env,
        then: impl FnOnce(&mut Known, &mut dyn Env) -> R,
    ) -> R {
        let kept = self.meters.take(w);
        self.known.with(env, |known, env| {
            kept.into_iter().for_each(|kept| self.enter(known, kept, env));
            then(known, env)
        })
    }

    /// What was brought into a private cache.
    fn bytes(&self, counts: WorkerCounts) -> u64 {
        counts.private_misses.saturating_mul(self.line)
    }

    /// Enters in the table what a strand of a task did.
    fn enter(&self, known: &mut Known, (slot, counts): (u32, WorkerCounts), env: &dyn Env) {
        known.tiers.source = env.count_source();
        known.table.touched(slot, self.bytes(counts));
        known.table.computation(slot).bound.count(counts, self.near);
    }
}

impl<T: Handle> Scheduler<T> for Cats<T> {
    fn name(&self) -> &'static str {
        self.plain.name()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            finds: Finds::Everything,
            may_refuse: true,
            sees_forks: true,
            ..Capabilities::default()
        }
    }

    fn fork_order(&self, parent: &TaskInfo) -> ForkOrder {
        match Mark::of(parent.mark).tier {
            Tier::Open | Tier::Inter => ForkOrder::ParentFirst,
            _ => ForkOrder::ChildFirst,
        }
    }

    fn add(&self, w: WorkerId, mut ready: Ready<T>, env: &mut dyn Env) -> ClusterId {
        self.pools.sockets.see(w);
        match (Mark::of(ready.task.mark).tier, ready.stage) {
            (Tier::Leaf | Tier::Intra, stage) => {
                if stage == Stage::Start {
                    ready.task.mark = Mark::new(Tier::Intra, 0).word();
                }
                let cluster = ready.task.anchor;
                self.pools.add_intra(w, ready, env);
                return cluster;
            }
            (Tier::Inter, Stage::Continuation) => self.pools.add_inter(w, ready, env),
            (Tier::Open, Stage::Continuation) | (Tier::Plain, _) => {
                self.plain.add(w, ready, env);
            }
            (Tier::Open | Tier::Inter, Stage::Start) => self.place(w, ready, env),
        }
        ClusterId::ROOT
    }

    fn get(&self, w: WorkerId, ask: Ask<'_, T>, env: &mut dyn Env) -> Option<Ready<T>> {
        let anywhere = ask.within == ClusterId::ROOT;
        let found = if ask.own_only {
            self.find_own(w, ask, env)
        } else if let Some(accepts) = ask.accepts {
            self.find_accepted(w, accepts, ask, env)
        } else if anywhere {
            self.pools.sockets.see(w);
            self.enter_kept(w, env);
            let found = match self.sticky {
                true => self.find_sticky(w, ask, env),
                false => self.find(w, ask, env),
            };
            found.or_else(|| if ask.is_stalled() { self.find_stalled(w, ask, env) } else { None })
        } else {
            // A worker that waits within a subtree takes tasks of its socket's subtrees only.
            self.pools.get_intra(w, &ask, env)
        };
        self.begins(w, found.as_ref(), env);
        found
    }

    fn has_own(&self, w: WorkerId) -> bool {
        self.pools.has_own(w) || self.plain.has_own(w)
    }

    fn resume(&self, w: WorkerId, task: &TaskInfo, env: &mut dyn Env) {
        if Mark::of(task.mark).is_counted() {
            self.meters.begin(w, env);
        }
    }

    fn done(&self, w: WorkerId, strand: &Strand, env: &mut dyn Env) -> Option<ClusterId> {
        let mark = Mark::of(strand.task.mark);
        self.ends(w, mark, env);
        if mark.tier == Tier::Inter && strand.stage == Stage::Start {
            self.unexpanded.fetch_sub(1, SeqCst);
        }
        // Subtrees that had to wait for something may not have to any more.
        self.leaves.iter().any(|leaves| !leaves.is_empty()).then_some(ClusterId::ROOT)
    }

    fn task_ended(&self, w: WorkerId, task: &TaskInfo, env: &mut dyn Env) -> Option<ClusterId> {
        let mark = Mark::of(task.mark);
        match mark.tier {
            Tier::Open if mark.slot > 0 => {
                let stands_in = env.count_source().is_none() && task.size != TaskInfo::UNKNOWN;
                let size = stands_in.then_some(task.size.0);
                self.with_kept(w, env, |known, env| {
                    if stands_in {
                        known.tiers.source = Some(env.size_source());
                    }
                    known.table.ended(mark.slot, size);
                });
                None
            }
            Tier::Leaf => {
                let socket = self.pools.sockets.of_task(task, w);
                self.pools.end(socket);
                if self.sticky {
                    let ran = self.known.with(env, |known, _| known.table.node(mark.slot).ran_on);
                    self.leaves[socket].end(ran.map_or(0, |(_, bytes)| bytes), env);
                }
                Some(ClusterId::ROOT)
            }
            _ => None,
        }
    }

    fn tiers(&self) -> Option<Tiers> {
        Some(self.known.with(&mut QuietEnv(fastrand::Rng::with_seed(0)), |known, _| {
            let why = known.table.why_plain().or(known.tiers.plain);
            let plain = why.filter(|_| known.tiers.partitions == 0);
            Tiers { plain, ..known.tiers.clone() }
        }))
    }
}
