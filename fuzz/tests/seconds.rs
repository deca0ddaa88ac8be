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
        // Its last line is `NAME: N inputs in …`.
        let told = String::from_utf8_lossy(&output.stdout);
        let tried = told.lines().last().and_then(|line| line.split(' ').nth(1)?.parse().ok());
        let runs = if words.contains(&"--runs") { 100..=100 } else { 1..=u64::MAX };
        assert!(tried.is_some_and(|tried| runs.contains(&tried)), "{}: {told}", target.name);
    }
}

/// Every second target, from one: two tests, so that two of them can be tried at a time.
fn try_half(from: usize) {
    TARGETS.into_iter().skip(from).step_by(2).for_each(try_some);
}

#[test]
fn no_input_breaks_a_target() {
    try_half(0);
}

#[test]
fn no_input_breaks_another_target() {
    try_half(1);
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
fn every_good_input_of_each_target_is_taken() {
    // A target whose good inputs are refused tries nothing.
    for target in TARGETS {
        for (number, seed) in (target.seeds)().iter().enumerate() {
            assert!((target.run)(seed), "{} --from {number}", target.name);
        }
        // Any bytes are variables that mean nothing, or a program.
        let any = ["environment", "simulation"].contains(&target.name);
        assert_eq!((target.run)(b"\xff"), any, "{}", target.name);
    }
}
