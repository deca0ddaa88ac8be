//! A policy with somebody who counts what it is given and what it hands out.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use befit::{ThreadPool, ThreadPoolBuilder};
use befit_machine::{Bytes, ClusterId, Machine, WorkerId};
use befit_sched::{
    Ask, Capabilities, Env, ForkOrder, Handle, Options, Policy, Ready, Scheduler, Strand, TaskInfo,
    Tiers,
};

use crate::Case;

/// What was added and not yet handed out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiting {
    /// The jobs as text, by number.
    jobs: Arc<Mutex<HashMap<u64, String>>>,
    /// How many were added.
    added: Arc<AtomicU64>,
    /// The case, where a panic may end the process before the case itself can be printed.
    case: Option<Arc<str>>,
}

impl Waiting {
    /// Of a pool: a panic of its threads in the policy ends the process.
    fn on_threads(case: &Case) -> Self {
        Self { case: Some(case.to_string().into()), ..Self::default() }
    }

    fn with<R>(&self, change: impl FnOnce(&mut HashMap<u64, String>) -> R) -> R {
        change(&mut self.jobs.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Everything that still waits.
    pub(crate) fn left(&self) -> Vec<String> {
        self.with(|jobs| jobs.values().cloned().collect())
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

/// A job, and how many were added before. Without the number, a job that is handed out again could
/// not be told from one that was added later and lies where it lay.
#[derive(Clone, Copy, Debug)]
struct Numbered<T> {
    job: T,
    number: u64,
}

/// Which jobs a worker accepts; all if `None`.
type Accepts<'a, T> = Option<&'a dyn Fn(&T) -> bool>;

#[derive(Debug)]
struct Watching<T> {
    scheduler: Box<dyn Scheduler<Numbered<T>>>,
    waiting: Waiting,
}

impl<T: Handle> Watching<T> {
    /// Panics, and prints the case, if `job` did not wait when the policy came up with it.
    fn must_wait(&self, waited: bool, job: &T, what: &str) {
        if let (false, Some(case)) = (waited, &self.waiting.case) {
            eprintln!("the case that failed: {case}");
        }
        assert!(waited, "{job:?} is {what}");
    }
}

impl<T: Handle> Scheduler<T> for Watching<T> {
    fn add(&self, w: WorkerId, ready: Ready<T>, env: &mut dyn Env) -> ClusterId {
        let Ready { job, task, stage } = ready;
        let number = self.waiting.added.fetch_add(1, Relaxed);
        // Before: another worker may have it at once.
        self.waiting.with(|jobs| jobs.insert(number, format!("{job:?}")));
        self.scheduler.add(w, Ready { job: Numbered { job, number }, task, stage }, env)
    }

    fn get(&self, w: WorkerId, ask: Ask<'_, T>, env: &mut dyn Env) -> Option<Ready<T>> {
        let Ask { within, accepts, own_only, as_thief, still_for } = ask;
        let accepted = |it: &Numbered<T>| {
            // The engine looks into the job, and its memory is gone once it has run.
            let waits = self.waiting.with(|jobs| jobs.contains_key(&it.number));
            self.must_wait(waits, &it.job, "shown after it was handed out");
            accepts.is_none_or(|accepts| accepts(&it.job))
        };
        let accepts: Accepts<'_, Numbered<T>> = accepts.is_some().then_some(&accepted);
        let ask = Ask { within, accepts, own_only, as_thief, still_for };
        let Ready { job, task, stage } = self.scheduler.get(w, ask, env)?;
        let Numbered { job, number } = job;
        let waited = self.waiting.with(|jobs| jobs.remove(&number)).is_some();
        self.must_wait(waited, &job, "handed out more often than it was added");
        Some(Ready { job, task, stage })
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

#[cfg(test)]
mod tests {
    use befit_sched::{QuietEnv, SchedulerKind, Stage};

    use super::*;

    /// Work stealing that shows the job that it has handed out last to who asks for certain ones.
    #[derive(Clone, Copy, Debug)]
    struct ShowsAgain;

    #[derive(Debug)]
    struct Showing<T> {
        ws: Box<dyn Scheduler<T>>,
        last: Mutex<Option<T>>,
    }

    impl Policy for ShowsAgain {
        fn build<T: Handle>(&self, machine: &Machine, options: Options) -> Box<dyn Scheduler<T>> {
            let ws = SchedulerKind::Ws.build(machine, options);
            Box::new(Showing { ws, last: Mutex::new(None) })
        }
    }

    impl<T: Handle> Scheduler<T> for Showing<T> {
        fn name(&self) -> &'static str {
            "shows again"
        }

        fn add(&self, w: WorkerId, ready: Ready<T>, env: &mut dyn Env) -> ClusterId {
            self.ws.add(w, ready, env)
        }

        fn get(&self, w: WorkerId, ask: Ask<'_, T>, env: &mut dyn Env) -> Option<Ready<T>> {
            let mut last = self.last.lock().unwrap();
            if let (Some(accepts), Some(job)) = (ask.accepts, &*last) {
                accepts(job);
            }
            let ready = self.ws.get(w, ask, env)?;
            *last = Some(ready.job);
            Some(ready)
        }
    }

    #[test]
    #[should_panic(expected = "7 is shown after it was handed out")]
    fn a_job_that_is_shown_after_it_was_handed_out_is_seen() {
        let watched = Watched { policy: ShowsAgain, waiting: Waiting::default() };
        let scheduler = watched.build::<u32>(&"pu:1".parse().unwrap(), Options::default());
        let (w, mut env) = (WorkerId(0), QuietEnv(fastrand::Rng::with_seed(1)));
        let shown = Mutex::new(Vec::new());
        let accepts = |job: &u32| {
            shown.lock().unwrap().push(*job);
            true
        };
        let ask = Ask { accepts: Some(&accepts), ..Ask::ANYTHING };
        let task = TaskInfo::root(None, None);
        scheduler.add(w, Ready { job: 7, task, stage: Stage::Start }, &mut env);
        let first = scheduler.get(w, ask, &mut env).map(|ready| ready.job);
        assert_eq!((first, &shown.lock().unwrap()[..]), (Some(7), &[7][..]));
        scheduler.get(w, ask, &mut env);
    }
}
