//! `cab` and `hws`: two tiers, cut at a depth that is known before the program runs.
//!
//! `cab` (Chen, Huang, Guo & Zhou, *CAB: cache aware bi-tier task-stealing in multi-socket
//! multi-core architecture*, ICPP 2011) computes the *boundary level* from what the user says: the
//! size of the input, and the branching degree of the program. It is the smallest at which a task's
//! data fit a shared cache and each socket gets a task. The size is what the root task declares
//! (`fit`); without one there is a subtree per socket.
//!
//! `hws` (Quintin & Wagner, *Hierarchical work-stealing*, Euro-Par 2010) takes the depth itself
//! from the user: tasks above it are global, the others local to the cluster that took their
//! ancestor; one leader per cluster steals globally.
//!
//! In both, the head core of a socket takes from the upper tier, when nothing of a subtree is left
//! on its socket: one subtree at a time.

use std::{fmt::Debug, sync::atomic::AtomicU32, sync::atomic::Ordering};

use befit_machine::{ClusterId, Machine, WorkerId};

use super::{Mark, Pools, Sockets, Tier};
use crate::{
    Env, ForkOrder, Options, Ready, Scheduler, Stage, TaskInfo, policy::stealing::WorkStealing,
};

/// Bi-tier stealing, cut at a depth.
#[derive(Debug)]
pub struct ByDepth<T> {
    name: &'static str,
    sockets: Sockets,
    pools: Pools<T>,
    /// For machines without two tiers.
    plain: Option<WorkStealing<T>>,
    /// Depth of the leaf inter-socket tasks; of `cab`, for the root that began last.
    boundary: AtomicU32,
    /// `cab`: the branching degree, from which the boundary is computed.
    branching: Option<u32>,
}

impl<T: Copy + Send + Debug> ByDepth<T> {
    /// `cab`: at the depth that the root's declared size and the options' branching degree give.
    pub fn cab(machine: &Machine, options: Options) -> Self {
        Self::new("cab", machine, options, Some(options.branching.max(2)))
    }

    /// `hws`: at the options' boundary.
    pub fn hws(machine: &Machine, options: Options) -> Self {
        Self::new("hws", machine, options, None)
    }

    fn new(
        name: &'static str,
        machine: &Machine,
        options: Options,
        branching: Option<u32>,
    ) -> Self {
        let sockets = Sockets::new(machine);
        let plain = (!sockets.have_tiers()).then(|| WorkStealing::uniform(machine));
        let (pools, _) = Pools::new(&sockets, machine.workers().len(), 0);
        Self { name, pools, plain, boundary: AtomicU32::new(options.boundary), branching, sockets }
    }

    /// The boundary level for input of `size` bytes (CAB): the least l with size ÷ Bˡ ≤ shared
    /// cache and Bˡ ≥ sockets.
    fn level(&self, branching: u32, size: u64) -> u32 {
        let (mut level, mut tasks) = (0, 1u64);
        let fits = |tasks: u64| size == u64::MAX || size / tasks <= self.sockets.cache();
        while level < 32 && !(fits(tasks) && tasks >= self.sockets.count() as u64) {
            level += 1;
            tasks = tasks.saturating_mul(u64::from(branching));
        }
        level
    }

    fn tier(&self, depth: u32) -> Tier {
        match depth.cmp(&self.boundary.load(Ordering::Relaxed)) {
            std::cmp::Ordering::Less => Tier::Inter,
            std::cmp::Ordering::Equal => Tier::Leaf,
            std::cmp::Ordering::Greater => Tier::Intra,
        }
    }
}

impl<T: Copy + Send + Debug> Scheduler<T> for ByDepth<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn fork_order(&self, parent: &TaskInfo) -> ForkOrder {
        match Mark::of(parent.mark).tier {
            Tier::Inter => ForkOrder::ParentFirst,
            _ => ForkOrder::ChildFirst,
        }
    }

    fn wants_forks_of(&self, parent: &TaskInfo) -> bool {
        self.plain.is_none() && Mark::of(parent.mark).tier == Tier::Inter
    }

    fn may_refuse(&self) -> bool {
        self.plain.is_none()
    }

    fn add(&self, w: WorkerId, mut ready: Ready<T>, env: &mut dyn Env) -> ClusterId {
        if let Some(plain) = &self.plain {
            return plain.add(w, ready, env);
        }
        self.sockets.see(w);
        let parent = Mark::of(ready.task.mark).tier;
        if ready.stage == Stage::Start {
            if let (Some(branching), 0) = (self.branching, ready.task.depth) {
                self.boundary.store(self.level(branching, ready.task.size.0), Ordering::Relaxed);
            }
            let tier = match parent {
                Tier::Leaf | Tier::Intra => Tier::Intra,
                // A subtree's root is its first task at the boundary or, where an engine kept some
                // forks to itself, below.
                _ => match self.tier(ready.task.depth) {
                    Tier::Intra => Tier::Leaf,
                    tier => tier,
                },
            };
            ready.task.mark = Mark::new(tier, 0).word();
        }
        match Mark::of(ready.task.mark).tier {
            Tier::Intra => {}
            Tier::Leaf if ready.stage == Stage::Continuation => {}
            _ => {
                self.pools.add_inter(self.sockets.of(w), ready, env);
                return ClusterId::ROOT;
            }
        }
        let cluster = ready.task.anchor;
        let socket = self.sockets.at(cluster).unwrap_or(self.sockets.of(w));
        self.pools.add_intra(&self.sockets, w, socket, ready, env);
        cluster
    }

    fn get(&self, w: WorkerId, env: &mut dyn Env) -> Option<Ready<T>> {
        if let Some(plain) = &self.plain {
            return plain.get(w, env);
        }
        self.sockets.see(w);
        if let Some(ready) = self.pools.get_intra(&self.sockets, w, env) {
            return Some(ready);
        }
        let socket = self.sockets.of(w);
        if !self.sockets.is_head(w)
            || self.pools.running(socket) > 0
            || !self.pools.intra_is_empty(&self.sockets, socket)
        {
            return None;
        }
        let found = self.pools.get_inter(socket, env);
        let mut ready = found.or_else(|| self.pools.steal_inter(&self.sockets, socket, env))?;
        if Mark::of(ready.task.mark).tier == Tier::Leaf {
            ready.task.anchor = self.sockets.cluster(socket);
            self.pools.begin(socket);
        }
        Some(ready)
    }

    fn get_within(&self, w: WorkerId, within: ClusterId, env: &mut dyn Env) -> Option<Ready<T>> {
        if self.plain.is_some() || within == ClusterId::ROOT {
            return self.get(w, env);
        }
        self.pools.get_intra(&self.sockets, w, env)
    }

    fn has_own(&self, w: WorkerId) -> bool {
        match &self.plain {
            Some(plain) => plain.has_own(w),
            None => self.pools.has_own(&self.sockets, w),
        }
    }

    fn task_ended(&self, w: WorkerId, task: &TaskInfo, _: &mut dyn Env) -> Option<ClusterId> {
        if self.plain.is_some() || Mark::of(task.mark).tier != Tier::Leaf {
            return None;
        }
        self.pools.end(self.sockets.at(task.anchor).unwrap_or(self.sockets.of(w)));
        Some(ClusterId::ROOT)
    }
}
