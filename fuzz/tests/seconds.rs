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
