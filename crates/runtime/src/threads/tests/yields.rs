//! Tests of giving way.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use crate::{threads::testing::*, *};

#[test]
fn nothing_can_be_yielded_to_outside_the_pool() {
    let _watchdog = watchdog(MINUTE);
    let here = (yield_now(), yield_local(), current_thread_has_pending_tasks());
    assert_eq!(here, (None, None, None));
    let (one, two) = (pool(SchedulerKind::Ws, "pu:1", 1), pool(SchedulerKind::Sb, "pu:1", 1));
    let ask = || (two.yield_now(), two.yield_local(), two.current_thread_has_pending_tasks());
    assert_eq!(one.install(ask), (None, None, None));
    assert_eq!(two.install(ask), (Some(Yield::Idle), Some(Yield::Idle), Some(false)));
}

/// Calls `test` in pools of two threads, the other of which is busy until the answer of `test` is
/// there.
fn beside_a_busy_thread(test: impl Fn() + Sync) {
    on_each_that_steals("l3:1(size=8MiB) core:2 l2:1(size=256KiB) pu:1", 2, |pool| {
        let (busy, over) = (AtomicBool::new(false), AtomicBool::new(false));
        pool.in_place_scope(|s| {
            s.spawn(|_| {
                busy.store(true, SeqCst);
                wait_for(&over);
            });
            wait_for(&busy);
            pool.install(&test);
            over.store(true, SeqCst);
        });
    });
}

#[test]
fn open_forks_run_when_their_thread_yields_until_they_have() {
    for yields in [yield_now, yield_local] {
        beside_a_busy_thread(|| {
            let done = AtomicBool::new(false);
            let wait = || {
                while !done.load(SeqCst) {
                    assert_eq!(yields(), Some(Yield::Executed), "something to do until it is done");
                }
                "first"
            };
            let set = || {
                done.store(true, SeqCst);
                "second"
            };
            // Deep down, so that some forks are private and others with the scheduler.
            assert_eq!(join(|| join(|| join(wait, || ()), || ()).0.0, set), ("first", "second"));
        });
    }
}

#[test]
fn spawned_tasks_run_when_their_spawner_yields() {
    on_every_pool(|pool| {
        let count = AtomicUsize::new(0);
        pool.scope(|s| {
            (0..10).for_each(|_| s.spawn(|_| add(&count, 1)));
            while count.load(SeqCst) < 10 {
                pool.yield_now().unwrap();
            }
        });
    });
}

#[test]
fn on_one_thread_a_yield_runs_one_task_at_a_time_until_there_is_none() {
    on_one_thread(|pool| {
        pool.scope(|s| {
            assert_eq!(current_thread_has_pending_tasks(), Some(false));
            s.spawn(|_| ());
            s.spawn(|_| ());
            spawn_broadcast(|_| ());
            assert_eq!(current_thread_has_pending_tasks(), Some(true));
            assert_eq!([yield_now(), yield_local(), yield_now()], [Some(Yield::Executed); 3]);
            assert_eq!(current_thread_has_pending_tasks(), Some(false));
            assert_eq!([yield_now(), yield_local()], [Some(Yield::Idle); 2]);
        });
    });
}

#[test]
fn an_open_fork_is_pending_while_its_first_half_runs() {
    beside_a_busy_thread(|| {
        let pending = current_thread_has_pending_tasks;
        assert_eq!((pending(), join(pending, pending)), (Some(false), (Some(true), Some(false))));
    });
}

#[test]
fn a_local_yield_steals_nothing() {
    let _watchdog = watchdog(MINUTE);
    let pool = pool(SchedulerKind::Ws, "pu:2", 2);
    let (ready, go_on) = (AtomicBool::new(false), AtomicBool::new(false));
    let ran = AtomicBool::new(false);
    scope(|_| ()); // the global pool plays no part
    pool.in_place_scope(|s| {
        s.spawn(|_| {
            wait_for(&ready);
            assert_eq!(yield_local(), Some(Yield::Idle));
            assert!(!ran.load(SeqCst));
            go_on.store(true, SeqCst);
        });
        s.spawn(|s| {
            // On the other thread: both are busy, so what it spawns stays in its queue.
            s.spawn(|_| ran.store(true, SeqCst));
            ready.store(true, SeqCst);
            wait_for(&go_on);
        });
    });
    assert!(ran.into_inner());
}

#[test]
fn tasks_that_all_yield_to_one_another_come_to_an_end() {
    on_every_pool(|pool| {
        // Under `cab` each of these tasks is a subtree: it begins a second on a socket only when
        // nothing has happened for long.
        let tasks = if pool.scheduler() == SchedulerKind::Cab { 5 } else { 20 };
        let left = AtomicUsize::new(tasks);
        pool.scope(|s| {
            for _ in 0..tasks {
                s.spawn(|_| {
                    left.fetch_sub(1, SeqCst);
                    // Each waits for all: on few threads they lie on top of one another.
                    while left.load(SeqCst) > 0 {
                        yield_now().unwrap();
                    }
                });
            }
        });
    });
}
