//! A second or two of each target. A failing input says its number; `befit-fuzz` tries it again.

use std::process::Command;

use befit_fuzz::{Inputs, TARGETS, Target};

/// Tries the first inputs, as many as there is time for, and at least a hundred. The program finds
/// the number also of one that hangs, or ends the process.
fn try_some(target: Target) {
    for words in [["--from", "0", "--runs", "100"], ["--from", "100", "--seconds", "1.4"]] {
        let mut program = Command::new(env!("CARGO_BIN_EXE_befit-fuzz"));
        let output = program.arg(target.name).args(words).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "cargo run -p befit-fuzz …: {said}");
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
