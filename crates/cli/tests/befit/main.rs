//! Runs the `befit` binary as people and scripts do.

mod calibrate;
mod commands;
mod docs;
mod end_to_end;
mod errors;
mod run;
mod terminal;
#[path = "../../../lab/src/testing.rs"]
#[allow(dead_code, reason = "only the program is used here")]
mod testing;
mod tiers;
mod users;

use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// Two sockets of two cores with small caches, so that small inputs do not fit.
const MACHINE: &str = "pack:2 l3:1(size=262144) core:2 l2:1(size=65536) l1:1(size=16384) pu:1";

/// The arguments that `line` has, and then `more`, which may have spaces in them.
fn words<'a>(line: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    line.split_whitespace().chain(more.iter().copied()).collect()
}

/// The command with `arguments`, not started yet.
fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_befit"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// What `befit arguments…` did.
fn befit(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the binary starts")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Asserts that it ended with exit code `code`, and that its stderr has all of `words`.
fn assert_ends(output: &Output, code: i32, words: &[&str]) {
    let stderr = stderr(output);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    for word in words {
        assert!(stderr.contains(word), "'{word}' is not in: {stderr}");
    }
}

/// The same, with nothing on stdout and one line on stderr.
fn assert_fails(output: &Output, code: i32, words: &[&str]) {
    assert_ends(output, code, words);
    let stderr = stderr(output);
    assert!(output.stdout.is_empty());
    assert!(stderr.starts_with("befit: ") && stderr.lines().count() == 1, "{stderr}");
}

/// Asserts that it went well, and returns what it printed.
fn printed(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The same of JSON: the report, and its results.
fn report(output: &Output) -> (Value, Vec<Value>) {
    let report: Value = serde_json::from_str(&printed(output)).unwrap();
    let results = report["results"].as_array().unwrap().clone();
    (report, results)
}

/// A recording of a program of 17 tasks: the folder that it is in, and its path as text.
fn recording() -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("walks.befit");
    testing::program().save(&path).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (folder, path)
}
