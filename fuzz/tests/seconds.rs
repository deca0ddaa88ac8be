//! A second or two of each target. A failing input says its number; `befit-fuzz` tries it again.

use std::time::{Duration, Instant};

use befit_fuzz::{Inputs, TARGETS, Target};

const EACH: Duration = Duration::from_millis(1500);

/// Tries the first inputs, as many as there is time for, and at least a hundred.
fn try_some(target: Target) {
    let (inputs, start) = (Inputs::of(target), Instant::now());
    for number in 0.. {
        if number >= 100 && start.elapsed() > EACH {
            return;
        }
        let input = inputs.input(number);
        let tried = std::panic::catch_unwind(|| (target.run)(&input));
        assert!(
            tried.is_ok(),
            "cargo run -p befit-fuzz -- {} --from {number} --runs 1",
            target.name
        );
    }
}

#[test]
fn no_input_breaks_a_target() {
    TARGETS.into_iter().for_each(try_some);
}

#[test]
fn inputs_are_the_same_again_and_differ_from_one_another() {
    for target in TARGETS {
        let inputs: Vec<_> = (100..200).map(|n| Inputs::of(target).input(n)).collect();
        assert_eq!(Inputs::of(target).input(150), inputs[50]);
        let mut different = inputs.clone();
        different.sort();
        different.dedup();
        assert!(different.len() > 80, "{}", target.name);
    }
}

#[test]
fn a_good_input_of_each_target_is_read() {
    // A target whose good inputs are refused tries nothing.
    for target in TARGETS.iter().filter(|target| target.name != "environment") {
        for input in (target.seeds)() {
            (target.run)(&input);
        }
    }
    let recording = (Target::named("recording").unwrap().seeds)();
    assert!(befit_program::Program::read(&recording[0][..]).is_ok());
    for xml in (Target::named("xml").unwrap().seeds)() {
        let text = String::from_utf8(xml).unwrap();
        befit_machine::Machine::from_xml("seed", &text).unwrap();
    }
    let texts = |name| {
        let seeds = (Target::named(name).unwrap().seeds)();
        seeds.into_iter().map(|seed| String::from_utf8(seed).unwrap()).collect::<Vec<_>>()
    };
    for text in texts("synthetic") {
        text.parse::<befit_machine::Machine>().unwrap();
    }
    for text in texts("sizes") {
        text.parse::<befit_sched::sizes::SizeTable>().unwrap();
    }
    for stream in (Target::named("stream").unwrap().seeds)() {
        befit_record::read_stream(&stream[..], "seed").unwrap();
    }
    let statistics = (Target::named("statistics").unwrap().seeds)();
    assert!(befit_lab::summary_of(str::from_utf8(&statistics[0]).unwrap()).unwrap().is_some());
}
