//! The kit sees a policy that breaks a promise.

use std::{
    env,
    process::Command,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    time::Duration,
};

use befit_machine::{ClusterId, Machine, WorkerId};
use befit_sched::{
    Ask, Capabilities, Env, ForkOrder, Handle, Options, Policy, Ready, Scheduler, SchedulerKind,
    TaskInfo,
};

use crate::{PATIENCE, in_simulator, in_small_engine, series_parallel, threads};

/// A computation on threads that takes longer hangs: it is known to lose a task.
const SHORT: Duration = Duration::from_millis(500);

/// Work stealing, with a fault in the fifth task.
#[derive(Clone, Copy, Debug)]
enum Broken {
    LosesIt,
    /// It says that it may refuse.
    MayRefuseAndLosesIt,
    AddsItTwice,
    /// It is bound to the cluster that has the highest number.
    BindsItElsewhere,
}

#[derive(Debug)]
struct Faulty<T> {
    ws: Box<dyn Scheduler<T>>,
    fault: Broken,
    last: ClusterId,
    added: AtomicU32,
}

impl Policy for Broken {
    fn build<T: Handle>(&self, machine: &Machine, options: Options) -> Box<dyn Scheduler<T>> {
        let ws = SchedulerKind::Ws.build(machine, options);
        let last = ClusterId(machine.clusters().len() as u32 - 1);
        Box::new(Faulty { ws, fault: *self, last, added: AtomicU32::new(0) })
    }
}

impl<T: Handle> Scheduler<T> for Faulty<T> {
    fn name(&self) -> &'static str {
        "broken"
    }

    fn capabilities(&self) -> Capabilities {
        let may_refuse = matches!(self.fault, Broken::MayRefuseAndLosesIt);
        // All that is forked and spawned comes here, so there is a fifth task.
        let usual = self.ws.capabilities();
        Capabilities { may_refuse, sees_forks: true, own_newest_first: false, ..usual }
    }

    fn fork_order(&self, _: &TaskInfo) -> ForkOrder {
        ForkOrder::ParentFirst
    }

    fn add(&self, w: WorkerId, mut ready: Ready<T>, env: &mut dyn Env) -> ClusterId {
        if self.added.fetch_add(1, Relaxed) == 4 {
            match self.fault {
                Broken::LosesIt | Broken::MayRefuseAndLosesIt => return ClusterId::ROOT,
                Broken::AddsItTwice => _ = self.ws.add(w, ready, env),
                Broken::BindsItElsewhere => ready.task.anchor = self.last,
            }
        }
        self.ws.add(w, ready, env)
    }

    fn get(&self, w: WorkerId, ask: Ask<'_, T>, env: &mut dyn Env) -> Option<Ready<T>> {
        self.ws.get(w, ask, env)
    }
}

#[test]
fn a_lost_task_is_missed_in_the_small_engine() {
    // By a worker that asks for just that, or in the end, as the policy may refuse it.
    let missed = |seed| {
        let run = || in_small_engine(&Broken::MayRefuseAndLosesIt, seed..seed + 1);
        let panic = std::panic::catch_unwind(run).err()?;
        let said = panic.downcast_ref::<String>().map(String::as_str);
        said.or_else(|| panic.downcast_ref::<&str>().copied()).map(str::to_owned)
    };
    let missed: Vec<String> = (0..20).filter_map(missed).collect();
    for how in ["what is ready and accepted is found", "broken got stuck"] {
        assert!(missed.iter().any(|said| said.contains(how)), "{how}: {missed:?}");
    }
}

#[test]
#[should_panic(expected = "a policy that may not refuse gives an idle worker what is ready")]
fn a_refusal_by_a_policy_that_may_not_is_noticed() {
    in_small_engine(&Broken::LosesIt, 0..20);
}

#[test]
#[should_panic(expected = "the program ends: Stuck")]
fn a_lost_task_leaves_the_simulator_stuck() {
    in_simulator(&Broken::LosesIt, 0..20);
}

#[test]
#[should_panic(expected = "a strand is handed out once")]
fn a_task_that_is_handed_out_twice_is_seen() {
    in_small_engine(&Broken::AddsItTwice, 0..20);
}

/// The first half of [`crate::on_both_engines`].
fn in_virtual_time(policy: Broken) {
    for seed in 0..20 {
        let (case, part, strands) = series_parallel::program(seed);
        series_parallel::simulate(&case, &policy, &part, strands);
    }
}

