//! The whole way: build with instrumentation, record, simulate, print. Small inputs; the builds
//! take most of the time.

use std::{fs, path::Path, process::Output};

use serde_json::Value;

use crate::{MACHINE, assert_fails, command, printed, words};

/// `befit arguments…`, which keeps its recordings in `cache`.
fn befit_with_cache(cache: &Path, arguments: &[&str]) -> Output {
    command(arguments).env("BEFIT_CACHE", cache).output().expect("the binary starts")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_kernel_is_recorded_once_and_compared_with_equal_bytes_each_time() {
    let cache = tempfile::tempdir().unwrap();
    let line = "compare rrm --n 40000 --seeds 2 --format json --machine";
    let arguments = words(line, &[MACHINE]);
    let run = |more: &[&str]| befit_with_cache(cache.path(), &[&arguments[..], more].concat());
    let first = run(&[]);
    let text = printed(&first);
    assert!(stderr(&first).contains("recording rrm --n 40000"), "{}", stderr(&first));

    let report: Value = serde_json::from_str(&text).unwrap();
    let results = report["results"].as_array().unwrap();
    assert_eq!(results.len(), 4);
    // Two arrays of 40,000 doubles: 10,000 lines, each missed at least once.
    assert!(results.iter().all(|r| r["misses"]["L3"]["min"].as_u64().unwrap() >= 10_000), "{text}");
    assert!(
        results.iter().all(|r| r["program"] == "rrm" && r["command"] == "rrm --n 40000"),
        "{text}"
    );

    let second = run(&[]);
    assert!(stderr(&second).contains("recorded before"), "{}", stderr(&second));
    assert_eq!(printed(&second), text);

    let fresh = run(&["--fresh"]);
    assert!(!stderr(&fresh).contains("recorded before"), "{}", stderr(&fresh));
    assert_eq!(printed(&fresh), text);

    let file = fs::read_dir(cache.path()).unwrap().next().unwrap().unwrap().path();
    fs::write(&file, "damaged").unwrap();
    let after_damage = run(&[]);
    assert!(stderr(&after_damage).contains("recording again"), "{}", stderr(&after_damage));
    assert_eq!(printed(&after_damage), text);
}

#[test]
fn a_recording_in_a_file_gives_what_compare_gives() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rgm.befit");
    let file = file.to_str().unwrap();
    let said =
        printed(&befit_with_cache(folder.path(), &["record", "rgm", "--n", "20000", "-o", file]));
    let lines = "rgm --n 20000,tasks,strands,accesses,line touches,work,span,parallelism,MiB";
    for word in lines.split(',') {
        assert!(said.contains(word), "'{word}' is not in:\n{said}");
    }
    let options = ["--machine", MACHINE, "--sched", "ws,sb", "--seeds", "1", "--format", "csv"];
    let simulated =
        printed(&befit_with_cache(folder.path(), &[&["sim", file], &options[..]].concat()));
    let compared = printed(&befit_with_cache(
        folder.path(),
        &[&["compare", "rgm", "--n", "20000"], &options[..]].concat(),
    ));
    assert_eq!(simulated, compared);
}

const USER_MAIN: &str = r#"
fn sum(numbers: &[u64]) -> u64 {
    if numbers.len() <= 1000 {
        return numbers.iter().sum();
    }
    let (left, right) = numbers.split_at(numbers.len() / 2);
    let (a, b) = befit::join(
        befit::fit(size_of_val(left), || sum(left)),
        befit::fit(size_of_val(right), || sum(right)),
    );
    a + b
}

fn main() {
    let n = std::env::args().nth(1).expect("how many numbers").parse().expect("a number");
    let numbers: Vec<u64> = (0..n).collect();
    println!("the sum is {}", sum(&numbers));
}
"#;

/// A crate as a user would have it, outside of this workspace, with a binary `sum` and an example
/// `add`.
fn users_crate(folder: &Path) -> String {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let manifest = format!(
        "[package]\nname = \"sum\"\nversion = \"1.0.0\"\nedition = \"2024\"\n\n[dependencies]\n\
         befit = {{ path = {:?} }}\n\n[workspace]\n",
        workspace.join("crates/runtime")
    );
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    // The versions that are there already.
    fs::copy(workspace.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    for (place, name) in [("src", "main.rs"), ("examples", "add.rs")] {
        fs::create_dir(folder.join(place)).unwrap();
        fs::write(folder.join(place).join(name), USER_MAIN).unwrap();
    }
    folder.join("Cargo.toml").to_str().unwrap().to_owned()
}

#[test]
fn a_users_own_crate_is_compared() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let manifest = users_crate(folder.path());
    let run = |more: &[&str]| {
        let named = ["--manifest-path", &manifest, "--machine", MACHINE];
        let arguments = words("compare --seeds 1 --format json", &named);
        let mut befit = command(&[&arguments[..], more].concat());
        // A target folder that stays, so that befit itself is not built again for each run of this
        // test.
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("users-crate");
        befit
            .env("BEFIT_CACHE", &cache)
            .env("CARGO_TARGET_DIR", target)
            .output()
            .expect("the binary starts")
    };
    let commands = |output: &Output| -> Vec<String> {
        let report: Value = serde_json::from_str(&printed(output)).unwrap();
        report["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|r| r["command"].as_str().unwrap().to_owned())
            .collect()
    };
    let output = run(&["--", "20000"]);
    assert_eq!(commands(&output), ["sum 20000"; 4]);
    // What the program prints is shown, but not among the results.
    assert!(stderr(&output).contains("the sum is 199990000"), "{}", stderr(&output));
    assert_eq!(commands(&run(&["--bin", "sum", "--", "20000"])), ["sum 20000"; 4]);
    assert_eq!(commands(&run(&["--example", "add", "--", "30000"])), ["add 30000"; 4]);

    let without_argument = run(&[]);
    assert_eq!(without_argument.status.code(), Some(1));
    assert!(
        stderr(&without_argument).contains("how many numbers"),
        "{}",
        stderr(&without_argument)
    );
    let no_such_binary = run(&["--bin", "product", "--", "5"]);
    assert_eq!(no_such_binary.status.code(), Some(1));
    assert!(stderr(&no_such_binary).contains("product"), "{}", stderr(&no_such_binary));
}

#[test]
fn an_input_that_is_too_large_for_this_machine_is_an_error() {
    let cache = tempfile::tempdir().unwrap();
    let output = befit_with_cache(cache.path(), &["compare", "rrm", "--n", "99999999999"]);
    assert_fails(&output, 2, &["rrm", "99999999999", "4294967296"]);
}
