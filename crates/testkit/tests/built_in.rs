//! The built-in policies keep their promises.

use befit_sched::SchedulerKind;
use befit_testkit::{in_simulator, in_small_engine, on_threads};

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
