//! Tests of policies that refuse what is ready: who is woken once they no longer do.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

use befit_machine::{ClusterId, Machine, WorkerId};
use befit_sched::{
    Ask, Capabilities, Env, Handle, Options, Policy, Ready, Scheduler, Strand, TaskInfo,
};

use crate::{threads::testing::*, *};

/// Work stealing that gives out one job and then refuses all others until that job's task has
/// ended.
#[derive(Debug)]
struct OneAtATime;

#[derive(Debug)]
struct Gate<T> {
    inner: Box<dyn Scheduler<T>>,
    given: AtomicBool,
    ended: AtomicBool,
}

impl Policy for OneAtATime {
    fn build<T: Handle>(&self, machine: &Machine, options: Options) -> Box<dyn Scheduler<T>> {
        Box::new(Gate {
            inner: SchedulerKind::Ws.build(machine, options),
            given: AtomicBool::new(false),
            ended: AtomicBool::new(false),
        })
    }
}

impl<T: Handle> Scheduler<T> for Gate<T> {
    fn name(&self) -> &'static str {
        "one at a time"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { may_refuse: true, ..Capabilities::default() }
    }

    fn add(&self, w: WorkerId, ready: Ready<T>, env: &mut dyn Env) -> ClusterId {
        self.inner.add(w, ready, env)
    }

    fn get(&self, w: WorkerId, ask: Ask<'_, T>, env: &mut dyn Env) -> Option<Ready<T>> {
        if self.ended.load(SeqCst) {
            return self.inner.get(w, ask, env);
        }
        if self.given.load(SeqCst) {
            return None;
        }
        let mut ready = self.inner.get(w, ask, env)?;
        self.given.store(true, SeqCst);
        // It holds something until it ends.
        ready.task.maximal = true;
        Some(ready)
    }

    fn task_ended(&self, _: WorkerId, task: &TaskInfo, _: &mut dyn Env) -> Option<ClusterId> {
        if !task.maximal {
            return None;
        }
        self.ended.store(true, SeqCst);
        Some(ClusterId::ROOT)
    }
}

/// The root waits for what the policy refuses as long as the root has not ended.
#[test]
fn the_last_worker_to_sleep_frees_a_pool_that_is_stuck() {
    let _watchdog = watchdog(MINUTE);
    for threads in [1, 2, 3] {
        let builder =
            ThreadPoolBuilder::new().num_threads(threads).machine("pu:4".parse().unwrap());
        let pool = builder.policy(OneAtATime).build().unwrap();
        let ran = AtomicUsize::new(0);
        pool.scope(|s| (0..3).for_each(|_| s.spawn(|_| add(&ran, 1))));
        assert_eq!(ran.into_inner(), 3, "{threads} threads");
    }
}

/// Binds roots to the outermost cache, and what they spawn to nothing.
#[derive(Debug)]
struct BoundRoots;

#[derive(Debug)]
struct Bound<T>(Mutex<Vec<Ready<T>>>);

impl Policy for BoundRoots {
    fn build<T: Handle>(&self, _: &Machine, _: Options) -> Box<dyn Scheduler<T>> {
        Box::new(Bound(Mutex::new(Vec::new())))
    }
}

impl<T: Handle> Scheduler<T> for Bound<T> {
    fn name(&self) -> &'static str {
        "bound roots"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { may_refuse: true, ..Capabilities::default() }
    }

    fn add(&self, _: WorkerId, ready: Ready<T>, _: &mut dyn Env) -> ClusterId {
        self.0.lock().unwrap().push(ready);
        ClusterId::ROOT
    }

    fn get(&self, _: WorkerId, ask: Ask<'_, T>, _: &mut dyn Env) -> Option<Ready<T>> {
        let mut jobs = self.0.lock().unwrap();
        let is_root = jobs.last()?.task.depth == 0;
        if !is_root && ask.within != ClusterId::ROOT {
            return None;
        }
        let mut ready = jobs.pop()?;
        ready.task.anchor = if is_root { ClusterId(1) } else { ClusterId::ROOT };
        Some(ready)
    }
}

