//! Tests of what a worker does with the ends that it has in hand: that no scope waits for them while it does something else.
//!
//! In each a scope's *late* task keeps a second worker busy; so the first cannot know that the *early* one, which it has run, is not the last.

use std::{
    sync::mpsc::{Receiver, Sender, channel},
    thread,
    time::Duration,
};

use crate::{
    SchedulerKind, ThreadPool, Yield, scope,
    testing::{pool, within},
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

/// A scope of this thread's, with a task that is late: it ends when `go` is given. `more` is called once it runs.
fn with_a_late_task<'s>(pool: &'s ThreadPool, go: Receiver<()>, more: impl FnOnce(&crate::Scope<'s>)) {
    pool.in_place_scope(|s| {
        let (began, has_begun) = signal();
        s.spawn(move |_| {
            began.send(()).unwrap();
            wait(&go);
        });
        wait(&has_begun);
        more(s);
    });
}

#[test]
fn a_scope_does_not_wait_for_what_its_worker_runs_next() {
    let pool = pool(SchedulerKind::Ws, "core:2 pu:1", 2);
    within(2 * LIMIT, || {
        let ((go, gone), (over, is_over), (done, is_done)) = (signal(), signal(), signal());
        with_a_late_task(&pool, gone, |s| {
            let pool = &pool;
            s.spawn(move |_| {
                // Of no scope. The other worker is busy, so it runs here, next.
                pool.spawn(move || {
                    go.send(()).unwrap();
                    wait(&is_over);
                    done.send(()).unwrap();
                });
            });
        });
        over.send(()).unwrap();
        wait(&is_done);
    });
}

#[test]
fn a_scope_does_not_wait_for_a_task_that_ran_it_by_yielding() {
    let pool = pool(SchedulerKind::Ws, "core:2 pu:1", 2);
    within(2 * LIMIT, || {
        let ((go, gone), (over, is_over), (done, is_done)) = (signal(), signal(), signal());
        let (early, has_early) = signal();
        with_a_late_task(&pool, gone, |s| {
            let (began, has_begun) = signal();
            pool.spawn(move || {
                began.send(()).unwrap();
                wait(&has_early);
                while yield_now() != Some(Yield::Executed) {}
                go.send(()).unwrap();
                wait(&is_over);
                done.send(()).unwrap();
            });
            wait(&has_begun);
            s.spawn(|_| ());
            early.send(()).unwrap();
        });
        over.send(()).unwrap();
        wait(&is_done);
    });
}

#[test]
fn a_scope_does_not_wait_for_a_task_that_ran_it_while_it_waited() {
    let pool = pool(SchedulerKind::Ws, "core:3 pu:1", 3);
    within(2 * LIMIT, || {
        let ((go, gone), (over, is_over), (done, is_done)) = (signal(), signal(), signal());
        let (early, is_early) = signal();
        let (waits, has_waited) = signal();
        with_a_late_task(&pool, gone, |s| {
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
                go.send(()).unwrap();
                wait(&is_over);
                done.send(()).unwrap();
            });
            wait(&has_waited);
            s.spawn(move |_| {
                early.send(()).unwrap();
                // The inner scope is over when this returns.
                thread::sleep(Duration::from_millis(20));
            });
        });
        over.send(()).unwrap();
        wait(&is_done);
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
