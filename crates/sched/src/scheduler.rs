//! The trait that every policy implements.

use std::{fmt::Debug, time::Duration};

use befit_machine::{Bytes, ClusterId, Machine, WorkerId};

use crate::{Env, Options, Ready, Strand, TaskInfo, Tiers};

/// An engine's handle for a strand. It is opaque to policies, which keep it in their queues.
pub trait Handle: Copy + Send + Debug + 'static {}

impl<T: Copy + Send + Debug + 'static> Handle for T {}

/// Makes the schedulers of one kind: what an engine is given to run under.
///
/// [`SchedulerKind`](crate::SchedulerKind) implements it for the built-in policies.
/// `docs/your-own-scheduler.md` shows how to write another.
pub trait Policy: Debug + Send + Sync {
    /// Builds the scheduler for `machine`, with whatever of `options` it uses.
    fn build<T: Handle>(&self, machine: &Machine, options: Options) -> Box<dyn Scheduler<T>>;

    /// Whether the scheduler minds which workers share a cache. Otherwise it may be built for a
    /// machine that has as many workers and no caches, and its threads are not pinned.
    fn minds_places(&self) -> bool {
        true
    }
}

/// Which goes on after a fork.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ForkOrder {
    /// The child: the parent's continuation (or the next sibling) waits. One worker alone runs the
    /// program in serial order.
    ChildFirst,
    /// The parent: the child waits.
    ParentFirst,
}

/// What a worker that asks for work may be given.
#[derive(Clone, Copy)]
pub struct Ask<'a, T> {
    /// Only what is queued at this cluster or further down; the root excludes nothing.
    ///
    /// A thread that waits inside a task runs what it is given on top of that task's stack. A task
    /// from further up would keep the waiting one from going on and from giving its part of the
    /// cache back, and may itself wait for just that part. Policies that bind nothing to clusters
    /// need not mind.
    pub within: ClusterId,
    /// Only what this accepts; all else stays where it is. [`Capabilities::finds`] says whether the
    /// policy can look for it.
    ///
    /// The function may be called under the policy's locks. It is shown only jobs that `get`
    /// has not returned.
    pub accepts: Option<&'a dyn Fn(&T) -> bool>,
    /// Only what the worker finds without stealing from others' queues. Policies without queues of
    /// single workers need not mind.
    pub own_only: bool,
    /// Several threads are this worker, and the one that asks has added nothing that still waits.
    /// So what waits in the worker's queue is another thread's, and a policy that has a queue for
    /// each worker gives what a thief would get. Never in simulations.
    pub as_thief: bool,
    /// For so long nothing has become ready and nothing has ended, though tasks wait that the
    /// worker was refused: maybe those that run wait for them. So the worker may have whatever is
    /// ready, though it breaks a promise of the policy about places or space. What it is given must
    /// have an anchor above the worker all the same: a task that was bound to another cluster is
    /// then anchored at the root, for example. Zero if less than a twentieth of a second has
    /// passed.
    pub still_for: Duration,
}

impl<T> Ask<'_, T> {
    /// Whatever there is.
    pub const ANYTHING: Self = Self {
        within: ClusterId::ROOT,
        accepts: None,
        own_only: false,
        as_thief: false,
        still_for: Duration::ZERO,
    };

    /// Whether nothing has happened [for a while](Self::still_for).
    #[must_use]
    pub fn is_stalled(&self) -> bool {
        self.still_for > Duration::ZERO
    }
}

/// What a policy finds of what an [`Ask`] accepts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Finds {
    /// Nothing: `get` returns `None` for such an ask.
    Nothing,
    /// Whatever is ready and accepted, as far as there is room for it.
    IfThereIsRoom,
    /// Whatever is ready and accepted, also from where the worker is not under the task's anchor: a
    /// worker that asks like this may take nothing else.
    Everything,
}

