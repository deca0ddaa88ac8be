//! A policy with somebody who counts what it is given and what it hands out.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use befit::{ThreadPool, ThreadPoolBuilder};
use befit_machine::{Bytes, ClusterId, Machine, WorkerId};
use befit_sched::{
    Ask, Capabilities, Env, ForkOrder, Handle, Options, Policy, Ready, Scheduler, Strand, TaskInfo,
    Tiers,
};

use crate::Case;

/// What was added and not yet handed out: how often, by the job as text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiting {
    jobs: Arc<Mutex<HashMap<String, u32>>>,
    /// The case, where a panic may end the process before the case itself can be printed.
    case: Option<Arc<str>>,
}

impl Waiting {
    /// Of a pool: a panic of its threads in the policy ends the process.
    fn on_threads(case: &Case) -> Self {
        Self { case: Some(case.to_string().into()), ..Self::default() }
    }

    fn with<R>(&self, change: impl FnOnce(&mut HashMap<String, u32>) -> R) -> R {
        change(&mut self.jobs.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Everything that still waits.
    pub(crate) fn left(&self) -> Vec<String> {
        self.with(|jobs| jobs.keys().cloned().collect())
    }
}

/// A pool of some threads on the case's machine, under the policy; and what waits there. A pool
/// frees a job once it has run: one that it is given again is memory of nobody.
pub(crate) fn pool<P: Policy + Clone + 'static>(
    case: &mut Case,
    policy: &P,
) -> (ThreadPool, Waiting) {
    let watched = Watched { policy: policy.clone(), waiting: Waiting::on_threads(case) };
    let waiting = watched.waiting.clone();
    let pool = ThreadPoolBuilder::new()
        .num_threads(case.random.usize(1..9))
        .machine(case.machine.clone())
        .options(case.options)
        .policy(watched)
        .build()
        .expect("a pool under the policy");
    (pool, waiting)
}

/// `policy`, watched.
#[derive(Clone, Debug)]
pub(crate) struct Watched<P> {
    pub(crate) policy: P,
    pub(crate) waiting: Waiting,
}

impl<P: Policy> Policy for Watched<P> {
    fn build<T: Handle>(&self, machine: &Machine, options: Options) -> Box<dyn Scheduler<T>> {
        let scheduler = self.policy.build(machine, options);
        Box::new(Watching { scheduler, waiting: self.waiting.clone() })
    }

    fn minds_places(&self) -> bool {
        self.policy.minds_places()
    }
}

#[derive(Debug)]
struct Watching<T> {
    scheduler: Box<dyn Scheduler<T>>,
    waiting: Waiting,
}

impl<T: Handle> Scheduler<T> for Watching<T> {
    fn add(&self, w: WorkerId, ready: Ready<T>, env: &mut dyn Env) -> ClusterId {
        // Before: another worker may have it at once.
        self.waiting.with(|jobs| *jobs.entry(format!("{:?}", ready.job)).or_default() += 1);
        self.scheduler.add(w, ready, env)
    }

    fn get(&self, w: WorkerId, ask: Ask<'_, T>, env: &mut dyn Env) -> Option<Ready<T>> {
        let ready = self.scheduler.get(w, ask, env)?;
        let job = format!("{:?}", ready.job);
        let left = self.waiting.with(|jobs| {
            let left = jobs.get_mut(&job).map(|times| {
                *times -= 1;
                *times
            });
            if left == Some(0) {
                jobs.remove(&job);
            }
            left
        });
        if let (None, Some(case)) = (left, &self.waiting.case) {
            eprintln!("the case that failed: {case}");
        }
        assert!(left.is_some(), "{job} is handed out more often than it was added");
        Some(ready)
    }

    fn name(&self) -> &'static str {
        self.scheduler.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.scheduler.capabilities()
    }

    fn has_threads(&self, workers: u32) {
        self.scheduler.has_threads(workers);
    }

    fn fork_order(&self, parent: &TaskInfo) -> ForkOrder {
        self.scheduler.fork_order(parent)
    }

    fn due(&self, w: WorkerId, env: &mut dyn Env) -> Option<Duration> {
        self.scheduler.due(w, env)
    }

    fn has_own(&self, w: WorkerId) -> bool {
        self.scheduler.has_own(w)
    }

    fn resume(&self, w: WorkerId, task: &TaskInfo, env: &mut dyn Env) {
        self.scheduler.resume(w, task, env);
    }

    fn done(&self, w: WorkerId, strand: &Strand, env: &mut dyn Env) -> Option<ClusterId> {
        self.scheduler.done(w, strand, env)
    }

    fn task_ended(&self, w: WorkerId, task: &TaskInfo, env: &mut dyn Env) -> Option<ClusterId> {
        self.scheduler.task_ended(w, task, env)
    }

    fn tiers(&self) -> Option<Tiers> {
        self.scheduler.tiers()
    }

    fn occupancy(&self, cluster: ClusterId) -> Option<Bytes> {
        self.scheduler.occupancy(cluster)
    }

    fn place(&self, task: &TaskInfo) -> ClusterId {
        self.scheduler.place(task)
    }

    fn check(&self) {
        self.scheduler.check();
    }
}
