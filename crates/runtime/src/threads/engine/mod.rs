//! The upper layer: forks that other workers need, and how the policy decides about them.
//!
//! The engine of a pool holds its policy (any [`Scheduler`]), calls it as its protocol asks, and
//! notifies the sleepers for whom it has something. The lower layer ([`crate::fork`]) comes here
//! only when it must.

mod env;
mod job;
mod lineage;
mod meter;
mod thresholds;

use std::{fmt, sync::atomic::Ordering::SeqCst};

use befit_machine::{Cluster, ClusterId, Machine, WorkerId};
use befit_sched::{
    Ask, Capabilities, Env, Finds, Options, Policy, Ready, Scheduler, SchedulerKind, Stage, Strand,
    TaskInfo,
};
use crossbeam_utils::CachePadded;

pub(crate) use self::{
    env::{Random, ThreadEnv},
    job::{JobHeader, JobRef, JobTable, NoUnwind, Sizes, sizes_of},
    lineage::{Ancestor, Lineage, Place},
    meter::Meter,
    thresholds::ForkThresholds,
};
use crate::{
    WaitPolicy,
    machine::PoolMachine,
    threads::{
        latch::Latch,
        primitive::AtomicUsize,
        sleep::{EventCount, Sleep},
    },
};

/// A [`Policy`] whose type has been forgotten, for pools.
pub(crate) trait AnyPolicy: fmt::Debug {
    fn build(&self, machine: &Machine, options: Options) -> Box<dyn Scheduler<JobRef>>;
    fn minds_places(&self) -> bool;
}

impl<P: Policy> AnyPolicy for P {
    fn build(&self, machine: &Machine, options: Options) -> Box<dyn Scheduler<JobRef>> {
        Policy::build(self, machine, options)
    }

    fn minds_places(&self) -> bool {
        Policy::minds_places(self)
    }
}

/// A pool's policy with what it needs around it.
#[derive(Debug)]
pub(crate) struct Engine {
    /// None for a policy of the program's own.
    pub(super) kind: Option<SchedulerKind>,
    pub(super) policy: Box<dyn Scheduler<JobRef>>,
    /// The policy's when the pool was built: all but `finds` stay as they are.
    pub(crate) capabilities: Capabilities,
    pub(super) machine: PoolMachine,
    pub(super) options: Options,
    wait_policy: WaitPolicy,
    pub(super) threads: usize,
    /// Threads of the pool under each cluster. Of the root only, if the policy minds no places.
    threads_under: Vec<usize>,
    /// Jobs that the policy holds; counted only under policies that may refuse to hand them out.
    queued: CachePadded<AtomicUsize>,
    /// Threads that sleep and may take only tasks bound to some cache, or only descendants of what
    /// they wait for.
    restricted: AtomicUsize,
    /// Tasks that hold part of a cache: maximal ones that were handed out and have not ended.
    holding: CachePadded<AtomicUsize>,
    /// Counts the times that the pool was stuck.
    alarm: AtomicUsize,
    pub(crate) sleep: Sleep,
}

impl Engine {
    pub(crate) fn new(
        kind: Option<SchedulerKind>,
        policy: &dyn AnyPolicy,
        machine: PoolMachine,
        options: Options,
        wait_policy: WaitPolicy,
        threads: usize,
    ) -> Self {
        let (policy, threads_under) = if policy.minds_places() {
            let machine = machine.get();
            let worker = |thread| WorkerId((thread % machine.workers().len()) as u32);
            let under = |cluster: &Cluster| {
                (0..threads).filter(|thread| cluster.has(worker(*thread))).count()
            };
            (policy.build(machine, options), machine.clusters().iter().map(under).collect())
        } else {
            (policy.build(&machine.counted(), options), vec![threads])
        };
        Self {
            kind,
            capabilities: policy.capabilities(),
            policy,
            options,
            wait_policy,
            threads,
            threads_under,
            queued: CachePadded::new(AtomicUsize::new(0)),
            restricted: AtomicUsize::new(0),
            holding: CachePadded::new(AtomicUsize::new(0)),
            alarm: AtomicUsize::new(0),
            sleep: Sleep::new(threads),
            machine,
        }
    }

