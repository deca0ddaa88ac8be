//! Tests of scopes and of detached tasks.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, panic_any},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
    time::Duration,
};

use crate::{
    SchedulerKind, Scope, ThreadPoolBuilder, fit, join, scope, spawn,
    threads::testing::{Census, alone, on_every_pool, pool, within},
};

#[test]
fn all_tasks_of_a_scope_have_ended_when_it_returns() {
    on_every_pool(|pool| {
        let count = AtomicUsize::new(0);
        let result = pool.scope(|s| {
            for i in 0..50 {
                match i % 2 {
                    0 => s.spawn(|_| {
                        count.fetch_add(1, SeqCst);
                    }),
                    _ => s.spawn_fit(i * 10_000, |_| {
                        count.fetch_add(1, SeqCst);
                    }),
                }
            }
            "body"
        });
        assert_eq!((result, count.into_inner()), ("body", 50));
    });
}

#[test]
fn tasks_may_spawn_into_their_scope_and_open_others() {
    fn grow<'s>(s: &Scope<'s>, depth: u32, count: &'s AtomicUsize) {
        count.fetch_add(1, SeqCst);
        if depth > 0 {
            s.spawn(move |s| grow(s, depth - 1, count));
            s.spawn(move |_| {
                let inner = AtomicUsize::new(0);
                scope(|s| grow(s, depth - 1, &inner));
                count.fetch_add(inner.into_inner(), SeqCst);
            });
        }
    }
    on_every_pool(|pool| {
        let count = AtomicUsize::new(0);
        pool.scope(|s| grow(s, 6, &count));
        assert_eq!(count.into_inner(), 127);
    });
}

#[test]
fn tasks_borrow_mutably_from_the_scope_s_caller() {
    let mut parts = vec![0; 100];
    scope(|s| {
        for (i, part) in parts.iter_mut().enumerate() {
            s.spawn(move |_| *part = join(|| i, || 1).0);
        }
    });
    assert!(parts.iter().enumerate().all(|(i, part)| *part == i));
}

#[test]
fn a_scope_s_panic_goes_on_after_all_its_tasks_have_ended() {
    fn body<'s>(s: &Scope<'s>, count: &'s AtomicUsize, panics: bool) {
        for i in 0..10 {
            s.spawn(move |_| {
                count.fetch_add(1, SeqCst);
                if i == 3 {
                    panic_any(3);
                }
            });
        }
        assert!(!panics, "the body");
    }
    on_every_pool(|pool| {
        let count = AtomicUsize::new(0);
        let run = |panics| {
            catch_unwind(AssertUnwindSafe(|| pool.scope(|s| body(s, &count, panics)))).unwrap_err()
        };
        assert_eq!(run(false).downcast_ref::<i32>(), Some(&3));
        run(true);
        assert_eq!(count.load(SeqCst), 20);
    });
}

#[test]
fn everything_that_tasks_hold_is_dropped_once() {
    on_every_pool(|pool| {
        let census = Census::default();
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.scope(|s| {
                for i in 0..20 {
                    let token = census.token();
                    s.spawn(move |_| {
                        let _held = token;
                        assert!(i % 7 != 0);
                    });
                }
            });
        }));
        assert!(result.is_err());
        census.check(20);
    });
}

#[test]
fn a_scope_can_be_spawned_into_from_a_thread_of_no_pool() {
    within(Duration::from_secs(60), || {
        let pool = pool(SchedulerKind::Pws, "pu:2", 2);
        let count = AtomicUsize::new(0);
        pool.scope(|s| {
            thread::scope(|threads| {
                threads.spawn(|| {
                    s.spawn(|_| {
                        count.fetch_add(1, SeqCst);
                    })
                });
            });
        });
        assert_eq!(count.into_inner(), 1);
    });
}

#[test]
fn detached_tasks_run_in_the_pool_they_were_spawned_in() {
    on_every_pool(|pool| {
        let (sender, receiver) = mpsc::channel();
        let threads = pool.current_num_threads();
        pool.spawn(fit(100, move || {
            let again = sender.clone();
            spawn(move || again.send(crate::current_num_threads()).unwrap());
            sender.send(crate::current_num_threads()).unwrap();
        }));
        assert_eq!(receiver.iter().collect::<Vec<_>>(), [threads, threads]);
    });
}

#[test]
fn a_detached_panic_goes_to_the_pool_s_handler() {
    within(Duration::from_secs(60), || {
        let caught = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&caught);
        let handler = move |panic: Box<dyn std::any::Any + Send>| {
            keep.lock().unwrap().push(*panic.downcast::<u32>().unwrap() + join(|| 0, || 1).1);
        };
        let pool = ThreadPoolBuilder::new().num_threads(2).panic_handler(handler).build().unwrap();
        pool.spawn(|| panic_any(6u32));
        drop(pool);
        assert_eq!(*caught.lock().unwrap(), [7]);
    });
}

#[test]
fn a_detached_panic_without_a_handler_ends_the_process() {
    let Some(output) = alone(a_detached_panic_without_a_handler_ends_the_process) else {
        let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        pool.spawn(|| panic!("nobody takes it"));
        return drop(pool);
    };
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains("has no panic handler; aborting"), "{text}");
}

#[test]
fn regression_who_waits_for_an_inner_scope_runs_its_own_queue_newest_first() {
    // As rayon does, whose tests count on it: the inner scope's tasks do not overtake the outer
    // one's.
    let order = std::sync::Mutex::new(Vec::new());
    let push = |number: i32| order.lock().unwrap().push(number);
    let pool = crate::threads::testing::pool(crate::SchedulerKind::Ws, "pu:1", 1);
    pool.scope(|outer| {
        outer.spawn(|_| push(1));
        crate::scope(|inner| {
            inner.spawn(|_| push(-1));
            outer.spawn(|_| push(2));
            inner.spawn(|_| push(-2));
            outer.spawn(|_| push(3));
        });
    });
    assert_eq!(*order.lock().unwrap(), [3, -2, 2, -1, 1]);
}
