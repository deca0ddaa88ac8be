//! `cab` and `hws`: two tiers, cut at a depth that is known before the program runs.
//!
//! `cab` (Chen, Huang, Guo & Zhou, *CAB: cache aware bi-tier task-stealing in multi-socket
//! multi-core architecture*, ICPP 2011) computes the *boundary level* from what the user says: the
//! size of the input, and the branching degree of the program. It is the smallest at which a task's
//! data fit a shared cache and each socket gets a task. The size is the root task's; where that has
//! none but its children have, as many times a child's as a task has children; where none has,
//! there is a subtree per socket.
//!
//! `hws` (Quintin & Wagner, *Hierarchical work-stealing*, Euro-Par 2010) takes the depth itself
//! from the user: tasks above it are global, the others local to the cluster that took their
//! ancestor; one leader per cluster steals globally.
//!
//! In both, the head core of a socket takes from the upper tier, when nothing of a subtree is left
//! on its socket: one subtree at a time. Deviation: if the subtrees that run make no progress (they
//! may wait for tasks of others), any idle worker begins another ([`Ask::still_for`]).

use std::{
    fmt::Debug,
    sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
};

use befit_machine::{ClusterId, Machine, WorkerId};

use super::{Mark, Pools, Sockets, Tier};
use crate::{
    Ask, Capabilities, Env, Finds, ForkOrder, Handle, Options, Ready, Scheduler, Stage, TaskInfo,
    policy::stealing::WorkStealing,
};

/// Bi-tier stealing, cut at a depth.
#[derive(Debug)]
pub(crate) struct ByDepth<T> {
    name: &'static str,
    pools: Pools<T>,
    /// Depth of the leaf inter-socket tasks; of `cab`, for the root that began last.
    boundary: AtomicU32,
    /// `cab`: nobody knows the size of the root that began last.
    is_open: AtomicBool,
    /// `cab`: the branching degree, from which the boundary is computed.
    branching: Option<u32>,
}

impl<T: Handle> ByDepth<T> {
    /// `cab`, at the depth that the root's declared size and the options' branching degree give;
    /// or `hws`, at the options' boundary.
    pub(crate) fn build(cab: bool, machine: &Machine, options: Options) -> Box<dyn Scheduler<T>> {
        let (name, branching) =
            if cab { ("cab", Some(options.branching.max(2))) } else { ("hws", None) };
        let sockets = Sockets::new(machine);
        if !sockets.have_tiers() {
            return WorkStealing::in_place_of(name, machine, Finds::Nothing, None);
        }
        let (pools, _) = Pools::new(sockets, machine.workers().len() as u32, 0);
        let (boundary, is_open) = (AtomicU32::new(options.boundary), AtomicBool::new(false));
        Box::new(Self { name, pools, boundary, is_open, branching })
    }

    /// `cab`: sets the boundary where a task tells the size of the input: a root, or the first
    /// child with a size of a root that has none.
    fn set_boundary(&self, branching: u32, task: &TaskInfo) {
        let is_known = task.size != TaskInfo::UNKNOWN;
        let input = match task.depth {
            0 => task.size.0,
            1 if is_known && self.is_open.load(Relaxed) => {
                task.size.0.saturating_mul(u64::from(branching))
            }
            _ => return,
        };
        self.is_open.store(!is_known, Relaxed);
        self.boundary.store(self.level(branching, input), Relaxed);
    }

    /// The boundary level for input of `size` bytes (CAB): the least l with size ÷ Bˡ ≤ shared
    /// cache and Bˡ ≥ sockets.
    fn level(&self, branching: u32, size: u64) -> u32 {
        let sockets = &self.pools.sockets;
        let (mut level, mut tasks) = (0, 1u64);
        let fits = |tasks: u64| size == u64::MAX || size / tasks <= sockets.cache;
        while level < 32 && !(fits(tasks) && tasks >= sockets.count() as u64) {
            level += 1;
            tasks = tasks.saturating_mul(u64::from(branching));
        }
        level
    }
}

impl<T: Handle> Scheduler<T> for ByDepth<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn capabilities(&self) -> Capabilities {
        let uses_sizes = self.branching.is_some();
        Capabilities { may_refuse: true, uses_sizes, ..Capabilities::default() }
    }

    fn fork_order(&self, parent: &TaskInfo) -> ForkOrder {
        match Mark::of(parent.mark).tier {
            Tier::Inter => ForkOrder::ParentFirst,
            _ => ForkOrder::ChildFirst,
        }
    }

    fn add(&self, w: WorkerId, mut ready: Ready<T>, env: &mut dyn Env) -> ClusterId {
        self.pools.sockets.see(w);
        if ready.stage == Stage::Start {
            if let Some(branching) = self.branching {
                self.set_boundary(branching, &ready.task);
            }
            let tier = match Mark::of(ready.task.mark).tier {
                Tier::Leaf | Tier::Intra => Tier::Intra,
                _ if ready.task.depth < self.boundary.load(Relaxed) => Tier::Inter,
                // The first at the boundary or, where an engine kept some forks to itself, below.
                _ => Tier::Leaf,
            };
            ready.task.mark = Mark::new(tier, 0).word();
        }
        match (Mark::of(ready.task.mark).tier, ready.stage) {
            (Tier::Intra, _) | (Tier::Leaf, Stage::Continuation) => {
                let cluster = ready.task.anchor;
                self.pools.add_intra(w, ready, env);
                cluster
            }
            _ => {
                self.pools.add_inter(w, ready, env);
                ClusterId::ROOT
            }
        }
    }

    fn get(&self, w: WorkerId, ask: Ask<'_, T>, env: &mut dyn Env) -> Option<Ready<T>> {
        if ask.accepts.is_some() {
            return None;
        }
        let anywhere = ask.within == ClusterId::ROOT;
        if anywhere {
            self.pools.sockets.see(w);
        }
        let found = match ask.own_only {
            true => self.pools.own_intra(w, &ask, env),
            false => self.pools.get_intra(w, &ask, env),
        };
        if found.is_some() || !anywhere || !(self.pools.may_begin(w) || ask.is_stalled()) {
            return found;
        }
        let socket = self.pools.sockets.of(w);
        let mut ready = match ask.own_only {
            true => self.pools.own_inter(socket, &ask, env)?,
            false => self.pools.get_inter(socket, &ask, env)?,
        };
        if Mark::of(ready.task.mark).tier == Tier::Leaf {
            ready.task.anchor = self.pools.sockets.cluster(socket);
            self.pools.begin(socket);
        }
        Some(ready)
    }

    fn has_own(&self, w: WorkerId) -> bool {
        self.pools.has_own(w)
    }

    fn task_ended(&self, w: WorkerId, task: &TaskInfo, _: &mut dyn Env) -> Option<ClusterId> {
        if Mark::of(task.mark).tier != Tier::Leaf {
            return None;
        }
        self.pools.end(self.pools.sockets.of_task(task, w));
        Some(ClusterId::ROOT)
    }
}