    /// The pool's machine. The first call may read what the system tells of it.
    pub(crate) fn machine(&self) -> &Machine {
        self.machine.get()
    }

    /// How many workers the machine has.
    pub(crate) fn workers(&self) -> usize {
        self.machine.workers()
    }

    /// How many clusters the policy knows; it anchors tasks at no others.
    pub(crate) fn clusters(&self) -> usize {
        self.threads_under.len()
    }

    /// The worker of the machine that thread `thread` of the pool is. Several threads are one
    /// worker where the pool has more threads than its machine has workers.
    pub(crate) fn worker(&self, thread: usize) -> WorkerId {
        WorkerId((thread % self.workers()) as u32)
    }

    /// The sizes that decide how forks on `worker` are treated, if the policy places by size.
    pub(crate) fn thresholds(&self, worker: WorkerId) -> Option<ForkThresholds> {
        let under = |cluster: ClusterId| self.threads_under[cluster.index()];
        self.capabilities
            .places_by_size
            .then(|| ForkThresholds::new(self.machine(), worker, self.options.sigma, under))
    }

    /// Whether waiting workers can be held to the pool's [`WaitPolicy`] under its scheduler.
    pub(crate) fn can_wait_as_asked(&self) -> bool {
        self.wait_policy == WaitPolicy::Anything
            || (self.capabilities.finds == Finds::Everything && !self.capabilities.places_by_size)
    }

    /// Whether more than one thread may run what is anchored at `cluster`.
    pub(crate) fn is_shared(&self, cluster: ClusterId) -> bool {
        self.threads_under[cluster.index()] > 1
    }

    /// Worker `w` made `job` ready, the start of `task`.
    // Always, with its callers: the task is then written where the policy reads it, not copied
    // there.
    #[inline(always)]
    pub(crate) fn add(&self, w: WorkerId, job: JobRef, mut task: TaskInfo, env: &mut dyn Env) {
        if self.capabilities.sees_forks && task.depth == 0 {
            // Tells one computation of the program from another.
            // SAFETY: it has not been executed: it is only now given to the policy.
            task.index = unsafe { job.site() };
        }
        if self.capabilities.may_refuse {
            // Before the add: see "What is announced" in sleep/README.md.
            self.queued.fetch_add(1, SeqCst);
        }
        let cluster = self.policy.add(w, Ready { job, task, stage: Stage::Start }, env);
        self.notify(w, cluster);
    }

    /// What `w` runs next. A worker that may run only what it waits for gives that as `awaited`:
    /// see [`Self::narrowed`]. Another one, which waits within a task anchored at `within`, gets
    /// nothing from further up.
    ///
    /// What it gets lies on top of the waiting task on its stack, and that task cannot go on before
    /// the other has ended. Were the other from further up, the waiting task would hold its part of
    /// the cache for nothing, and the stack would grow by a task for each level of the tree of
    /// caches, again and again.
    pub(crate) fn get(
        &self,
        w: WorkerId,
        within: ClusterId,
        awaited: Option<Ancestor>,
        env: &mut dyn Env,
    ) -> Option<Ready<JobRef>> {
        let Some(awaited) = awaited else {
            return self.taken(self.policy.get(w, Ask { within, ..Ask::ANYTHING }, env));
        };
        // SAFETY: a policy shows only jobs that have not been handed out, and hands none of them
        // out before the call returns.
        let accepts = |job: &JobRef| unsafe { job.is_or_descends_from(awaited) };
        self.taken(self.policy.get(w, Ask { accepts: Some(&accepts), ..Ask::ANYTHING }, env))
    }

    /// What a worker that waits for `awaited` must keep to, if it must: by the pool's
    /// [`WaitPolicy`], or because it is `deep` and must not pile up more on its stack. (Under
    /// policies that may not find it, it takes what there is.)
    pub(crate) fn narrowed(&self, awaited: Option<Ancestor>, deep: bool) -> Option<Ancestor> {
        awaited.filter(|_| {
            (deep || self.wait_policy == WaitPolicy::Descendants)
                && self.policy.capabilities().finds == Finds::Everything
        })
    }

