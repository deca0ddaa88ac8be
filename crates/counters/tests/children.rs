//! What is counted of programs that a thread starts, checked with the kernel's events against what
//! the programs are known to do.
//!
//! A kernel that forbids even these counters (containers) leaves nothing to check: the tests then
//! only look at the message.
#![cfg(target_os = "linux")]

use std::{
    process::Command,
    thread,
    time::{Duration, Instant},
};

use befit_counters::{Children, CountersError};

const PROGRAM: &str = "BEFIT_TEST_PROGRAM";
const PAGE: usize = 4096;

fn open() -> Option<Children> {
    match Children::software() {
        Ok(children) => Some(children),
        Err(
            why @ (CountersError::Forbidden { .. }
            | CountersError::Blocked
            | CountersError::Unsupported { .. }),
        ) => {
            eprintln!("not tested: {why}");
            None
        }
        Err(why) => panic!("{why}"),
    }
}

/// Runs the test `name` again, as a program.
fn again(name: &str) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = command.args([name, "--exact", "--nocapture"]).env(PROGRAM, "1").output().unwrap();
    assert!(output.status.success());
}

fn touch(pages: usize) {
    let mut map = memmap2::MmapMut::map_anon(pages * PAGE).unwrap();
    map.advise(memmap2::Advice::NoHugePage).unwrap();
    map.iter_mut().step_by(PAGE).for_each(|byte| *byte = 1);
}

/// Uses the processor for `time`.
fn work(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

#[test]
fn a_program_is_counted_with_all_its_threads_and_what_it_starts() {
    if std::env::var_os(PROGRAM).is_some() {
        thread::scope(|scope| (0..3).for_each(|_| drop(scope.spawn(|| touch(2_000)))));
        assert!(Command::new("true").status().unwrap().success());
        return;
    }
    let Some(mut children) = open() else { return };
    again("a_program_is_counted_with_all_its_threads_and_what_it_starts");
    let counts = children.read().unwrap();
    let faults = counts.page_faults.unwrap();
    assert!((6_000..12_000).contains(&faults), "{faults}");
    assert!(counts.task_clock.unwrap() > Duration::ZERO);
    assert!(counts.instructions.is_none());
}

#[test]
fn what_the_calling_thread_does_itself_is_not_counted() {
    let Some(mut children) = open() else { return };
    touch(10_000);
    work(Duration::from_millis(50));
    assert_eq!(children.read().unwrap().page_faults, Some(0));
    assert!(Command::new("true").status().unwrap().success());
    let counts = children.read().unwrap();
    assert!((1..5_000).contains(&counts.page_faults.unwrap()), "{counts:?}");
    assert!(counts.task_clock.unwrap() < Duration::from_millis(50), "{counts:?}");
}

/// Counters that had counted one program sometimes missed the next: the kernel had given them away
/// with the first.
#[test]
fn regression_each_program_is_counted_by_counters_of_its_own() {
    for _ in 0..30 {
        let Some(mut children) = open() else { return };
        assert!(Command::new("true").status().unwrap().success());
        let faults = children.read().unwrap().page_faults.unwrap();
        assert!(faults > 0);
    }
}

#[test]
fn hardware_counts_a_program_or_says_in_one_line_why_not() {
    match Children::hardware() {
        Ok(mut children) => {
            assert!(Command::new("true").status().unwrap().success());
            match children.read() {
                Ok(counts) => assert!(counts.instructions.is_none_or(|n| n > 10_000), "{counts:?}"),
                Err(why) => assert!(matches!(why, CountersError::StandStill), "{why}"),
            }
        }
        Err(why) => assert!(!why.to_string().contains('\n')),
    }
}
