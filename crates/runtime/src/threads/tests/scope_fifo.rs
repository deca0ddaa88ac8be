//! Tests of what is run first in, first out.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, panic_any},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    time::Duration,
};

use crate::{
    SchedulerKind, ScopeFifo, join, scope_fifo, spawn_fifo,
    threads::testing::{Census, MACHINES, add, on_every_pool, pool, within},
};

/// Calls `test` with a pool of one thread under each scheduler: there the order can be seen.
fn on_one_thread(test: impl Fn(&crate::ThreadPool)) {
    within(Duration::from_secs(60), || {
        for scheduler in SchedulerKind::ALL {
            for machine in MACHINES {
                test(&pool(scheduler, machine, 1));
            }
        }
    });
}

#[test]
fn tasks_of_a_fifo_scope_start_in_the_order_in_which_they_were_spawned() {
    on_one_thread(|pool| {
        let order = Mutex::new(Vec::new());
        let order = &order;
        pool.scope_fifo(|s| {
            for i in 0..20 {
                s.spawn_fifo(move |s| {
                    order.lock().unwrap().push(i);
                    // These wait until all that was spawned before them has started.
                    s.spawn_fifo(move |_| order.lock().unwrap().push(100 + i));
                });
            }
        });
        assert!(order.lock().unwrap().iter().copied().eq((0..20).chain(100..120)));
    });
}

#[test]
fn detached_fifo_tasks_start_in_the_order_in_which_they_were_spawned() {
    on_one_thread(|pool| {
        let (sender, receiver) = mpsc::channel();
        let inside = sender.clone();
        pool.install(move || {
            (0..20).for_each(|i| {
                let sender = inside.clone();
                spawn_fifo(move || sender.send(i).unwrap());
            });
        });
        assert!(receiver.iter().take(20).eq(0..20));
        // From a thread outside, while the pool's is busy.
        let (done, wait) = mpsc::channel();
        pool.spawn(move || wait.recv().unwrap());
        (0..20).for_each(|i| {
            let sender = sender.clone();
            pool.spawn_fifo(move || sender.send(i).unwrap());
        });
        done.send(()).unwrap();
        assert!(receiver.iter().take(20).eq(0..20));
    });
}

#[test]
fn fifo_tasks_keep_their_order_when_their_spawner_forks_between_them() {
    on_one_thread(|pool| {
        let order = Mutex::new(Vec::new());
        let order = &order;
        pool.scope_fifo(|s| {
            let spawn = |i| s.spawn_fifo(move |_| order.lock().unwrap().push(i));
            join(|| join(|| spawn(0), || spawn(1)), || spawn(2));
            spawn(3);
        });
        assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3]);
    });
}

#[test]
fn all_tasks_of_a_fifo_scope_have_ended_when_it_returns() {
    fn grow<'s>(s: &ScopeFifo<'s>, depth: u32, count: &'s AtomicUsize) {
        count.fetch_add(1, SeqCst);
        if depth > 0 {
            s.spawn_fifo(move |s| grow(s, depth - 1, count));
            s.spawn_fifo(move |_| {
                let inner = AtomicUsize::new(0);
                scope_fifo(|s| grow(s, depth - 1, &inner));
                count.fetch_add(inner.into_inner(), SeqCst);
            });
        }
    }
    on_every_pool(|pool| {
        let count = AtomicUsize::new(0);
        assert_eq!(pool.scope_fifo(|s| (grow(s, 6, &count), "body").1), "body");
        assert_eq!(count.swap(0, SeqCst), 127);
        pool.in_place_scope_fifo(|s| grow(s, 6, &count));
        assert_eq!(count.into_inner(), 127);
    });
}

#[test]
fn fifo_tasks_may_be_spawned_by_many_threads_at_once() {
    on_every_pool(|pool| {
        let sums = [const { AtomicUsize::new(0) }; 2];
        pool.in_place_scope_fifo(|s| {
            std::thread::scope(|outside| {
                for sum in &sums {
                    outside.spawn(move || {
                        (0..20).for_each(|i| {
                            s.spawn_fifo(move |s| {
                                s.spawn_fifo(move |_| add(sum, i));
                            });
                        });
                    });
                }
            });
        });
        assert_eq!(sums.map(AtomicUsize::into_inner), [190, 190]);
    });
}

#[test]
fn a_fifo_scope_s_panic_goes_on_after_all_its_tasks_have_ended_and_drops_everything_once() {
    on_every_pool(|pool| {
        let census = Census::default();
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.scope_fifo(|s| {
                for i in 0..20 {
                    let token = census.token();
                    s.spawn_fifo(move |_| {
                        let _held = token;
                        if i % 7 == 3 {
                            panic_any("one of them");
                        }
                    });
                }
            });
        }));
        assert_eq!(result.unwrap_err().downcast_ref::<&str>(), Some(&"one of them"));
        census.check(20);
    });
}