/// The second half.
fn on_pools(policy: Broken, patience: Duration) {
    for seed in 0..20 {
        let (mut case, part, strands) = series_parallel::program(seed);
        series_parallel::on_pool(&mut case, &policy, &part, strands, patience);
    }
}

#[test]
#[should_panic(expected = "more often than it was added")]
fn a_task_that_is_handed_out_twice_is_seen_by_the_watcher_in_virtual_time() {
    in_virtual_time(Broken::AddsItTwice);
}

#[test]
#[should_panic(expected = "the program ends")]
fn a_lost_task_is_missed_by_the_watcher_in_virtual_time() {
    in_virtual_time(Broken::LosesIt);
}

#[test]
#[should_panic(expected = "the computation ends")]
fn a_lost_task_is_missed_in_a_series_parallel_program_on_threads() {
    on_pools(Broken::LosesIt, SHORT);
}

#[test]
#[should_panic(expected = "the computation ends")]
fn a_lost_task_is_missed_on_threads() {
    (0..20).for_each(|seed| threads::within(&Broken::LosesIt, seed, SHORT));
}

/// Runs the ignored test of that name in a process of its own, and looks that it fails because a
/// job is handed out twice, and says which case did so. If the worker that comes second asks only
/// for jobs of some kind, it is shown the job before it could get it, and the watcher says so.
fn dies_of_a_second_hand_out(test: &str) {
    let mut command = Command::new(env::current_exe().unwrap());
    let output = command.args(["--exact", test, "--nocapture", "--ignored"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{said}");
    let ways = ["is handed out more often than it was added", "is shown after it was handed out"];
    assert!(ways.iter().any(|way| said.contains(way)), "{said}");
    let seed = said.split("the case that failed: seed ").nth(1).expect("the seed is printed");
    assert!(seed.starts_with(|c: char| c.is_ascii_digit()), "{said}");
}

#[test]
fn a_task_that_is_handed_out_twice_on_threads_ends_the_process_with_its_seed() {
    dies_of_a_second_hand_out("tests::hands_out_twice_on_threads");
    dies_of_a_second_hand_out("tests::hands_out_twice_in_a_series_parallel_program");
}

#[test]
#[ignore = "ends the process: another test runs it"]
fn hands_out_twice_on_threads() {
    (0..20).for_each(|seed| threads::within(&Broken::AddsItTwice, seed, PATIENCE));
}

#[test]
#[ignore = "ends the process: another test runs it"]
fn hands_out_twice_in_a_series_parallel_program() {
    on_pools(Broken::AddsItTwice, PATIENCE);
}

#[test]
#[should_panic(expected = "anchored property")]
fn a_task_outside_its_cluster_is_seen() {
    in_small_engine(&Broken::BindsItElsewhere, 0..20);
}

/// Work stealing that insists on having been told how many workers run anything.
#[derive(Clone, Copy, Debug)]
struct Told;

#[derive(Debug)]
struct ToldFirst<T> {
    ws: Box<dyn Scheduler<T>>,
    workers: AtomicU32,
}

impl Policy for Told {
    fn build<T: Handle>(&self, machine: &Machine, options: Options) -> Box<dyn Scheduler<T>> {
        let ws = SchedulerKind::Ws.build(machine, options);
        Box::new(ToldFirst { ws, workers: AtomicU32::new(0) })
    }
}

impl<T: Handle> Scheduler<T> for ToldFirst<T> {
    fn name(&self) -> &'static str {
        "told"
    }

    fn has_threads(&self, workers: u32) {
        assert_eq!(self.workers.swap(workers, Relaxed), 0, "said once");
    }

    fn add(&self, w: WorkerId, ready: Ready<T>, env: &mut dyn Env) -> ClusterId {
        assert!(w.0 < self.workers.load(Relaxed), "only workers with threads call");
        self.ws.add(w, ready, env)
    }

    fn get(&self, w: WorkerId, ask: Ask<'_, T>, env: &mut dyn Env) -> Option<Ready<T>> {
        assert!(w.0 < self.workers.load(Relaxed), "only workers with threads call");
        self.ws.get(w, ask, env)
    }
}

#[test]
fn every_engine_says_first_how_many_workers_run_anything() {
    in_small_engine(&Told, 0..20);
    in_simulator(&Told, 0..5);
    threads::on_threads(&Told, 0..5);
}
