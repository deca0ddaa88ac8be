//! The whole way: build with instrumentation, record, simulate, print. Small inputs; the builds
//! take most of the time.

use std::{fs, path::Path, process::Output};

use crate::{MACHINE, assert_ends, assert_fails, command, printed, report, stderr, words};

/// `befit arguments…`, which keeps its recordings in `cache`.
fn befit_with_cache(cache: &Path, arguments: &[&str]) -> Output {
    command(arguments).env("BEFIT_CACHE", cache).output().expect("the binary starts")
}

#[test]
fn a_kernel_is_recorded_once_and_compared_with_equal_bytes_each_time() {
    let cache = tempfile::tempdir().unwrap();
    let line = "compare rrm --n 40000 --no-work --seeds 2 --format json --machine";
    let arguments = words(line, &[MACHINE]);
    let run = |more: &[&str]| befit_with_cache(cache.path(), &[&arguments[..], more].concat());
    let first = run(&[]);
    let text = printed(&first);
    let (_, results) = report(&first);
    assert_ends(&first, 0, &["recording rrm --n 40000"]);

    assert_eq!(results.len(), 5);
    // Two arrays of 40,000 doubles: 10,000 lines, each missed at least once.
    assert!(results.iter().all(|r| r["misses"]["L3"]["min"].as_u64().unwrap() >= 10_000), "{text}");
    assert!(
        results.iter().all(|r| r["program"] == "rrm" && r["command"] == "rrm --n 40000"),
        "{text}"
    );

    let second = run(&[]);
    assert_ends(&second, 0, &["recorded before"]);
    assert_eq!(printed(&second), text);

    let fresh = run(&["--fresh"]);
    assert!(!stderr(&fresh).contains("recorded before"), "{}", stderr(&fresh));
    assert_eq!(printed(&fresh), text);

    let file = fs::read_dir(cache.path()).unwrap().next().unwrap().unwrap().path();
    fs::write(&file, "damaged").unwrap();
    let after_damage = run(&[]);
    assert_ends(&after_damage, 0, &["recording again"]);
    assert_eq!(printed(&after_damage), text);
}

#[test]
fn a_recording_in_a_file_gives_what_compare_gives() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rgm.befit");
    let file = file.to_str().unwrap();
    let run =
        |line: &str, more: &[&str]| printed(&befit_with_cache(folder.path(), &words(line, more)));
    let said = run("record rgm --n 20000 -o", &[file]);
    let lines = "rgm --n 20000,tasks,strands,accesses,line touches,work,span,parallelism,MiB";
    for word in lines.split(',') {
        assert!(said.contains(word), "'{word}' is not in:\n{said}");
    }
    let options = ["--machine", MACHINE, "--sched", "ws,sb", "--seeds", "1", "--format", "csv"];
    let simulated = run("sim", &[&[file], &options[..]].concat());
    let compared = run("compare rgm --n 20000", &options);
    assert_eq!(simulated, compared);
}

#[test]
fn an_input_that_is_too_large_for_this_machine_is_an_error() {
    let cache = tempfile::tempdir().unwrap();
    let output = befit_with_cache(cache.path(), &["compare", "rrm", "--n", "99999999999"]);
    assert_fails(&output, 2, &["rrm", "99999999999", "4294967296"]);
}
