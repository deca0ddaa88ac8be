//! Tests of scopes and of detached tasks.

use std::{
    panic::panic_any,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::Duration,
};

use crate::{threads::testing::*, *};

#[test]
fn all_tasks_of_a_scope_have_ended_when_it_returns() {
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
        let result = pool.scope(|s| {
            for i in 0..25 {
                s.spawn(|_| add(&count, 1));
                s.spawn_fit((2 * i + 1) * 10_000, |_| add(&count, 1));
            }
            "body"
        });
        assert_eq!((result, count.swap(0, SeqCst)), ("body", 50));
        // Tasks may spawn into their scope, and open others.
        pool.scope(|s| grow(s, 6, &count));
        assert_eq!(count.into_inner(), 127);
    });
}

#[test]
fn others_run_what_a_worker_keeps_that_spins() {
    let _watchdog = watchdog(MINUTE);
    for kind in [SchedulerKind::Ws, SchedulerKind::Homes] {
        let sockets = "pack:2 l3:1(size=1MiB) core:1 l1:1(size=16KiB) pu:1";
        let (pool, count) = (pool(kind, sockets, 2), AtomicUsize::new(0));
        pool.scope(|s| {
            (0..200).for_each(|_| s.spawn(|_| add(&count, 1)));
            wait_until(|| count.load(SeqCst) == 200);
        });
    }
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
    fn body<'s>(s: &Scope<'s>, count: &'s AtomicUsize, (task, body): (bool, bool)) {
        for i in 0..10 {
            s.spawn(move |_| {
                add(count, 1);
                if i == 3 && task {
                    panic_any("a task");
                }
            });
        }
        if body {
            panic_any("the body");
        }
    }
    on_every_pool(|pool| {
        let count = AtomicUsize::new(0);
        for panics in [(true, false), (false, true), (true, true)] {
            let panic: &str = panic_of(|| pool.scope(|s| body(s, &count, panics)));
            let in_place: &str = panic_of(|| pool.in_place_scope(|s| body(s, &count, panics)));
            for panic in [panic, in_place] {
                assert!((panics.0 && panic == "a task") || (panics.1 && panic == "the body"));
            }
        }
        assert_eq!(count.load(SeqCst), 60);
    });
}

#[test]
fn of_several_panics_in_a_scope_the_first_goes_on() {
    fn panics_after(s: &Scope<'_>, later: u32) {
        // The only thread runs it when this has ended.
        if later > 0 {
            s.spawn(move |s| panics_after(s, later - 1));
        }
        panic_any(later);
    }
    on_one_thread(|pool| {
        let of_tasks = || pool.scope(|s| s.spawn(|s| panics_after(s, 3)));
        assert_eq!(panic_of::<u32, _>(of_tasks), 3);
        let of_the_body = || pool.scope(|s| panics_after(s, 3));
        assert_eq!(panic_of::<u32, _>(of_the_body), 3);
    });
}

/// Some of them panic.
fn drop_or_panic(i: usize, _held: Token<'_>) {
    if i % 7 == 3 {
        panic_any("one of them");
    }
}

#[test]
fn a_task_s_panic_goes_on_after_all_have_ended_and_what_they_hold_is_dropped_once() {
    on_every_pool(|pool| {
        let census = Census::default();
        let tokens = || (0..20).map(|i| (i, census.token()));
        let panic: &str = panic_of(|| {
            pool.scope(|s| tokens().for_each(|(i, held)| s.spawn(move |_| drop_or_panic(i, held))))
        });
        assert_eq!(panic, "one of them");
        census.check(20);
        let panic: &str = panic_of(|| {
            pool.scope_fifo(|s| {
                tokens().for_each(|(i, held)| s.spawn_fifo(move |_| drop_or_panic(i, held)));
            });
        });
        assert_eq!(panic, "one of them");
        census.check(40);
    });
}

#[test]
fn a_scope_can_be_spawned_into_from_a_thread_of_no_pool() {
    let _watchdog = watchdog(MINUTE);
    let pool = pool(SchedulerKind::Pws, "pu:2", 2);
    let count = AtomicUsize::new(0);
    pool.scope(|s| {
        thread::scope(|threads| drop(threads.spawn(|| s.spawn(|_| add(&count, 1)))));
    });
    assert_eq!(count.into_inner(), 1);
}

