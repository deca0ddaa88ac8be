//! The built-in policies keep their promises.

use std::ops::Range;

use befit_sched::SchedulerKind;
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