/// No task holds anything that it could give back: the root's worker, the only one, may take
/// nothing of what is bound to no cache.
#[test]
fn the_last_worker_to_sleep_may_take_what_is_bound_elsewhere() {
    let _watchdog = watchdog(MINUTE);
    let machine = "l2:1(size=256KiB) pu:1".parse().unwrap();
    let builder = ThreadPoolBuilder::new().num_threads(1).machine(machine);
    let pool = builder.policy(BoundRoots).build().unwrap();
    let ran = AtomicUsize::new(0);
    pool.scope(|s| (0..3).for_each(|_| s.spawn(|_| add(&ran, 1))));
    assert_eq!(ran.into_inner(), 3);
}

/// Keeps the root's one child from the root's worker, and from others while a strand of the root
/// runs.
#[derive(Clone, Debug, Default)]
struct AfterTheStrand(Arc<Seen>);

/// What such a policy has seen.
#[derive(Debug, Default)]
struct Seen {
    /// Another worker was refused the child.
    refused: AtomicBool,
    /// Another worker has asked again as nothing happened for long.
    stalled: AtomicBool,
}

#[derive(Debug)]
struct Keeps<T> {
    jobs: Mutex<Vec<Ready<T>>>,
    roots_worker: Mutex<Option<WorkerId>>,
    root_runs: AtomicBool,
    seen: Arc<Seen>,
}

impl Policy for AfterTheStrand {
    fn build<T: Handle>(&self, _: &Machine, _: Options) -> Box<dyn Scheduler<T>> {
        Box::new(Keeps {
            jobs: Mutex::new(Vec::new()),
            roots_worker: Mutex::new(None),
            root_runs: AtomicBool::new(false),
            seen: Arc::clone(&self.0),
        })
    }
}

impl<T: Handle> Scheduler<T> for Keeps<T> {
    fn name(&self) -> &'static str {
        "after the strand"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { may_refuse: true, ..Capabilities::default() }
    }

    fn add(&self, _: WorkerId, ready: Ready<T>, _: &mut dyn Env) -> ClusterId {
        self.jobs.lock().unwrap().push(ready);
        ClusterId::ROOT
    }

    fn get(&self, w: WorkerId, ask: Ask<'_, T>, _: &mut dyn Env) -> Option<Ready<T>> {
        let mut jobs = self.jobs.lock().unwrap();
        let job = jobs.last()?;
        let mut roots_worker = self.roots_worker.lock().unwrap();
        if job.task.depth == 0 {
            *roots_worker = Some(w);
            self.root_runs.store(true, SeqCst);
            return jobs.pop();
        }
        if *roots_worker == Some(w) {
            return None;
        }
        self.seen.stalled.fetch_or(ask.is_stalled(), SeqCst);
        if self.root_runs.load(SeqCst) {
            self.seen.refused.store(true, SeqCst);
            return None;
        }
        jobs.pop()
    }

    fn resume(&self, _: WorkerId, task: &TaskInfo, _: &mut dyn Env) {
        self.root_runs.fetch_or(task.depth == 0, SeqCst);
    }

    fn done(&self, _: WorkerId, strand: &Strand, _: &mut dyn Env) -> Option<ClusterId> {
        let is_root = strand.task.depth == 0;
        self.root_runs.fetch_and(!is_root, SeqCst);
        is_root.then_some(ClusterId::ROOT)
    }
}

/// Without the notification the sleeper looks again only after it has slept for long.
#[test]
fn a_worker_that_was_refused_something_is_woken_when_a_strand_ends_that_kept_it() {
    let _watchdog = watchdog(MINUTE);
    let mut at_once = 0;
    for _ in 0..1000 {
        let policy = AfterTheStrand::default();
        let seen = Arc::clone(&policy.0);
        let builder = ThreadPoolBuilder::new().num_threads(2).machine("pu:2".parse().unwrap());
        let pool = builder.policy(policy).build().unwrap();
        // Between the strands before and after the spawn the other worker may have the child.
        let taken = AtomicBool::new(false);
        pool.scope(|s| {
            s.spawn(|_| taken.store(true, SeqCst));
            wait_until(|| seen.refused.load(SeqCst) && the_others_sleep() || taken.load(SeqCst));
        });
        let refused = seen.refused.load(SeqCst);
        at_once += u32::from(refused && !seen.stalled.load(SeqCst));
        // Not each time: on a busy machine all may take long.
        if at_once == 3 {
            return;
        }
    }
    panic!("at once only {at_once} times");
}

