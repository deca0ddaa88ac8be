//! Tests of what a worker does with the ends that it has in hand: that no scope waits for them
//! while it does something else.
//!
//! In each a scope's *late* task keeps a second worker busy; so the first cannot know that the
//! *early* one, which it has run, is not the last.

use std::{
    sync::mpsc::{Receiver, Sender, channel},
    thread,
    time::Duration,
};

use crate::{
    SchedulerKind, Scope, ThreadPool, Yield, scope,
    threads::testing::{pool, within},
    yield_now,
};

const LIMIT: Duration = Duration::from_secs(20);

fn signal() -> (Sender<()>, Receiver<()>) {
    channel()
}

/// Whatever becomes of the others of a failed test, nobody waits for ever.
fn wait(signal: &Receiver<()>) {
    signal.recv_timeout(LIMIT).expect("the signal comes");
}

/// What runs while the early task's end is in hand, and must not keep the scope.
struct Other {
    go: Sender<()>,
    over: Receiver<()>,
    done: Sender<()>,
}

impl Other {
    /// Lets the late task end, and waits for the scope.
    fn wait_for_the_scope(self) {
        self.go.send(()).unwrap();
        wait(&self.over);
        self.done.send(()).unwrap();
    }
}

/// A scope of this thread's, with a task that is late. `test` is called once that runs; by it
/// something must come to [wait](Other::wait_for_the_scope).
fn with_a_late_task(threads: usize, test: impl for<'s> FnOnce(&'s ThreadPool, &Scope<'s>, Other)) {
    let pool = pool(SchedulerKind::Ws, &format!("core:{threads} pu:1"), threads);
    within(2 * LIMIT, || {
        let ((go, gone), (is_over, over), (done, is_done)) = (signal(), signal(), signal());
        pool.in_place_scope(|s| {
            let (began, has_begun) = signal();
            s.spawn(move |_| {
                began.send(()).unwrap();
                wait(&gone);
            });
            wait(&has_begun);
            test(&pool, s, Other { go, over, done });
        });
        is_over.send(()).unwrap();
        wait(&is_done);
    });
}

#[test]
fn a_scope_does_not_wait_for_what_its_worker_runs_next() {
    with_a_late_task(2, |pool, s, other| {
        // The second spawned is of no scope. The other worker is busy, so it runs here, next.
        s.spawn(move |_| pool.spawn(move || other.wait_for_the_scope()));
    });
}

#[test]
fn a_scope_does_not_wait_for_a_task_that_ran_it_by_yielding() {
    with_a_late_task(2, |pool, s, other| {
        let ((began, has_begun), (early, has_early)) = (signal(), signal());
        pool.spawn(move || {
            began.send(()).unwrap();
            wait(&has_early);
            while yield_now() != Some(Yield::Executed) {}
            other.wait_for_the_scope();
        });
        wait(&has_begun);
        s.spawn(|_| ());
        early.send(()).unwrap();
    });
}

#[test]
fn a_scope_does_not_wait_for_a_task_that_ran_it_while_it_waited() {
    with_a_late_task(3, |pool, s, other| {
        let ((early, is_early), (waits, has_waited)) = (signal(), signal());
        pool.spawn(move || {
            scope(|inner| {
                let (began, has_begun) = signal();
                // On the third worker; until the early task of the other scope has run here.
                inner.spawn(move |_| {
                    began.send(()).unwrap();
                    wait(&is_early);
                });
                wait(&has_begun);
                waits.send(()).unwrap();
            });
            other.wait_for_the_scope();
        });
        wait(&has_waited);
        s.spawn(move |_| {
            early.send(()).unwrap();
            // The inner scope is over when this returns.
            thread::sleep(Duration::from_millis(20));
        });
    });
}

#[test]
fn who_ends_a_scope_s_last_task_and_waits_for_it_goes_on_at_once() {
    let pool = pool(SchedulerKind::Ws, "core:1 pu:1", 1);
    let (log, logged) = channel();
    let later = log.clone();
    pool.install(|| {
        scope(|s| {
            s.spawn(|s| s.spawn(|_| pool.spawn(move || later.send("another").unwrap())));
        });
        log.send("over").unwrap();
        drop(log);
    });
    assert_eq!(logged.iter().collect::<Vec<_>>(), ["over", "another"]);
}
