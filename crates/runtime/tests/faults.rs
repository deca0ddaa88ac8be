//! What programs do to their threads: threads of their own inside of tasks, forks of the process,
//! an exit in the middle, recursions that are deep.
#![cfg(all(target_os = "linux", not(any(loom, befit_record, miri))))]

use std::{
    env,
    os::unix::process::CommandExt,
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use befit::{SchedulerKind, ThreadPoolBuilder, join, scope};

/// So long no process of these tests takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// This file's test of that name, in a process of its own.
fn alone(test: &str) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--include-ignored"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The output of `command`, which must end in time.
fn output(mut command: Command) -> Output {
    let (mut child, start) = (command.spawn().unwrap(), Instant::now());
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("it hangs: {command:?}");
        }
        thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}

fn sum(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| sum(n / 2), || sum(n - n / 2));
    a + b
}

#[test]
fn threads_of_the_program_s_own_inside_of_tasks_may_fork_too() {
    for scheduler in SchedulerKind::ALL {
        let pool = ThreadPoolBuilder::new().num_threads(4).scheduler(scheduler).build().unwrap();
        let sums = pool.install(|| {
            let inside = || {
                thread::scope(|threads| {
                    // They are none of the pool's: they bring their work to it.
                    let threads: Vec<_> =
                        (0..3).map(|_| threads.spawn(|| pool.install(|| sum(1000)))).collect();
                    threads.into_iter().map(|thread| thread.join().unwrap()).sum::<u64>()
                })
            };
            join(inside, inside)
        });
        assert_eq!(sums, (3000, 3000), "{scheduler}");
    }
}

#[test]
fn processes_that_tasks_start_are_unharmed() {
    let pool = ThreadPoolBuilder::new().num_threads(4).build().unwrap();
    let ends: Vec<bool> = pool.install(|| {
        let mut ends = vec![false; 20];
        scope(|scope| {
            for end in &mut ends {
                scope.spawn(|_| {
                    let mut command = Command::new("true");
                    // SAFETY: the closure does nothing. With one, the process is forked, not made
                    // by posix_spawn.
                    let command = unsafe { command.pre_exec(|| Ok(())) };
                    *end = command.status().unwrap().success();
                });
            }
        });
        ends
    });
    assert_eq!(ends, [true; 20]);
}

/// No test by itself.
#[test]
#[ignore = "exits"]
fn exits_inside_of_a_task() {
    let name = env::var("BEFIT_SCHEDULER").unwrap();
    let pool = ThreadPoolBuilder::new().num_threads(4).build().unwrap();
    pool.install(|| {
        join(
            || join(|| sum(100_000), || sum(100_000)),
            || {
                sum(1000);
                assert_eq!(env::var("BEFIT_SCHEDULER").unwrap(), name);
                std::process::exit(7)
            },
        );
    });
}

#[test]
fn an_exit_inside_of_a_task_ends_the_process_with_its_code() {
    for scheduler in SchedulerKind::ALL {
        let mut command = alone("exits_inside_of_a_task");
        command.env("BEFIT_SCHEDULER", scheduler.name());
        let output = output(command);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(7), "{scheduler}: {said}");
    }
}

/// A chain of forks, each inside of the one before, of that length.
fn deep(levels: u32) -> u32 {
    if levels == 0 { 0 } else { 1 + join(|| deep(levels - 1), || ()).0 }
}

/// Unoptimised, a level takes seven times as much of the stack.
#[test]
fn thousands_of_forks_inside_one_another_fit_on_a_stack_of_16_mib() {
    let levels = if cfg!(debug_assertions) { 5_000 } else { 15_000 };
    for scheduler in SchedulerKind::ALL {
        let pool = ThreadPoolBuilder::new().num_threads(3).scheduler(scheduler);
        let pool = pool.stack_size(16 << 20).build().unwrap();
        assert_eq!(pool.install(|| deep(levels)), levels, "{scheduler}");
    }
}

/// No test by itself.
#[test]
#[ignore = "overflows the stack"]
fn recurses_for_ever() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    pool.install(|| deep(u32::MAX));
}

#[test]
fn a_recursion_without_end_is_reported_as_an_overflow() {
    let output = output(alone("recurses_for_ever"));
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("has overflowed its stack"), "{said}");
}
