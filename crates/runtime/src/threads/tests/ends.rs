//! Tests of how pools end.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
    time::Duration,
};

use crate::{
    JoinThreadsError, SchedulerKind, ThreadPoolBuilder, spawn,
    threads::testing::{add, pool, within},
};

#[test]
fn joining_the_threads_waits_for_all_that_was_spawned() {
    within(Duration::from_secs(60), || {
        for scheduler in SchedulerKind::ALL {
            for threads in [1, 2, 7] {
                let count = Arc::new(AtomicUsize::new(0));
                let pool = pool(scheduler, "pack:2 l3:1(size=1MiB) core:4 pu:1", threads);
                for _ in 0..50 {
                    let count = Arc::clone(&count);
                    pool.spawn(move || spawn(move || add(&count, 1)));
                }
                pool.join_threads().unwrap();
                assert_eq!(Arc::try_unwrap(count).unwrap().into_inner(), 50);
            }
        }
    });
}

#[test]
fn joining_the_threads_from_inside_is_refused_and_does_not_hang() {
    within(Duration::from_secs(60), || {
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let (give, take) = mpsc::channel::<crate::ThreadPool>();
        let (answer, answered) = mpsc::channel();
        pool.spawn(move || {
            answer
                .send((take.recv().unwrap().join_threads(), crate::current_thread_index()))
                .unwrap()
        });
        give.send(pool).unwrap();
        let (result, index) = answered.recv().unwrap();
        let error = result.unwrap_err();
        assert_eq!(error, JoinThreadsError::InsidePool { index: index.unwrap() });
        assert!(error.to_string().contains("cannot wait for that pool's end"));
        assert!(answered.recv().is_err(), "the task has ended");
    });
}

#[test]
fn another_pool_s_thread_may_join_a_pool_that_needs_that_thread() {
    within(Duration::from_secs(60), || {
        let outer = Arc::new(pool(SchedulerKind::Ws, "pu:1", 1));
        let (again, count) = (Arc::clone(&outer), Arc::new(AtomicUsize::new(0)));
        let counted = Arc::clone(&count);
        outer.install(move || {
            let inner = pool(SchedulerKind::Sb, "pu:1", 1);
            inner.spawn(move || add(&counted, again.install(|| 1)));
            inner.join_threads().unwrap();
        });
        assert_eq!(count.load(SeqCst), 1);
    });
}

#[test]
fn a_detached_pool_runs_what_was_spawned_and_nobody_waits() {
    within(Duration::from_secs(60), || {
        let (go_on, wait) = mpsc::channel();
        let (sender, receiver) = mpsc::channel();
        let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        pool.spawn(move || {
            wait.recv().unwrap();
            spawn(move || sender.send(thread::current().id()).unwrap());
        });
        pool.detach();
        go_on.send(()).unwrap();
        assert_ne!(receiver.recv().unwrap(), thread::current().id());
    });
}
