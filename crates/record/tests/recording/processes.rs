//! Programs that fork processes, are interrupted by signals, or misuse malloc.

use std::{
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use befit_record::{read_stream, record};

use super::{PROBE, lines, options, program, run, shape, touches};

#[test]
fn regression_a_child_that_the_program_forks_is_neither_recorded_nor_waited_for() {
    drop(run("nothing")); // By then it is built.
    let begin = Instant::now();
    let program = program("leaves");
    // The children live for 30 s.
    assert!(begin.elapsed() < Duration::from_secs(20));
    assert_eq!((shape(&program, 0).as_str(), shape(&program, 1).as_str()), ("fs", "fffs"));
    assert!(touches(&program, |_| true) < 1000);
}

#[test]
fn regression_a_child_takes_memory_though_another_thread_did_when_it_was_forked() {
    assert_eq!(shape(&program("forks"), 0), "fs");
}

#[test]
fn regression_what_a_signal_handler_touches_takes_the_place_of_no_touch_of_the_program() {
    // Its stdout is the stream, which nobody reads for a while.
    let mut command = Command::new(&*PROBE);
    command.arg("signals").env("BEFIT_RECORD_FD", "1").stdout(Stdio::piped());
    let mut signals = command.spawn().unwrap();
    thread::sleep(Duration::from_millis(500));
    let recording = read_stream(signals.stdout.take().unwrap(), "signals").unwrap();
    assert!(signals.wait().unwrap().success());
    let mut lines = lines(&recording.program, |touch| !touch.stack);
    lines.dedup();
    // Those that are read and those that are written; the handler's are 64.
    assert!((250_000..250_200).contains(&lines.len()), "{} lines", lines.len());
}

#[test]
fn regression_a_region_may_go_on_on_another_stack_and_begin_there() {
    // What lies between the stacks is not read.
    let elsewhere = program("elsewhere");
    assert_eq!([0, 1].map(|task| shape(&elsewhere, task)), ["fs", "ffs"]);
    // All of that stack is memory like any other.
    let begins = program("begins");
    assert_eq!([0, 1].map(|task| shape(&begins, task)), ["fs", "ffs"]);
    assert_eq!(touches(&begins, |touch| touch.stack), 0);
    assert!(touches(&begins, |touch| touch.write) > 2 * 128);
}

#[test]
fn regression_a_program_that_takes_more_memory_in_all_than_there_is_learns_why() {
    let mut command = Command::new(&*PROBE);
    // A backtrace would be the last of what it says.
    command.arg("exhausts").env("RUST_BACKTRACE", "0");
    let error = record(command, "exhausts", &options(), &|_| {}).unwrap_err().to_string();
    let said = ["signal: 6", "befit: malloc has no more memory", "not be more than 1 TiB"];
    assert!(said.iter().all(|part| error.contains(part)), "{error}");
}

#[test]
fn regression_memory_that_malloc_did_not_give_out_is_not_taken_for_a_block_of_its_own() {
    let error = run("foreign").unwrap_err().to_string();
    let said = ["signal: 6", "befit: realloc of memory that malloc did not give out"];
    assert!(said.iter().all(|part| error.contains(part)), "{error}");
}
