//! Programs that fork processes.

use std::time::{Duration, Instant};

use super::{program, run, shape, touches};

#[test]
fn regression_a_child_that_the_program_forks_is_neither_recorded_nor_waited_for() {
    drop(run("nothing")); // It is built by then.
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