/// What an engine may rely on, and what it must do for the policy.
///
/// All of it is constant, but for `finds` of a policy that places by size: that is
/// [`Finds::Everything`] until the first task declares a size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capabilities {
    /// Whether a worker can be held to the descendants of what it waits for ([`Ask::accepts`]).
    pub finds: Finds,
    /// The policy binds tasks to caches by their size.
    pub places_by_size: bool,
    /// `get` may refuse what is ready until a later `done` or `task_ended` names a cluster that has
    /// it, or until it is [`due`](Scheduler::due).
    pub may_refuse: bool,
    /// The policy must learn what runs. Otherwise an engine may leave out [`Scheduler::resume`],
    /// [`Scheduler::done`] and [`Scheduler::task_ended`].
    pub follows_tasks: bool,
    /// Every fork of a task that goes on parent-first must come to the policy, each child with its
    /// place in the tree of tasks. Otherwise an engine may keep forks private until a worker
    /// requests one.
    pub sees_forks: bool,
    /// The sizes of tasks matter to the policy. Otherwise an engine may leave unknown what takes
    /// time to find out.
    pub uses_sizes: bool,
    /// A worker that asks for anything gets, of what was added for it, the newest; it gets nothing
    /// else while there is any. Others get the oldest of it. So an engine may keep what a worker
    /// adds, and give it the newest back without asking, if it adds all that it keeps, the oldest
    /// first, before the worker adds more, and of it the oldest before another worker is told that
    /// nothing is ready.
    pub own_newest_first: bool,
    /// What a worker spawns may be added later, in its name, also by another worker: the oldest
    /// first; all of it before the worker adds anything else, or asks; and the oldest before
    /// another worker is told that nothing is ready. Where the policy puts a task must not depend
    /// on who calls, nor on whether the strand that spawned it has ended.
    pub defers_spawned: bool,
}

impl Default for Capabilities {
    /// Of a policy that queues what it is given, refuses nothing, and must learn what runs, and how
    /// large it is.
    fn default() -> Self {
        Self {
            finds: Finds::Nothing,
            places_by_size: false,
            may_refuse: false,
            follows_tasks: true,
            sees_forks: false,
            uses_sizes: true,
            own_newest_first: false,
            defers_spawned: false,
        }
    }
}

/// A scheduling policy at work: an object shared by all workers.
///
/// # Protocol
/// - For each strand that worker w runs, `get(w)` returns it (or the engine calls
///   [`Scheduler::resume`]), the engine runs it, and calls `done(w)`.
/// - Where a strand ends in forks or wakes a continuation, `done` comes *before* the `add`s that
///   follow from it. What the strand held is free again when its successors are placed.
/// - After the last `done` of a task, and once all that it forked has ended, comes `task_ended`.
/// - Where `get` returns `None` to an ask for anything, nothing that this worker may run now is
///   ready. The engine asks again for it when a later `add`, `done` or `task_ended` names a cluster
///   that has it, or when it is [`due`](Scheduler::due), and need not before.
/// - Each job that was added is handed out once. Engines rely on that for memory safety: threads
///   free a job once it has run, so the behaviour is undefined if `get` returns it again.
///   `befit_testkit` tests this.
/// - Several workers may call any method at once.
///
/// An engine of one worker, which runs a root task with two children:
///
/// ```
/// use befit_machine::WorkerId;
/// use befit_sched::{Ask, Options, Policy, QuietEnv, Ready, SchedulerKind, Stage, TaskInfo};
///
/// let machine = "core:1 l1:1(size=32768) pu:1".parse()?;
/// let scheduler = SchedulerKind::Ws.build(&machine, Options::default());
/// let (w, mut env) = (WorkerId(0), QuietEnv(fastrand::Rng::with_seed(1)));
/// let root = Ready { job: "root", task: TaskInfo::root(None, None), stage: Stage::Start };
/// scheduler.add(w, root, &mut env);
/// let mut ran = Vec::new();
/// while let Some(ready) = scheduler.get(w, Ask::ANYTHING, &mut env) {
///     ran.push(ready.job); // Here an engine runs the strand.
///     scheduler.done(w, &ready.strand(), &mut env);
///     if ready.job == "root" {
///         for (index, job) in [(1, "right"), (0, "left")] {
///             let task = ready.task.child(index, None, None);
///             scheduler.add(w, Ready { job, task, stage: Stage::Start }, &mut env);
///         }
///     } else {
///         scheduler.task_ended(w, &ready.task, &mut env);
///     }
/// }
/// assert_eq!(ran, ["root", "left", "right"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[expect(unused_variables, reason = "the defaults do nothing")]
pub trait Scheduler<T: Handle>: Send + Sync + Debug {
    /// Its name, as users type it.
    fn name(&self) -> &'static str;

    /// What an engine may rely on. It asks once and keeps the result, but for `finds`.
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    /// Only the machine's first `workers` run anything: a pool has that many threads. The engine
    /// says so before anything else.
    fn has_threads(&self, workers: u32) {}

    /// Which goes on after `parent` forks. May be called several times for one fork.
    fn fork_order(&self, parent: &TaskInfo) -> ForkOrder {
        ForkOrder::ChildFirst
    }

