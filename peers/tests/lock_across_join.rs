//! A lock held across a fork (rayon's issue 592): a thread that waits for a fork runs another task,
//! which needs the lock that the thread holds. The program hangs on rayon and on befit's default,
//! and ends under `WaitPolicy::Descendants`.
//!
//! The schedule is made, not waited for: the pool has two threads, and one of them is kept by the
//! other half of the fork until the one that waits has begun the other task.

use std::{
    cell::Cell,
    env,
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    sync::{
        Mutex,
        mpsc::{RecvTimeoutError, Sender, channel},
    },
    thread,
    time::Duration,
};

use befit::{SchedulerKind, ThreadPoolBuilder, WaitPolicy};

/// The variable with the runtime that a process of this test uses.
const RUNTIME: &str = "PEERS_TEST_LOCK_ACROSS_JOIN";
/// What the program prints once a thread asks for the lock that it holds.
const HANGS: &str = "this thread waits for itself";

/// Times that the program holds the lock across a fork.
const ROUNDS: usize = 5;
/// A fork that nobody has taken by then is made again.
const TAKEN: Duration = Duration::from_millis(100);
/// Much longer than a waiting thread needs to find another task.
const FOUND: Duration = Duration::from_millis(100);

static LOCK: Mutex<usize> = Mutex::new(0);

thread_local! {
    /// Whether this thread holds the lock.
    static HOLDS: Cell<bool> = const { Cell::new(false) };
}

/// The other task.
fn takes_the_lock(began: &Sender<()>) {
    if HOLDS.get() {
        println!("{HANGS}");
    }
    let _ = began.send(());
    *LOCK.lock().unwrap() += 1;
}

/// The two halves of a fork. The first returns whether another thread has taken the second, which
/// gets whether it was.
type Halves<'h> = (&'h (dyn Fn() -> bool + Sync), &'h (dyn Fn(bool) + Sync));

/// A pool: how it gets tasks from outside, and how a task of it forks.
trait Pool: Copy + Send + Sync + 'static {
    fn spawn(self, task: impl FnOnce() + Send + 'static);
    /// Returns what the first half does.
    fn join(halves: Halves<'_>) -> bool;
}

impl Pool for &'static befit::ThreadPool {
    fn spawn(self, task: impl FnOnce() + Send + 'static) {
        befit::ThreadPool::spawn(self, task);
    }

    fn join((first, second): Halves<'_>) -> bool {
        befit::join_context(|_| first(), |context| second(context.migrated())).0
    }
}

impl Pool for &'static rayon::ThreadPool {
    fn spawn(self, task: impl FnOnce() + Send + 'static) {
        rayon::ThreadPool::spawn(self, task);
    }

    fn join((first, second): Halves<'_>) -> bool {
        rayon::join_context(|_| first(), |context| second(context.migrated())).0
    }
}

/// Holds a lock across a fork. The task that needs the lock is spawned once another thread has
/// taken half of the fork.
fn program<P: Pool>(pool: P) {
    for _ in 0..ROUNDS {
        let (ended, end) = channel();
        pool.spawn(move || {
            let mut count = LOCK.lock().unwrap();
            HOLDS.set(true);
            while !waits_for_a_fork(pool, &ended) {}
            HOLDS.set(false);
            *count += 1;
        });
        // Both tasks hold `ended` until they have ended.
        assert!(end.recv().is_err());
    }
    assert_eq!(*LOCK.lock().unwrap(), 2 * ROUNDS);
}

/// Forks, and returns false if no other thread has taken half of it. `ended` goes with the other
/// task, too.
fn waits_for_a_fork<P: Pool>(pool: P, ended: &Sender<()>) -> bool {
    let ((taken, is_taken), (began, has_begun)) = (channel(), channel());
    let ([taken, began], ended) = ([taken, began].map(Mutex::new), Mutex::new(ended.clone()));
    let [is_taken, has_begun] = [is_taken, has_begun].map(Mutex::new);
    let first = || {
        let is_taken = is_taken.lock().unwrap().recv_timeout(TAKEN).is_ok();
        if is_taken {
            let (began, ended) = (began.lock().unwrap().clone(), ended.lock().unwrap().clone());
            // From a thread outside the pool: the other task is no descendant of this one.
            let outside = thread::spawn(move || {
                pool.spawn(move || {
                    takes_the_lock(&began);
                    drop(ended);
                });
            });
            outside.join().unwrap();
        }
        is_taken
    };
    let second = |migrated: bool| {
        if migrated {
            let _ = taken.lock().unwrap().send(());
            // Where the waiting thread begins no other task, this ends all the same.
            let _ = has_begun.lock().unwrap().recv_timeout(FOUND);
        }
    };
    P::join((&first, &second))
}

fn befit(policy: WaitPolicy, scheduler: SchedulerKind) {
    let pool = ThreadPoolBuilder::new().num_threads(2).wait_policy(policy).scheduler(scheduler);
    program::<&befit::ThreadPool>(Box::leak(Box::new(pool.build().unwrap())));
}

fn rayon() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    program::<&rayon::ThreadPool>(Box::leak(Box::new(pool)));
}

/// Runs the program on `runtime` in a process of its own; returns true if it ends.
fn ends(runtime: &str) -> bool {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "the_program", "--nocapture"]).env(RUNTIME, runtime);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let (sender, lines) = channel();
    let printed = BufReader::new(child.stdout.take().unwrap()).lines();
    thread::spawn(move || printed.map_while(Result::ok).try_for_each(|line| sender.send(line)));
    loop {
        match lines.recv_timeout(Duration::from_secs(30)) {
            Ok(line) if !line.contains(HANGS) => {}
            Err(RecvTimeoutError::Disconnected) => {
                assert!(child.wait().unwrap().success(), "{runtime}");
                return true;
            }
            hangs => {
                // It waits for itself, so it does not end however long it has.
                thread::sleep(Duration::from_millis(300));
                let ended = child.try_wait().unwrap();
                assert!(hangs.is_err() || ended.is_none(), "{runtime}: {ended:?}");
                child.kill().unwrap();
                child.wait().unwrap();
                return false;
            }
        }
    }
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
    assert!(ends("descendants ws"));
    assert!(ends("descendants pws"));
    // Each time, but where a busy machine keeps a thread from running for long.
    let hangs = |runtime| (0..20).any(|_| !ends(runtime));
    assert!(hangs("rayon"), "rayon no longer hangs: its issue 592 is solved");
    assert!(hangs("anything"), "then this test shows nothing");
}
