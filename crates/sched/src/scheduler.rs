//! The trait that every policy implements.

use std::fmt::Debug;

use befit_machine::{Bytes, ClusterId, WorkerId};

use crate::{Env, Ready, Stage, TaskInfo, Tiers};

/// Which goes on after a fork.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ForkOrder {
    /// The child: the parent's continuation (or the next sibling) waits. Serial order on one
    /// worker.
    ChildFirst,
    /// The parent: the child waits.
    ParentFirst,
}

/// What has just run on a worker, as given to [`Scheduler::done`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Strand {
    /// The task that it belongs to.
    pub task: TaskInfo,
    /// Whether it was the task's first strand.
    pub stage: Stage,
}

/// A scheduling policy: an object shared by all workers.
///
/// # Protocol
/// For each strand that worker w runs: `get(w)` hands it out (or [`Scheduler::resume`] announces
/// it), the engine runs it, `done(w)` takes it back. When a strand ends in forks or wakes a
/// continuation, the engine calls `done` *before* the `add`s that follow from it: what the strand
/// held is free again when its successors are placed. The last `done` of a task, once all that it
/// forked has ended too, says `task_ended`.
///
/// When `get` answers `None` nothing that this worker may run is ready: the engine need not ask
/// again for it until a later `add` or `done` names a cluster that has it.
///
/// Every method may be called by several workers at once.
pub trait Scheduler<T: Copy + Send + Debug>: Send + Sync + Debug {
    /// Its name, as users type it.
    fn name(&self) -> &'static str;

    /// Which goes on after `parent` forks. Called once for each fork, before `add`.
    fn fork_order(&self, parent: &TaskInfo) -> ForkOrder {
        let _ = parent;
        ForkOrder::ChildFirst
    }

    /// `ready` became ready on worker `w`. Answers the cluster whose workers may take it.
    fn add(&self, w: WorkerId, ready: Ready<T>, env: &mut dyn Env) -> ClusterId;

    /// Worker `w` is idle: what shall it run? The answer's task carries the policy's notes (its
    /// anchor).
    fn get(&self, w: WorkerId, env: &mut dyn Env) -> Option<Ready<T>>;

    /// As [`Self::get`], for a worker that waits inside a task bound to cluster `within`: only what
    /// is queued there or further down.
    ///
    /// A thread runs what it is given on top of the waiting task's stack. Were that a task from
    /// further up, the waiting one could not go on, nor give its part of the cache back, before the
    /// other had ended; and the other may wait for just that part. Policies that bind nothing to
    /// clusters need not mind.
    fn get_within(&self, w: WorkerId, within: ClusterId, env: &mut dyn Env) -> Option<Ready<T>> {
        let _ = within;
        self.get(w, env)
    }

    /// As [`Self::get_within`], of what `w` finds without stealing from others' queues. Policies
    /// without queues of single workers need not mind.
    fn get_own(&self, w: WorkerId, within: ClusterId, env: &mut dyn Env) -> Option<Ready<T>> {
        self.get_within(w, within, env)
    }

    /// Whether something seems to wait that `w` would find without stealing: a hint, as others may
    /// take it at any moment. It need not be right about what `get` would refuse.
    fn has_own(&self, w: WorkerId) -> bool {
        let _ = w;
        false
    }

    /// As [`Self::get`], but only what `accepts` accepts; all else stays where it is. For a worker
    /// that waits and may run only what it waits for. `None` also from policies that cannot find it
    /// ([`Self::can_find`]).
    ///
    /// `accepts` may be called under the policy's locks; what it is given has not been handed out.
    fn get_if(
        &self,
        w: WorkerId,
        accepts: &dyn Fn(&T) -> bool,
        env: &mut dyn Env,
    ) -> Option<Ready<T>> {
        let _ = (w, accepts, env);
        None
    }

    /// Whether [`Self::get_if`] finds whatever is ready and accepted. What places by size can say
    /// so as long as nothing has a size.
    fn can_choose(&self) -> bool {
        false
    }

    /// Whether [`Self::get_if`] finds what is ready and accepted, as far as there is room for it.
    fn can_find(&self) -> bool {
        self.can_choose()
    }

    /// Whether the policy places tasks by their size, and so may also refuse what is ready until
    /// room is given back.
    fn places_by_size(&self) -> bool {
        false
    }

    /// Whether `get` may refuse what is ready until a later `done` or `task_ended` names a cluster
    /// that has it.
    fn may_refuse(&self) -> bool {
        self.places_by_size()
    }

    /// Whether every fork of `parent` must come to the policy, each child with its place in the
    /// tree of tasks. An engine may otherwise keep forks to itself until a worker wants one.
    fn wants_forks_of(&self, parent: &TaskInfo) -> bool {
        let _ = parent;
        false
    }

    /// Whether the policy wants to know what runs. If not, an engine may leave out
    /// [`Self::resume`], [`Self::done`] and [`Self::task_ended`].
    fn follows_tasks(&self) -> bool {
        true
    }

    /// What the policy has found out about the program, for those with two tiers.
    fn tiers(&self) -> Option<Tiers> {
        None
    }

    /// Worker `w` goes on with a strand of `task` that was not handed out by `get`: on threads a
    /// closure goes on, on the thread that called `join`, when its children have ended. The policy
    /// accounts for it and cannot refuse.
    fn resume(&self, w: WorkerId, task: &TaskInfo, env: &mut dyn Env) {
        let _ = (w, task, env);
    }

    /// Worker `w` ran `strand`. Answers a cluster under which workers that found nothing should ask
    /// again, if any.
    fn done(&self, w: WorkerId, strand: &Strand, env: &mut dyn Env) -> Option<ClusterId> {
        let _ = (w, strand, env);
        None
    }

    /// `task` has ended, with everything that it forked; `w` ran its last strand. Called after that
    /// strand's `done`. Answers as `done`.
    fn task_ended(&self, w: WorkerId, task: &TaskInfo, env: &mut dyn Env) -> Option<ClusterId> {
        let _ = (w, task, env);
        None
    }

    /// How much of a cluster's cache is claimed at the moment; `None` from policies that claim
    /// none.
    fn occupancy(&self, cluster: ClusterId) -> Option<Bytes> {
        let _ = cluster;
        None
    }

    /// Asserts what must always hold between calls (the bounded property, say); panics where it
    /// does not.
    fn check(&self) {}
}

/// The policies by name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum SchedulerKind {
    /// Work stealing: victims uniformly at random.
    #[default]
    Ws,
    /// Priority work stealing: victims under the same last-level cache likelier.
    Pws,
    /// Space-bounded: tasks anchored to the cache that they befit.
    Sb,
    /// Space-bounded with the top bucket of each cluster split by child cluster.
    SbD,
    /// Work stealing child-first, as in MIT Cilk: CATS's baseline.
    CilkA,
    /// Bi-tier, cut by measured sizes, as the paper has it.
    Cats,
    /// Bi-tier, cut by measured sizes, with subtrees that stay on their socket.
    CatsS,
    /// Bi-tier, cut at a depth that sizes given by the user determine.
    Cab,
    /// Bi-tier, cut at a fixed depth.
    Hws,
    /// A stack per socket.
    Mts,
}
