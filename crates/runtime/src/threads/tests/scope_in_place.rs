//! Tests of scopes whose body runs where it is called.

use std::{
    rc::Rc,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    thread,
};

use crate::{threads::testing::*, *};

#[test]
fn an_in_place_scope_s_body_runs_on_the_calling_thread_and_its_tasks_in_the_pool() {
    on_every_pool(|pool| {
        let here = thread::current().id();
        let ran = AtomicUsize::new(0);
        let not_send = Rc::new(5);
        let answer = pool.in_place_scope(|s| {
            assert_eq!((thread::current().id(), current_thread_index()), (here, None));
            for _ in 0..10 {
                s.spawn(|s| {
                    assert!(pool.current_thread_index().is_some());
                    s.spawn(|_| add(&ran, 1));
                });
            }
            s.spawn_fit(1000, |_| add(&ran, 1));
            Rc::clone(&not_send)
        });
        assert_eq!((*answer, ran.swap(0, SeqCst)), (5, 11));
        pool.in_place_scope_fifo(|s| {
            assert_eq!(thread::current().id(), here);
            let _not_send = &not_send;
            s.spawn_fifo(|_| {
                assert!(pool.current_thread_index().is_some());
                add(&ran, 1);
            });
        });
        assert_eq!(ran.into_inner(), 1);
    });
}

#[test]
fn an_in_place_scope_works_on_a_thread_of_the_pool() {
    on_every_pool(|pool| {
        let count = AtomicUsize::new(0);
        pool.install(|| {
            let here = current_thread_index();
            in_place_scope(|s| {
                assert_eq!(current_thread_index(), here);
                s.spawn(|_| in_place_scope_fifo(|s| s.spawn_fifo(|_| add(&count, 1))));
                pool.in_place_scope(|s| s.spawn(|_| add(&count, 1)));
            });
        });
        assert_eq!(count.into_inner(), 2);
    });
}

#[test]
fn an_in_place_scope_outside_any_pool_uses_the_global_one() {
    let _watchdog = watchdog(MINUTE);
    let mut places = [None; 2];
    let [first, second] = &mut places;
    in_place_scope(|s| s.spawn(|_| *first = current_thread_index()));
    in_place_scope_fifo(|s| s.spawn_fifo(|_| *second = current_thread_index()));
    assert!(places.iter().all(Option::is_some));
}

/// Its tasks need the thread that waits for them.
#[test]
fn a_worker_that_waits_for_another_pool_s_in_place_scope_runs_its_own_pool_s_work() {
    let _watchdog = watchdog(MINUTE);
    for scheduler in SchedulerKind::ALL {
        let (outer, inner) = (pool(scheduler, "pu:1", 1), pool(scheduler, "pu:1", 1));
        let ran = AtomicUsize::new(0);
        outer.install(|| {
            inner.in_place_scope(|s| {
                assert_eq!(outer.current_thread_index(), Some(0));
                s.spawn(|_| outer.install(|| add(&ran, 1)));
            });
        });
        assert_eq!(ran.into_inner(), 1);
    }
}

#[test]
fn a_lock_may_be_held_across_scopes_of_all_kinds_where_waiting_workers_are_held_to_descendants() {
    with_descendants(|pool| {
        let sum = Mutex::new(0);
        let count = &|kind: usize| {
            let mut sum = sum.lock().unwrap();
            let part = AtomicUsize::new(0);
            let one = || add(&part, 1);
            match kind % 4 {
                0 => scope(|s| s.spawn(|s| s.spawn(|_| one()))),
                1 => scope_fifo(|s| s.spawn_fifo(|s| s.spawn_fifo(|_| one()))),
                2 => in_place_scope(|s| s.spawn(|_| in_place_scope(|s| s.spawn(|_| one())))),
                _ => in_place_scope_fifo(|s| {
                    s.spawn_fifo(|_| scope_fifo(|s| s.spawn_fifo(|_| one())))
                }),
            }
            *sum += part.into_inner();
        };
        pool.scope_fifo(|s| (0..100).for_each(|kind| s.spawn_fifo(move |_| count(kind))));
        pool.scope(|s| (0..100).for_each(|kind| s.spawn(move |_| count(kind))));
        assert_eq!(sum.into_inner().unwrap(), 200);
    });
}

#[test]
fn regression_a_worker_that_is_held_to_descendants_is_so_while_it_waits_for_another_pool_s_tasks() {
    let _watchdog = watchdog(MINUTE);
    let builder = ThreadPoolBuilder::new().num_threads(1).wait_policy(WaitPolicy::Descendants);
    let (outer, inner) = (builder.build().unwrap(), pool(SchedulerKind::Ws, "pu:2", 2));
    let (waits, ran) = (AtomicBool::new(false), AtomicUsize::new(0));
    // Its only thread waits for it, which so must look for work.
    let back = || outer.install(|| add(&ran, 1));
    let ways: [&(dyn Fn() + Sync); 3] = [
        &|| inner.in_place_scope(|s| s.spawn(|s| s.spawn(|_| back()))),
        &|| inner.in_place_scope_fifo(|s| s.spawn_fifo(|_| back())),
        &|| drop(inner.broadcast(|_| back())),
    ];
    for way in ways {
        outer.scope(|s| {
            s.spawn(|_| {
                assert!(!waits.load(SeqCst), "it could take a lock that the waiting task holds");
                add(&ran, 10);
            });
            waits.store(true, SeqCst);
            way();
            waits.store(false, SeqCst);
        });
    }
    assert_eq!(ran.into_inner(), 34);
}
