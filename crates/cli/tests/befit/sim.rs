//! `befit sim` on a recording that the test makes: formats, files, repeatability.

use std::{io::Read, process::Stdio};

use crate::common::{befit, command, printed, recording};
use serde_json::Value;

/// Two sockets of two cores.
const MACHINE: &str = "pack:2 l3:1(size=262144) core:2 l2:1(size=65536) l1:1(size=16384) pu:1";

#[test]
fn json_has_one_result_per_machine_and_scheduler() {
    let folder = tempfile::tempdir().unwrap();
    let path = recording(folder.path());
    let output = befit(&[
        "sim",
        &path,
        "--machine",
        MACHINE,
        "--machine",
        "xeon-7560",
        "--sched",
        "sb,ws",
        "--format",
        "json",
    ]);
    let report: Value = serde_json::from_str(&printed(&output)).unwrap();
    assert_eq!(report["schema"], "befit.compare/1");
    let results = report["results"].as_array().unwrap();
    let schedulers: Vec<_> = results.iter().map(|r| r["scheduler"].as_str().unwrap()).collect();
    assert_eq!(schedulers, ["sb", "ws", "sb", "ws"]);
    assert_eq!(results[3]["machine"], "xeon-7560");
    for result in results {
        assert_eq!(result["program"], "walks");
        assert_eq!(result["command"], "walks --n 8");
        assert_eq!(result["seeds"], 3);
        assert_eq!(result["tasks"], 17);
        assert!(result["time_cycles"]["min"].as_u64() <= result["time_cycles"]["max"].as_u64());
        // Each line is touched at least once.
        assert!(result["misses"]["L3"]["min"].as_u64().unwrap() >= 8 * 512);
    }
}

#[test]
fn equal_seeds_give_equal_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = recording(folder.path());
    let run = || {
        printed(&befit(&["sim", &path, "--machine", MACHINE, "--seeds", "4", "--format", "json"]))
    };
    assert_eq!(run(), run());
}

#[test]
fn a_file_gets_what_stdout_would_get() {
    let folder = tempfile::tempdir().unwrap();
    let path = recording(folder.path());
    let file = folder.path().join("results.csv");
    let arguments = ["sim", &path, "--machine", MACHINE, "--seeds", "1", "--format", "csv"];
    let stdout = printed(&befit(&arguments));
    assert_eq!(
        printed(&befit(&[&arguments[..], &["--output", file.to_str().unwrap()]].concat())),
        ""
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), stdout);
    assert_eq!(stdout.lines().count(), 5);
}

#[test]
fn the_table_names_the_program_the_machine_and_every_scheduler() {
    let folder = tempfile::tempdir().unwrap();
    let path = recording(folder.path());
    let text = printed(&befit(&["sim", &path, "--seeds", "1"]));
    for word in ["walks --n 8", "xeon-7560", " ws ", " pws ", " sb ", " sb-d "] {
        assert!(text.contains(word), "'{word}' is not in:\n{text}");
    }
    assert!(!text.contains('\x1b'));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = recording(folder.path());
    let mut child = command(&["sim", &path, "--seeds", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert!(child.wait().unwrap().success(), "{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
}
