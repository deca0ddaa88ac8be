//! Causes are found by all seeds of a comparison: one alone shows chance.

use std::num::NonZeroU32;

use befit_machine::{Cycles, Machine};
use befit_program::Program;
use befit_sched::{Options, SchedulerKind};

use super::{SOCKETS, THREADS, machine, program, spawned};
use crate::{
    Sampling, Seeds, Silent, SimulationPlan,
    conclude::{Cause, Loss},
};

/// The losses of a comparison of work stealing alone, of which the times are so many times those
/// that were simulated, one for each seed.
fn losses(program: &Program, machine: Machine, times: &[f64]) -> Vec<Loss> {
    let plan = SimulationPlan {
        machines: vec![machine],
        schedulers: vec![SchedulerKind::Ws],
        seeds: Seeds::Fixed(NonZeroU32::new(times.len() as u32).unwrap()),
        options: Options::default(),
        shrink: 1,
        sampling: Sampling::Off,
    };
    let mut results = plan.simulate(program, &Silent).unwrap();
    for (run, factor) in results[0].runs.iter_mut().zip(times) {
        run.time = Cycles((run.time.0 as f64 * factor) as u64);
    }
    let all = plan.conclude(program, &results, true, &Silent).unwrap();
    println!("{:#?}", all[0].losses);
    all.into_iter().next().unwrap().losses
}

#[test]
fn shared_cores_are_a_cause_if_the_seeds_together_show_it() {
    // It runs on one worker, alone on its core, however many the core could have.
    let program = program(|b| b.work(1_000_000, 0, 0));
    let share = |times: &[f64]| {
        let losses = losses(&program, machine(THREADS), times);
        let found = losses.iter().find(|loss| loss.cause == Cause::Oversubscription);
        found.map(|loss| (100.0 * loss.share).round())
    };
    assert_eq!(share(&[1.0, 1.0, 1.0]), None);
    assert_eq!(share(&[1.25, 1.0, 1.0]), None, "by chance");
    assert_eq!(share(&[1.25, 1.25, 1.25]), Some(20.0));
    assert_eq!(share(&[1.25]), Some(20.0), "all that there is to go by");
}

#[test]
fn a_grain_is_too_small_if_longer_tasks_gain_in_the_mean_of_the_seeds() {
    let grain = |times: &[f64]| {
        let losses = losses(&spawned(2000, 80_000), machine(SOCKETS), times);
        losses.first().map(|loss| loss.cause)
    };
    assert_eq!(grain(&[1.0, 1.0, 1.0]), Some(Cause::GrainTooSmall));
    // By the first seed alone longer tasks gain too little.
    assert_eq!(grain(&[0.97, 1.0, 1.0]), Some(Cause::GrainTooSmall));
    assert_eq!(grain(&[0.97, 0.97, 0.97]), Some(Cause::InputTooSmall));
}
