//! A lock held across a fork (rayon's issue 592): a thread that waits for a fork runs another task,
//! which needs the lock that the thread holds. The program hangs on rayon and on befit's default,
//! and ends under `WaitPolicy::Descendants`.

use std::{
    env,
    process::{Child, Command, Stdio},
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use befit::{SchedulerKind, ThreadPoolBuilder, WaitPolicy};

/// The variable with the runtime that a process of this test uses.
const RUNTIME: &str = "PEERS_TEST_LOCK_ACROSS_JOIN";

const TASKS: usize = 64;

/// Long enough for a fork to be taken before its other half has ended.
fn work() {
    thread::sleep(Duration::from_millis(1));
}

/// Long enough for the thread of the other half to start another task.
fn more_work() {
    work();
    work();
}

/// Spawns a task late enough for an idle thread to take half of a fork of the task before.
fn spaced(spawn: impl FnOnce()) {
    thread::sleep(Duration::from_micros(200));
    spawn();
}

/// Gives `spawn_all` a task to run [`TASKS`] times at once: it holds a lock across a fork, made by
/// `join`.
fn program(spawn_all: impl FnOnce(&(dyn Fn() + Sync)), join: impl Fn() + Sync) {
    let done = Mutex::new(0);
    spawn_all(&|| {
        let mut done = done.lock().unwrap();
        join();
        *done += 1;
    });
    assert_eq!(done.into_inner().unwrap(), TASKS);
}

fn befit(policy: WaitPolicy, scheduler: SchedulerKind) {
    let pool = ThreadPoolBuilder::new().num_threads(4).wait_policy(policy).scheduler(scheduler);
    let pool = pool.build().unwrap();
    let spawn_all = |task: &(dyn Fn() + Sync)| {
        pool.scope(|s| (0..TASKS).for_each(|_| spaced(|| s.spawn(|_| task()))))
    };
    program(spawn_all, || _ = befit::join(work, more_work));
}

fn rayon() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
    let spawn_all = |task: &(dyn Fn() + Sync)| {
        pool.scope(|s| (0..TASKS).for_each(|_| spaced(|| s.spawn(|_| task()))))
    };
    program(spawn_all, || _ = rayon::join(work, more_work));
}

/// Runs the program on `runtime` in a process of its own; returns true if it ends within an ample
/// time.
fn ends(runtime: &str) -> bool {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "the_program", "--nocapture"]).env(RUNTIME, runtime);
    let mut child: Child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(5) {
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "{runtime}");
            return true;
        }
        thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    false
}

/// No test by itself: [`ends`] starts it.
#[test]
fn the_program() {
    match env::var(RUNTIME).as_deref() {
        Ok("rayon") => rayon(),
        Ok("anything") => befit(WaitPolicy::Anything, SchedulerKind::Ws),
        Ok("descendants ws") => befit(WaitPolicy::Descendants, SchedulerKind::Ws),
        Ok("descendants pws") => befit(WaitPolicy::Descendants, SchedulerKind::Pws),
        _ => {}
    }
}

#[test]
fn a_lock_held_across_a_fork_hangs_unless_waiting_workers_run_descendants_only() {
    for _ in 0..5 {
        assert!(ends("descendants ws"));
        assert!(ends("descendants pws"));
    }
    // Not each time: a fork must be taken while its owner holds the lock.
    let hangs = |runtime| (0..20).any(|_| !ends(runtime));
    assert!(hangs("rayon"), "rayon no longer hangs: its issue 592 is solved");
    assert!(hangs("anything"), "then this test shows nothing");
}
