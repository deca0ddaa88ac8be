//! The built-in policies keep their promises, and the kit sees a policy that breaks them.

use std::{
    ops::Range,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use befit_machine::{ClusterId, Machine, WorkerId};
use befit_sched::{
    Ask, Capabilities, Env, Handle, Options, Policy, Ready, Scheduler, SchedulerKind,
};
use befit_testkit::{in_simulator, in_small_engine, on_both_engines, on_threads};

#[test]
fn every_policy_ends_every_computation_anchored_and_bounded() {
    SchedulerKind::ALL.iter().for_each(|kind| in_small_engine(kind, 0..60));
}

#[test]
fn every_program_ends_with_every_touch_made() {
    SchedulerKind::ALL.iter().for_each(|kind| in_simulator(kind, 0..20));
}

#[test]
fn every_task_runs_once_on_threads() {
    SchedulerKind::ALL.iter().for_each(|kind| on_threads(kind, 0..10));
}

/// The seeds of the programs that both engines run: `BEFIT_CONFORMANCE=1000..2000` says others.
fn seeds() -> Range<u64> {
    let Ok(text) = std::env::var("BEFIT_CONFORMANCE") else { return 0..15 };
    let (from, to) = text.split_once("..").expect("BEFIT_CONFORMANCE is FROM..TO");
    from.parse().expect("a number")..to.parse().expect("a number")
}

#[test]
fn both_engines_run_each_strand_once_after_what_it_waits_for() {
    SchedulerKind::ALL.iter().for_each(|kind| on_both_engines(kind, seeds()));
}

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
        Capabilities { may_refuse, ..self.ws.capabilities() }
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
#[should_panic(expected = "what is ready and accepted is found")]
fn a_lost_task_is_missed_in_the_small_engine() {
    in_small_engine(&Broken::MayRefuseAndLosesIt, 0..20);
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

#[test]
#[should_panic(expected = "more often than it was added")]
fn a_task_that_is_handed_out_twice_is_seen_in_both_engines() {
    on_both_engines(&Broken::AddsItTwice, 0..20);
}

#[test]
#[should_panic(expected = "the program ends")]
fn a_lost_task_is_missed_in_both_engines() {
    on_both_engines(&Broken::LosesIt, 0..20);
}

#[test]
#[should_panic(expected = "anchored property")]
fn a_task_outside_its_cluster_is_seen() {
    in_small_engine(&Broken::BindsItElsewhere, 0..20);
}
