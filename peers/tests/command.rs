//! The command as its users call it.

use std::{
    env,
    process::{Command, Output},
};

use serde_json::Value;

fn peers(line: &str) -> Output {
    let command = Command::new(env!("CARGO_BIN_EXE_peers")).args(line.split_whitespace()).output();
    command.expect("the command starts")
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn the_json_has_an_entry_per_runtime_in_the_order_asked_for() {
    let line = "skynet --n 1000 --threads 2 --repeats 2 --format json";
    let output = peers(&format!("{line} --runtimes chili,befit-sb,serial"));
    let document: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(document["schema"], "befit.peers/1");
    let results = document["results"].as_array().unwrap();
    let names: Vec<_> = results.iter().map(|r| r["runtime"].as_str().unwrap()).collect();
    assert_eq!(names, ["chili", "befit-sb", "serial"]);
    // These tests are built as the program is.
    assert_eq!(document["optimised"], !cfg!(debug_assertions));
    assert!(document["pin"].is_null());
    for (result, threads) in results.iter().zip([2, 2, 1]) {
        assert_eq!(result["program"], "skynet");
        assert_eq!(result["threads"], threads);
        let seconds = |key: &str| result["seconds"][key].as_f64().unwrap();
        assert!([0.0, seconds("min"), seconds("median"), seconds("max")].is_sorted());
        assert!(seconds("min") > 0.0);
    }
}

#[test]
fn the_table_has_a_row_per_runtime() {
    let text = stdout(&peers(
        "nqueens --n 6 --threads 2 --repeats 1 --runtimes befit-ws,rayon,rayon-iter",
    ));
    for runtime in ["befit-ws", "rayon", "rayon-iter"] {
        assert!(text.lines().any(|line| line.split_whitespace().next() == Some(runtime)), "{text}");
    }
    let title = text.lines().next().unwrap();
    let meaningless = title.ends_with("; not optimised: times mean nothing");
    assert_eq!(meaningless, cfg!(debug_assertions), "{title}");
}

#[test]
fn a_choice_of_pinning_is_named_with_the_figures() {
    let runs = "--threads 2 --repeats 1 --runtimes befit-sb,rayon --pin never --format json";
    for line in ["fib --n 10", "idle --workloads join"] {
        let document: Value =
            serde_json::from_str(&stdout(&peers(&format!("{line} {runs}")))).unwrap();
        assert_eq!(document["pin"], "never", "{document}");
        assert!(document["failed"].as_array().unwrap().is_empty(), "{document}");
    }
}

#[test]
fn a_run_in_this_process_prints_its_seconds() {
    let seconds: f64 =
        stdout(&peers("fib --n 15 --threads 2 --once rayon")).trim().parse().unwrap();
    assert!(seconds > 0.0);
}

#[test]
fn the_number_of_threads_is_that_of_a_run_that_names_none() {
    let threads: u64 = stdout(&peers("threads")).trim().parse().unwrap();
    let output = peers("fib --n 5 --repeats 1 --runtimes rayon --format json");
    let document: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(document["results"][0]["threads"], threads);
}

#[test]
fn errors_are_one_line_and_exit_with_2_where_the_question_is_wrong() {
    for (line, says) in [
        ("fab", "unknown program 'fab'; known: fib, "),
        ("fib --runtimes raion", "unknown runtime 'raion'; known: serial, "),
        ("skynet --n 5 --once serial", "a power of ten"),
        ("fib --once tbb", "--once"),
        ("spawn --runtimes chili", "chili has no scopes; leave it out of spawn"),
        ("spawn --n 16 --once chili", "chili has no scopes; leave it out of spawn"),
    ] {
        let output = peers(line);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {said}");
        let one_line = said.starts_with("peers: ") && said.lines().count() == 1;
        assert!(one_line && said.contains(says), "{line}: {said}");
    }
}

#[test]
fn a_size_that_cannot_be_is_said_as_by_a_single_run() {
    let output = peers("matmul --n 100 --repeats 1 --runtimes rayon");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(said.trim_end(), "peers: matmul: n = 100 cannot be; a power of two, at most 32768");
}

#[test]
fn a_size_that_programs_in_cpp_refuse_is_refused_before_they_start() {
    let most = u64::MAX;
    for line in [format!("skynet --n {most}"), "heat --n 2".to_owned(), "fib --n 61".to_owned()] {
        let output = peers(&format!("{line} --repeats 1 --runtimes serial-c++,tbb"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {said}");
        assert!(said.contains(" cannot be; "), "{line}: {said}");
    }
}

/// True if CMake and a C++ compiler are here.
fn builds_cpp() -> bool {
    let runs = |program: &str| {
        Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
    };
    runs("cmake") && runs("c++")
}

/// A runtime that cannot be set up costs the others nothing.
#[test]
fn what_fails_is_named_and_the_rest_is_printed() {
    // There is address space for the stacks of some thousand threads. All that a machine can have
    // would be taken from the tests beside this one.
    let limited = |line: &str| {
        let limited = format!("ulimit -v 4000000; exec {} {line}", env!("CARGO_BIN_EXE_peers"));
        Command::new("sh").args(["-c", &limited]).output().unwrap()
    };
    let most = 20_000;
    let line = "fib --n 10 --repeats 2 --runtimes befit-ws,serial --format json --threads";
    let contest = limited(&format!("{line} {most}"));
    let line = "idle --workloads join --repeats 1 --runtimes befit-ws --format json --threads";
    let idle = limited(&format!("{line} 1,{most}"));
    for (output, list) in [(contest, "results"), (idle, "idle")] {
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        let one_line = said.starts_with("peers: befit-ws failed (") && said.lines().count() == 1;
        assert!(one_line, "{said}");
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document[list].as_array().unwrap().len(), 1, "{document}");
        assert_eq!(document["failed"][0]["runtime"], "befit-ws", "{document}");
        assert_eq!(document["failed"].as_array().unwrap().len(), 1, "{document}");
    }
}

/// Known before anything is run, so nothing is lost.
#[test]
fn idle_pools_that_cannot_be_measured_are_refused() {
    let idle = |more: &str, path: &str| {
        let line = format!("idle --workloads join --threads 1 --repeats 1 {more}");
        let mut peers = Command::new(env!("CARGO_BIN_EXE_peers"));
        let output = peers.args(line.split_whitespace()).env("PATH", path).output().unwrap();
        assert!(output.stdout.is_empty());
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let pools = "peers: serial has no pool that could be idle\n";
    assert_eq!(idle("--runtimes rayon,serial", ""), (Some(2), pools.to_owned()));
    let valgrind = "peers: --instructions needs valgrind, which does not run\n";
    assert_eq!(idle("--runtimes rayon --instructions", ""), (Some(2), valgrind.to_owned()));
}

#[test]
fn programs_in_cpp_without_memory_ask_for_a_smaller_size() {
    let line = "--repeats 1 --runtimes serial-c++ --threads 1";
    // Builds them.
    let built = stdout(&peers(&format!("rrm --n 1000 {line} --format json")));
    let document: Value = serde_json::from_str(&built).unwrap();
    if document["results"].as_array().unwrap().is_empty() {
        assert!(!builds_cpp(), "{document}");
        return;
    }
    let n = 1_000_000_000;
    let program = env!("CARGO_BIN_EXE_peers");
    let limited = format!("ulimit -v 2000000; exec {program} rrm --n {n} {line}");
    let output = Command::new("sh").args(["-c", &limited]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let expected = format!("peers: there is not enough memory for n = {n}; give a smaller --n");
    assert_eq!((output.status.code(), said.trim_end()), (Some(2), &*expected));
}

/// With CMake, a compiler and the libraries the programs in C++ are right; without, the rest is
/// printed all the same.
#[test]
fn runtimes_in_cpp_are_right_or_say_what_is_missing() {
    let sizes = "fib 15, fib-sized 15, fib-task 15, fib-100ns 12, skynet 1000, spawn 1024, \
        nqueens 7, matmul 64, rrm 20001, quicksort 50001, heat 20";
    let cpp = builds_cpp();
    let all_are_here = env::var_os("PEERS_NEED_CPP").is_some();
    for program in sizes.split(", ") {
        let (name, n) = program.split_once(' ').unwrap();
        let threads: &[usize] = if ["fib", "rrm"].contains(&name) { &[1, 2, 4] } else { &[2] };
        for threads in threads {
            let line = format!("{name} --n {n} --threads {threads} --repeats 1 --format json");
            let output = peers(&format!("{line} --runtimes serial,serial-c++,tbb,openmp"));
            let document: Value = serde_json::from_str(&stdout(&output)).unwrap();
            let entries = |key: &str| document[key].as_array().unwrap().clone();
            assert_eq!(entries("results").len() + entries("not_built").len(), 4, "{document}");
            assert!(!all_are_here || entries("results").len() == 4, "{document}");
            assert_eq!(entries("failed").len(), 0, "{document}");
            let serial = |result: &Value| result["runtime"] == "serial-c++";
            assert!(!cpp || entries("results").iter().any(serial), "{document}");
            assert_eq!(entries("results")[0]["runtime"], "serial");
            let told = |missing: &Value| !missing["reason"].as_str().unwrap().is_empty();
            assert!(entries("not_built").iter().all(told), "{document}");
            // What is found is built: the sources have no errors.
            let fails = |missing: &Value| missing["reason"].to_string().contains("compiler failed");
            assert!(!entries("not_built").iter().any(fails), "{document}");
        }
    }
}
