//! What cannot be simulated, and what is said of it.

use std::sync::Arc;

use befit_machine::{Bytes, ClusterId, Machine, Placement, WorkerId};
use befit_program::{Program, Sample};
use befit_sched::{Ask, Env, Handle, Options, Policy, Ready, Scheduler, SchedulerKind};

use super::{forks, machine, program, samples};
use crate::{Bounds, Settings, SimError, run, run_booked, run_traced, run_within, sampled};

fn ws() -> Settings {
    Settings::new(SchedulerKind::Ws, 1)
}

/// What all ways to run the program say.
fn refused(program: &Program, machine: &Machine, settings: &Settings<impl Policy>) -> String {
    let bounds = Bounds::of(program, machine);
    let all: [Result<(), SimError>; 3] = [
        run(program, machine, settings, &|_| {}).map(drop),
        run_traced(program, machine, settings, bounds, &|_| {}).map(drop),
        run_booked(program, machine, settings, &|_| {}).map(drop),
    ];
    let [plain, traced, booked] = all.map(|run| run.unwrap_err().to_string());
    assert_eq!([&traced, &booked], [&plain; 2]);
    plain
}

fn cannot(program: &Program, machine: &Machine) -> String {
    let error = refused(program, machine, &ws());
    error.strip_prefix("cannot simulate this machine: ").expect("it is the machine").to_owned()
}

#[test]
fn caches_that_cannot_be_modelled_are_refused() {
    let program = forks(3, |b| b.touch(1, false, false));
    for (caches, why) in [
        ("l1:1(size=4KiB line=32)", "its lines of 32 bytes are finer than the recorded ones of 64"),
        (
            "l1:1(size=8KiB ways=128 replacement=plru)",
            "the L1 cache of cluster 1 has 128 ways: tree-PLRU needs a power of two, at most 64",
        ),
    ] {
        assert_eq!(cannot(&program, &machine(&format!("{caches} pu:1"))), why);
    }
}

#[test]
fn a_machine_has_1_to_254_controllers_each_of_some_bandwidth() {
    let program = program(|b| b.touch(1, false, false));
    let told = |change: fn(&mut befit_machine::Memory)| {
        let mut machine = machine("l1:1 pu:1");
        change(&mut machine.memory);
        machine
    };
    for (machine, why) in [
        (told(|m| m.controllers = 0), "0 memory controllers (1 to 254 can be)"),
        (told(|m| m.controllers = 255), "255 memory controllers (1 to 254 can be)"),
        (told(|m| m.placement = Placement::Bound(0)), "0 memory controllers (1 to 254 can be)"),
        (told(|m| m.bandwidth = 0.0), "memory bandwidth of 0 bytes a cycle"),
        (told(|m| m.bandwidth = -1.5), "memory bandwidth of -1.5 bytes a cycle"),
        (told(|m| m.bandwidth = f64::INFINITY), "memory bandwidth of inf bytes a cycle"),
        (told(|m| m.bandwidth = f64::NAN), "memory bandwidth of NaN bytes a cycle"),
    ] {
        assert_eq!(cannot(&program, &machine), why);
    }
    for machine in [
        told(|m| m.controllers = 254),
        told(|m| (m.controllers, m.placement) = (1000, Placement::Bound(254))),
    ] {
        run(&program, &machine, &ws(), &|_| {}).unwrap();
    }
}

#[test]
fn stacks_of_more_lines_than_there_are_numbers_are_refused() {
    let program = program(|b| b.touch((1 << 29) - 1, true, true));
    let lines = program.stack_lines() + 1;
    assert!(lines >= 1 << 29);
    let why = cannot(&program, &machine("core:8 l1:1 pu:1"));
    assert_eq!(why, format!("8 stacks of {lines} lines are too many lines"));
}

#[test]
fn work_that_virtual_time_has_no_room_for_is_refused_by_each_way_to_run() {
    let (program, mut machine) = (program(|b| b.work(1 << 47, 0, 0)), machine("l1:1 pu:1"));
    machine.cycles_per_operation = 16.0;
    let why = refused(&program, &machine, &ws());
    assert!(why.starts_with("the recording's operations take 2251799813685248 cycles"), "{why}");
}

/// Takes what is ready, and gives it to nobody.
#[derive(Debug)]
struct Keeps;

impl Policy for Keeps {
    fn build<T: Handle>(&self, _: &Machine, _: Options) -> Box<dyn Scheduler<T>> {
        Box::new(Self)
    }
}

impl<T: Handle> Scheduler<T> for Keeps {
    fn name(&self) -> &'static str {
        "keeps"
    }

    fn add(&self, _: WorkerId, _: Ready<T>, _: &mut dyn Env) -> ClusterId {
        ClusterId::ROOT
    }

    fn get(&self, _: WorkerId, _: Ask<'_, T>, _: &mut dyn Env) -> Option<Ready<T>> {
        None
    }
}

#[test]
fn a_policy_that_gives_nothing_away_is_named() {
    let program = program(|b| b.work(1, 0, 0));
    let settings = Settings { costs: super::costs::FREE, ..Settings::new(Keeps, 1) };
    assert_eq!(
        refused(&program, &machine("l1:1 pu:1"), &settings),
        "scheduler keeps left 1 ready strands that no worker takes, at cycle 0"
    );
}

#[test]
fn a_cache_of_fewer_sets_than_there_are_groups_has_no_sample() {
    let (large, small) = (machine("l1:1(size=32KiB ways=8) pu:1"), machine("l1:1(size=1KiB) pu:1"));
    let finer = machine("l1:1(size=32KiB line=32 ways=8) pu:1");
    assert_eq!(sampled::groups(&finer, Bytes(64), 2), None);
    for hot in [&[][..], &[7]] {
        let program = program(|b| super::fight_for(b, hot));
        let sample: &Arc<Sample> = &samples(&program, &large, 32)[0];
        let bounds = Bounds::of(&program, &small);
        let error = run_within(&program, Some(sample), &small, &ws(), bounds, &|_| {});
        let error = error.unwrap_err().to_string();
        let why = "L1 of 1 KiB is less than one set when it is 32 times smaller";
        assert!(
            error.starts_with("cannot simulate this machine: ") && error.ends_with(why),
            "{error}"
        );
    }
}