/// Keeps the root's child from all workers for [`AWHILE`].
#[derive(Clone, Debug, Default)]
struct Awhile {
    seen: Arc<Seen>,
    /// Says that it will do so for so long.
    told: Option<Duration>,
}

const AWHILE: Duration = Duration::from_millis(20);

#[derive(Debug)]
struct Late<T> {
    jobs: Mutex<Vec<(Ready<T>, Instant)>>,
    seen: Arc<Seen>,
    told: Option<Duration>,
}

impl Policy for Awhile {
    fn build<T: Handle>(&self, _: &Machine, _: Options) -> Box<dyn Scheduler<T>> {
        let Self { seen, told } = self.clone();
        Box::new(Late { jobs: Mutex::new(Vec::new()), seen, told })
    }
}

impl<T: Handle> Scheduler<T> for Late<T> {
    fn name(&self) -> &'static str {
        "late"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { may_refuse: true, ..Capabilities::default() }
    }

    fn add(&self, _: WorkerId, ready: Ready<T>, _: &mut dyn Env) -> ClusterId {
        let wait = if ready.task.depth == 0 { Duration::ZERO } else { AWHILE };
        self.jobs.lock().unwrap().push((ready, Instant::now() + wait));
        ClusterId::ROOT
    }

    fn get(&self, _: WorkerId, ask: Ask<'_, T>, _: &mut dyn Env) -> Option<Ready<T>> {
        let mut jobs = self.jobs.lock().unwrap();
        if jobs.last()?.1 > Instant::now() {
            self.seen.refused.store(true, SeqCst);
            return None;
        }
        self.seen.stalled.fetch_or(ask.is_stalled(), SeqCst);
        jobs.pop().map(|(ready, _)| ready)
    }

    fn due(&self, _: WorkerId, _: &mut dyn Env) -> Option<Duration> {
        let jobs = self.jobs.lock().unwrap();
        let (_, at) = jobs.last()?;
        Some(self.told.unwrap_or_else(|| at.saturating_duration_since(Instant::now())))
    }
}

/// Nothing else happens meanwhile. One that did not know would sleep for long.
#[test]
fn a_worker_asks_again_when_what_was_kept_from_it_is_due() {
    let _watchdog = watchdog(MINUTE);
    for threads in [1, 2] {
        let mut in_time = 0;
        for _ in 0..20 {
            let policy = Awhile::default();
            let seen = Arc::clone(&policy.seen);
            let machine = "pu:2".parse().unwrap();
            let builder = ThreadPoolBuilder::new().num_threads(threads).machine(machine);
            let pool = builder.policy(policy).build().unwrap();
            let ran = AtomicUsize::new(0);
            pool.scope(|s| s.spawn(|_| add(&ran, 1)));
            assert_eq!(ran.into_inner(), 1);
            in_time += u32::from(seen.refused.load(SeqCst) && !seen.stalled.load(SeqCst));
        }
        // Not each time: on a busy machine all may take long.
        assert!(in_time >= 3, "{in_time} of 20 times with {threads} threads");
    }
}

/// Of times that no clock has, the worker looks again after a while all the same. Of a time that is
/// always now, it asks all the time.
#[test]
fn whatever_a_policy_says_when_something_is_due_it_runs() {
    let _watchdog = watchdog(MINUTE);
    for told in [Duration::ZERO, Duration::MAX] {
        let policy = Awhile { told: Some(told), ..Awhile::default() };
        let builder = ThreadPoolBuilder::new().num_threads(2).machine("pu:2".parse().unwrap());
        let pool = builder.policy(policy).build().unwrap();
        let ran = AtomicUsize::new(0);
        pool.scope(|s| s.spawn(|_| add(&ran, 1)));
        assert_eq!(ran.into_inner(), 1);
    }
}
