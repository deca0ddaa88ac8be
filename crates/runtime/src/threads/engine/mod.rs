//! The upper layer: forks that other workers need, and how the policy decides about them.
//!
//! The engine of a pool holds its policy (any [`Scheduler`]), calls it as the protocol of
//! [`Scheduler`] requires, and notifies the workers that may take what became ready. The lower
//! layer ([`super::fork`]) calls the engine only for forks that it publishes.

mod env;
mod job;
mod lineage;
mod meter;

use std::{
    fmt,
    sync::{Arc, atomic::Ordering::SeqCst},
    time::Duration,
};

use befit_machine::{Cluster, ClusterId, Machine, WorkerId};
use befit_sched::{
    Ask, Capabilities, CountSource, Env, Finds, Options, Policy, Ready, Scheduler, SchedulerKind,
    Stage, Strand, TaskInfo,
    forks::{ForkThresholds, may_keep_spawned},
    sizes::SizeTable,
};
use crossbeam_utils::CachePadded;

pub(crate) use self::{
    env::{Random, ThreadEnv},
    job::{
        About, Closure, JobHeader, JobRef, JobTable, NoUnwind, Sizes, SpawnedHeader, SpawnedRef,
    },
    lineage::{Ancestor, Lineage, LineageRef, Stack},
    meter::Meter,
};
use crate::{
    WaitPolicy,
    machine::PoolMachine,
    threads::{
        primitive::{AtomicUsize, processors},
        sleep::{Notification, Sleep},
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
    /// What is known of tasks that declare no size, if that matters to the policy.
    pub(super) sizes: Option<Arc<SizeTable>>,
    /// Of a spawned task more must be known than who spawned it: its number, or its size.
    pub(super) looks_at_spawned: bool,
    /// Workers may keep what they spawn: see `worker/outbox.rs`.
    pub(crate) keeps_spawned: bool,
    wait_policy: WaitPolicy,
    pub(super) threads: usize,
    /// How many threads of the pool stand under each cluster; only the root's number if the policy
    /// does not mind which workers share a cache.
    threads_under: Vec<usize>,
    /// Jobs that the policy holds; counted only under policies that may refuse them.
    queued: CachePadded<AtomicUsize>,
    /// Tasks that hold part of a cache: maximal ones that the policy gave out and that have not
    /// ended.
    holding: CachePadded<AtomicUsize>,
    /// Counts how often the pool was stuck: see [`Self::raise_alarm`].
    alarm: AtomicUsize,
    pub(crate) sleep: Sleep,
}

impl Engine {
    pub(crate) fn new(
        kind: Option<SchedulerKind>,
        policy: &dyn AnyPolicy,
        machine: PoolMachine,
        options: Options,
        sizes: Option<Arc<SizeTable>>,
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
        policy.has_threads(threads.min(machine.workers()) as u32);
        let capabilities = policy.capabilities();
        let sizes = sizes.filter(|_| capabilities.uses_sizes);
        Self {
            kind,
            capabilities,
            policy,
            options,
            keeps_spawned: may_keep_spawned(&capabilities),
            looks_at_spawned: capabilities.sees_forks || sizes.is_some(),
            sizes,
            wait_policy,
            threads,
            threads_under,
            queued: CachePadded::new(AtomicUsize::new(0)),
            holding: CachePadded::new(AtomicUsize::new(0)),
            alarm: AtomicUsize::new(0),
            sleep: Sleep::new(threads, processors()),
            machine,
        }
    }

    /// The pool's machine. The first call may read it from the system.
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

    /// Where the sizes of tasks come from.
    pub(crate) fn size_source(&self) -> CountSource {
        if self.sizes.is_some() { CountSource::Learned } else { CountSource::Declared }
    }

    /// Whether the scheduler can keep waiting workers to the pool's [`WaitPolicy`].
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
    pub(crate) fn add(&self, w: WorkerId, job: JobRef, task: TaskInfo, env: &mut dyn Env) {
        let cluster = self.give(w, job, task, env);
        self.notify(w, cluster);
    }

    /// As [`Self::add`], from a thread outside the pool, which most likely waits then.
    pub(crate) fn add_from_outside(
        &self,
        w: WorkerId,
        job: JobRef,
        task: TaskInfo,
        env: &mut dyn Env,
    ) {
        let cluster = self.give(w, job, task, env);
        self.send(w, Notification { cluster, passed_on: false, goes_on: false });
    }

    /// Gives the policy the start of `task`; returns what is to be notified.
    #[inline(always)]
    fn give(&self, w: WorkerId, job: JobRef, mut task: TaskInfo, env: &mut dyn Env) -> ClusterId {
        if self.capabilities.sees_forks && task.depth == 0 {
            // It distinguishes one computation of the program from another.
            // SAFETY: the job has not been executed: the policy gets it only below.
            task.index = unsafe { job.site() };
        }
        if self.capabilities.may_refuse {
            // Before the add: see "What is notified" in sleep/README.md.
            self.queued.fetch_add(1, SeqCst);
        }
        self.policy.add(w, Ready { job, task, stage: Stage::Start }, env)
    }

    /// `w` made `ready` ready some time ago, and notified of it. Where the policy has waited for
    /// it, those that it is for are not known before now.
    pub(crate) fn add_kept(&self, w: WorkerId, ready: Ready<JobRef>, env: &mut dyn Env) {
        if self.capabilities.defers_spawned {
            self.add(w, ready.job, ready.task, env);
        } else {
            self.policy.add(w, ready, env);
        }
    }

    /// What `w` runs next. A worker that is [narrowed](Self::narrowed) to descendants gives as
    /// `awaited` what it waits for. Any other worker gets nothing from above `within`, the anchor
    /// of the task that waits on its stack.
    ///
    /// The new task lies on top of the waiting one, which cannot go on before the new one has
    /// ended. If the new task came from above, the waiting one would hold its part of the cache for
    /// nothing, and the stack would grow by a task for each level of the tree of caches, again and
    /// again.
    ///
    /// `owns_none`: nothing waits that this thread of `w` has forked.
    pub(crate) fn get(
        &self,
        w: WorkerId,
        within: ClusterId,
        awaited: Option<Ancestor>,
        owns_none: bool,
        env: &mut dyn Env,
    ) -> Option<Ready<JobRef>> {
        let as_thief = owns_none && self.shares_workers();
        let Some(awaited) = awaited else {
            return self.ask(w, Ask { within, as_thief, ..Ask::ANYTHING }, env);
        };
        self.ask_for(w, awaited, Ask { as_thief, ..Ask::ANYTHING }, env)
    }

    /// Whether several threads are one worker.
    fn shares_workers(&self) -> bool {
        self.threads > self.workers()
    }

    /// As [`Self::get`], of what `w` finds without stealing, and descends from `awaited`.
    pub(crate) fn get_own_descendant(
        &self,
        w: WorkerId,
        awaited: Ancestor,
        env: &mut dyn Env,
    ) -> Option<Ready<JobRef>> {
        self.ask_for(w, awaited, Ask { own_only: true, ..Ask::ANYTHING }, env)
    }

    fn ask_for(
        &self,
        w: WorkerId,
        awaited: Ancestor,
        ask: Ask<'_, JobRef>,
        env: &mut dyn Env,
    ) -> Option<Ready<JobRef>> {
        // SAFETY: a policy shows only jobs that it has not returned from `get`, and returns none of
        // them before the call ends.
        let accepts = |job: &JobRef| unsafe { job.is_or_descends_from(awaited) };
        self.ask(w, Ask { accepts: Some(&accepts), ..ask }, env)
    }

    /// `awaited` if a worker that waits for it may run only its descendants: by the pool's
    /// [`WaitPolicy`], or because the worker is `deep` and must not pile up more on its stack.
    /// `None` if the worker may run anything, as always under policies that may not find
    /// descendants.
    pub(crate) fn narrowed(&self, awaited: Option<Ancestor>, deep: bool) -> Option<Ancestor> {
        awaited.filter(|_| {
            (deep || self.wait_policy == WaitPolicy::Descendants)
                && self.policy.capabilities().finds == Finds::Everything
        })
    }

    /// Worker `w`, which waits for `awaited` alone or for anything, has found nothing:
    /// [`due`](befit_sched::Scheduler::due).
    pub(crate) fn due(
        &self,
        w: WorkerId,
        awaited: Option<Ancestor>,
        env: &mut dyn Env,
    ) -> Option<Duration> {
        if awaited.is_some() || !self.capabilities.may_refuse {
            return None;
        }
        self.policy.due(w, env)
    }

    /// As [`Self::get`], for a worker that was refused something while [nothing
    /// happened](Ask::still_for) for so long.
    pub(crate) fn get_stalled(
        &self,
        w: WorkerId,
        still_for: Duration,
        env: &mut dyn Env,
    ) -> Option<Ready<JobRef>> {
        self.ask(w, Ask { still_for, ..Ask::ANYTHING }, env)
    }

    /// As [`Self::get`], of what `w` finds without stealing, and accepts.
    pub(crate) fn get_own(
        &self,
        w: WorkerId,
        within: ClusterId,
        accepts: Option<&dyn Fn(&JobRef) -> bool>,
        env: &mut dyn Env,
    ) -> Option<Ready<JobRef>> {
        self.ask(w, Ask { within, accepts, own_only: true, ..Ask::ANYTHING }, env)
    }

    /// Asks the policy, and counts what it gives out, under policies that may refuse.
    #[inline(always)]
    fn ask(&self, w: WorkerId, ask: Ask<'_, JobRef>, env: &mut dyn Env) -> Option<Ready<JobRef>> {
        let ready = self.policy.get(w, ask, env);
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
        self.notify_space(w, cluster);
    }

    /// `task` has ended on `w`.
    pub(crate) fn task_ended(&self, w: WorkerId, task: &TaskInfo, env: &mut dyn Env) {
        if task.maximal {
            self.holding.fetch_sub(1, SeqCst);
        }
        let cluster = self.policy.task_ended(w, task, env);
        self.notify_space(w, cluster);
    }

    /// Whether the policy holds jobs that it may have refused to a worker, and may give to another.
    pub(crate) fn leaves_work(&self) -> bool {
        self.capabilities.may_refuse && self.queued.load(SeqCst) > 0
    }

    /// Whether the pool is deadlocked if all its threads sleep: the policy holds jobs that it gives
    /// to none of them.
    ///
    /// A continuation cannot leave its stack, so a waiting task can be *buried*: its thread took
    /// another task, which now waits for space that the buried task holds, or that a task holds
    /// which waits for the buried one. [`Self::get`] avoids that for `sb` and `sb-d`; the alarm is
    /// for any policy that refuses. On an alarm all waiting tasks give back what they hold of the
    /// caches, at once instead of at their end, and their threads may take anything. Then no policy
    /// has a reason to refuse. (In Simhadri et al. (2016) continuations are jobs of their own, so
    /// the case does not arise.)
    pub(crate) fn is_stuck(&self) -> bool {
        self.leaves_work() && (self.holding.load(SeqCst) > 0 || self.sleep.holds_any())
    }

    /// Raises the alarm: see [`Self::is_stuck`].
    pub(crate) fn raise_alarm(&self) {
        self.alarm.fetch_add(1, SeqCst);
        self.sleep.notify_all();
    }

    /// How often the alarm has been raised. A worker that sees a new value must give back what its
    /// waiting tasks hold, and is no longer held to what is bound to their anchors.
    pub(crate) fn alarm(&self) -> usize {
        self.alarm.load(SeqCst)
    }

    /// Notifies the threads under `cluster`, where space became free, if the policy holds jobs.
    /// There may be room for more than one of them.
    fn notify_space(&self, w: WorkerId, cluster: Option<ClusterId>) {
        if let Some(cluster) = cluster
            && self.queued.load(SeqCst) > 0
        {
            self.pass_on(w, cluster);
        }
    }

    /// Notifies the threads under `cluster`, from `w`'s on, that they may find a job.
    #[inline]
    pub(crate) fn notify(&self, w: WorkerId, cluster: ClusterId) {
        self.send(w, Notification { cluster, passed_on: false, goes_on: true });
    }

    /// As [`Self::notify`]; there may be more than one job.
    pub(crate) fn pass_on(&self, w: WorkerId, cluster: ClusterId) {
        self.send(w, Notification { cluster, passed_on: true, goes_on: true });
    }

    #[inline]
    fn send(&self, w: WorkerId, notification: Notification) {
        let everywhere = notification.cluster == ClusterId::ROOT;
        let under = |thread: &usize| {
            everywhere || self.machine().cluster(notification.cluster).has(self.worker(*thread))
        };
        let has_own = |thread| self.policy.has_own(self.worker(thread));
        let has_own: Option<&dyn Fn(usize) -> bool> =
            if self.capabilities.may_refuse { Some(&has_own) } else { None };
        self.sleep.notify(notification, || self.threads_from(w).filter(under), has_own);
    }

    /// Wakes a thread that has not looked for work since the last notification, from `w`'s on.
    pub(crate) fn wake_next(&self, w: WorkerId) {
        self.sleep.wake_next(self.threads_from(w));
    }

    /// All threads, from `w`'s on.
    fn threads_from(&self, w: WorkerId) -> impl Iterator<Item = usize> + use<> {
        let first = w.index().min(self.threads);
        (first..self.threads).chain(0..first)
    }
}