    /// As [`Self::get`], of what `w` finds without stealing.
    pub(crate) fn get_own(
        &self,
        w: WorkerId,
        within: ClusterId,
        env: &mut dyn Env,
    ) -> Option<Ready<JobRef>> {
        self.taken(self.policy.get(w, Ask { within, own_only: true, ..Ask::ANYTHING }, env))
    }

    fn taken(&self, ready: Option<Ready<JobRef>>) -> Option<Ready<JobRef>> {
        if self.capabilities.may_refuse
            && let Some(ready) = &ready
        {
            if ready.task.maximal {
                self.holding.fetch_add(1, SeqCst);
            }
            self.queued.fetch_sub(1, SeqCst);
        }
        ready
    }

    /// `w` has run `strand`.
    pub(crate) fn done(&self, w: WorkerId, strand: &Strand, env: &mut dyn Env) {
        let cluster = self.policy.done(w, strand, env);
        self.notify_room(w, cluster);
    }

    /// `task` has ended on `w`.
    pub(crate) fn task_ended(&self, w: WorkerId, task: &TaskInfo, env: &mut dyn Env) {
        if task.maximal {
            self.holding.fetch_sub(1, SeqCst);
        }
        let cluster = self.policy.task_ended(w, task, env);
        self.notify_room(w, cluster);
    }

    /// Lets thread `me`, worker `w`, sleep as [`Sleep::sleep`] says. `within` and `awaited` as for
    /// [`Self::get`].
    pub(crate) fn sleep(
        &self,
        me: usize,
        w: WorkerId,
        within: ClusterId,
        awaited: Option<Ancestor>,
        seen: EventCount,
        latch: &Latch,
    ) -> Option<ClusterId> {
        let restricted = usize::from(within != ClusterId::ROOT || awaited.is_some());
        self.restricted.fetch_add(restricted, SeqCst);
        let events = self.sleep.sleep(me, seen, latch, || self.raise_alarm_if_stuck(w));
        self.restricted.fetch_sub(restricted, SeqCst);
        events
    }

    /// All threads sleep, or are about to: if the policy holds jobs that it gives to none of them,
    /// raises the alarm.
    ///
    /// A continuation cannot leave its stack, so a waiting task can be *buried*: its thread took
    /// another task, which now waits for room that the buried task holds, or that a task holds
    /// which waits for the buried one. [`Self::get`] avoids that where rooms are as `sb` gives
    /// them; this is the net below it for any policy that refuses. On an alarm all waiting tasks
    /// give back what they hold of the caches, at once instead of at their end, and their threads
    /// may take anything: then no policy has a reason to refuse. (The space-bounded study's
    /// continuations are jobs of their own, so its schedulers do not know this case.)
    fn raise_alarm_if_stuck(&self, w: WorkerId) -> bool {
        let reason = self.holding.load(SeqCst) > 0 || self.restricted.load(SeqCst) > 0;
        let stuck = reason && self.queued.load(SeqCst) > 0;
        if stuck {
            self.alarm.fetch_add(1, SeqCst);
            self.notify(w, ClusterId::ROOT);
        }
        stuck
    }

    /// How often the alarm has been raised. A worker that sees a new value must give back what its
    /// waiting tasks hold, and is no longer held to what is bound to their anchors.
    pub(crate) fn alarm(&self) -> usize {
        self.alarm.load(SeqCst)
    }

    fn notify_room(&self, w: WorkerId, cluster: Option<ClusterId>) {
        if let Some(cluster) = cluster
            && self.queued.load(SeqCst) > 0
        {
            self.notify(w, cluster);
        }
    }

    /// Tells the threads under `cluster` that there may be something for them; from `w`'s on.
    #[inline]
    pub(crate) fn notify(&self, w: WorkerId, cluster: ClusterId) {
        let everywhere = cluster == ClusterId::ROOT;
        let under = |thread: &usize| {
            everywhere || self.machine().cluster(cluster).has(self.worker(*thread))
        };
        let threads = (0..self.threads).map(|i| (w.index() + i) % self.threads).filter(under);
        let all = || self.capabilities.may_refuse || self.restricted.load(SeqCst) > 0;
        self.sleep.notify(cluster, threads, all);
    }
}