#[test]
fn detached_tasks_run_in_the_pool_they_were_spawned_in() {
    on_every_pool(|pool| {
        let (sender, receiver) = channel();
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
    let _watchdog = watchdog(MINUTE);
    let (keep, caught) = channel();
    let pool = ThreadPoolBuilder::new().num_threads(2).panic_handler(move |panic| {
        keep.send(*panic.downcast::<u32>().unwrap() + join(|| 0, || 1).1).unwrap();
    });
    let pool = pool.build().unwrap();
    pool.spawn(|| panic_any(6u32));
    drop(pool);
    assert_eq!(caught.iter().collect::<Vec<_>>(), [7]);
}

#[test]
fn a_panic_of_what_counts_a_thread_goes_to_the_pool_s_handler() {
    let _watchdog = watchdog(MINUTE);
    for first_call in [false, true] {
        let (keep, caught) = channel();
        let sockets = "pack:2 l3:1(size=4MiB) core:1 pu:1".parse().unwrap();
        let builder = ThreadPoolBuilder::new().num_threads(2).machine(sockets);
        let builder = builder.scheduler(SchedulerKind::Homes).count_with(move |thread| {
            assert!(first_call || thread != 1, "it cannot be opened");
            move || {
                assert!(thread != 1, "it cannot be read");
                None
            }
        });
        let builder = builder.panic_handler(move |_| keep.send(()).unwrap());
        let pool = builder.build().unwrap();
        assert_eq!(pool.install(|| join(|| 1, || 2)), (1, 2));
        drop(pool);
        assert_eq!(caught.iter().count(), 1);
    }
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
    let order = Mutex::new(Vec::new());
    let push = |number: i32| order.lock().unwrap().push(number);
    let pool = pool(SchedulerKind::Ws, "pu:1", 1);
    pool.scope(|outer| {
        outer.spawn(|_| push(1));
        scope(|inner| {
            inner.spawn(|_| push(-1));
            outer.spawn(|_| push(2));
            inner.spawn(|_| push(-2));
            outer.spawn(|_| push(3));
        });
    });
    assert_eq!(*order.lock().unwrap(), [3, -2, 2, -1, 1]);
}

const LIMIT: Duration = Duration::from_secs(20);

/// Whatever becomes of the others of a failed test, nobody waits for ever.
fn wait(signal: &Receiver<()>) {
    signal.recv_timeout(LIMIT).expect("the signal comes");
}

/// What runs while a worker holds the early task's credit, which must not keep the scope.
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
    let _watchdog = watchdog(2 * LIMIT);
    let ((go, gone), (is_over, over), (done, is_done)) = (channel(), channel(), channel());
    pool.in_place_scope(|s| {
        let (began, has_begun) = channel();
        s.spawn(move |_| {
            began.send(()).unwrap();
            wait(&gone);
        });
        wait(&has_begun);
        test(&pool, s, Other { go, over, done });
    });
    is_over.send(()).unwrap();
    wait(&is_done);
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
        let ((began, has_begun), (early, has_early)) = (channel(), channel());
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
        let ((early, is_early), (waits, has_waited)) = (channel(), channel());
        pool.spawn(move || {
            scope(|inner| {
                let (began, has_begun) = channel();
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
fn a_worker_that_ends_the_last_task_of_the_scope_that_it_waits_for_goes_on_at_once() {
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

#[test]
fn tasks_of_a_fifo_scope_start_in_the_order_in_which_they_were_spawned() {
    on_one_thread(|pool| {
        let order = &Mutex::new(Vec::new());
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
        let (sender, receiver) = channel();
        let inside = sender.clone();
        pool.install(move || {
            (0..20).for_each(|i| {
                let sender = inside.clone();
                spawn_fifo(move || sender.send(i).unwrap());
            });
        });
        assert!(receiver.iter().take(20).eq(0..20));
        // From a thread outside, while the pool's is busy.
        let (done, wait) = channel();
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
        let order = &Mutex::new(Vec::new());
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
            thread::scope(|outside| {
                for sum in &sums {
                    let twice = move |i| s.spawn_fifo(move |s| s.spawn_fifo(move |_| add(sum, i)));
                    outside.spawn(move || (0..20).for_each(twice));
                }
            });
        });
        assert_eq!(sums.map(AtomicUsize::into_inner), [190, 190]);
    });
}