    /// `ready` became ready on worker `w`. Returns the cluster whose workers may take it.
    fn add(&self, w: WorkerId, ready: Ready<T>, env: &mut dyn Env) -> ClusterId;

    /// Returns what worker `w` shall run next, with the policy's notes (its anchor) in its task.
    fn get(&self, w: WorkerId, ask: Ask<'_, T>, env: &mut dyn Env) -> Option<Ready<T>>;

    /// `get` has just given `w` nothing: for how much longer it keeps from the worker what it
    /// leaves to others for a while. What is kept may wait for ever unless the engine asks again
    /// then, if those others wait for it. `None` if nothing is kept like this.
    fn due(&self, w: WorkerId, env: &mut dyn Env) -> Option<Duration> {
        None
    }

    /// Whether something seems to wait that `w` would find without stealing. This is a hint: others
    /// may take it at any moment, and `get` may refuse it.
    fn has_own(&self, w: WorkerId) -> bool {
        false
    }

    /// Worker `w` goes on with a strand of `task` that `get` did not return. The policy accounts
    /// for it and cannot refuse. A thread returns to the closure that called `join` when both
    /// halves have ended; but tasks also go on after they have spawned a task, published forks or
    /// yielded, while their children wait and run.
    fn resume(&self, w: WorkerId, task: &TaskInfo, env: &mut dyn Env) {}

    /// Worker `w` ran `strand`. Returns a cluster under which workers that found nothing should ask
    /// again, if any.
    fn done(&self, w: WorkerId, strand: &Strand, env: &mut dyn Env) -> Option<ClusterId> {
        None
    }

    /// `task` has ended, with everything that it forked; `w` ran its last strand. Returns as
    /// `done`.
    fn task_ended(&self, w: WorkerId, task: &TaskInfo, env: &mut dyn Env) -> Option<ClusterId> {
        None
    }

    /// What a policy with two tiers has found out about the program.
    fn tiers(&self) -> Option<Tiers> {
        None
    }

    /// How much of a cluster's cache is claimed at the moment. `None` from policies that claim
    /// nothing.
    fn occupancy(&self, cluster: ClusterId) -> Option<Bytes> {
        None
    }

    /// The cluster that a task, as the policy has returned it, is meant for: the one that it is
    /// bound to, or at home in. For traces.
    fn place(&self, task: &TaskInfo) -> ClusterId {
        task.anchor
    }

    /// Panics where something does not hold that must hold between calls, as the bounded property.
    fn check(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{QuietEnv, Stage};

    /// Says nothing of itself but its name.
    #[derive(Debug)]
    struct Silent;

    impl<T: Handle> Scheduler<T> for Silent {
        fn name(&self) -> &'static str {
            "silent"
        }
        fn add(&self, _: WorkerId, ready: Ready<T>, _: &mut dyn Env) -> ClusterId {
            ready.task.anchor
        }
        fn get(&self, _: WorkerId, _: Ask<'_, T>, _: &mut dyn Env) -> Option<Ready<T>> {
            None
        }
    }

    impl Policy for Silent {
        fn build<T: Handle>(&self, _: &Machine, _: Options) -> Box<dyn Scheduler<T>> {
            Box::new(Self)
        }
    }

    #[test]
    fn of_a_policy_that_says_nothing_an_engine_must_think_the_worst() {
        let machine = "core:2 pu:1".parse().unwrap();
        let policy = Policy::build::<u32>(&Silent, &machine, Options::default());
        let worst = Capabilities {
            finds: Finds::Nothing,
            places_by_size: false,
            may_refuse: false,
            follows_tasks: true,
            sees_forks: false,
            uses_sizes: true,
            own_newest_first: false,
            defers_spawned: false,
        };
        assert_eq!(policy.capabilities(), worst);
        assert!(Policy::minds_places(&Silent) && !policy.has_own(WorkerId(0)));
        let mut env = QuietEnv(fastrand::Rng::with_seed(1));
        assert_eq!(policy.due(WorkerId(0), &mut env), None);
        let mut task = TaskInfo::root(None, None);
        task.anchor = ClusterId(2);
        let strand = Strand { task, stage: Stage::Start };
        assert_eq!(policy.fork_order(&task), ForkOrder::ChildFirst);
        assert_eq!(policy.done(WorkerId(0), &strand, &mut env), None);
        assert_eq!(policy.task_ended(WorkerId(0), &task, &mut env), None);
        assert_eq!((policy.tiers(), policy.occupancy(ClusterId::ROOT)), (None, None));
        assert_eq!(policy.place(&task), ClusterId(2));
    }
}
