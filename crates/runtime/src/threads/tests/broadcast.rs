//! Tests of broadcasts.

use std::{
    cell::Cell,
    panic::panic_any,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
    time::Duration,
};

use crate::{threads::testing::*, *};

#[test]
fn a_broadcast_runs_once_on_every_thread_and_answers_in_their_order() {
    on_every_pool(|pool| {
        let threads = pool.current_num_threads();
        let check = |answers: Vec<_>| {
            assert_eq!(answers, (0..threads).map(|i| (i, threads, Some(i))).collect::<Vec<_>>());
        };
        check(pool.broadcast(|c| (c.index(), c.num_threads(), current_thread_index())));
        assert_eq!(pool.statistics().total().executed, 0, "the scheduler has no part in it");
        check(pool.install(|| broadcast(|c| (c.index(), c.num_threads(), current_thread_index()))));
    });
}

#[test]
fn a_broadcast_outside_any_pool_runs_in_the_global_one() {
    let _watchdog = watchdog(MINUTE);
    let indices = broadcast(|c| c.index());
    assert!(indices.into_iter().eq(0..current_num_threads()));
}

#[test]
fn threads_that_sleep_are_woken_by_a_broadcast() {
    on_every_pool(|pool| {
        pool.broadcast(|_| ());
        // Long enough that they sleep, not so long that the test is slow.
        thread::sleep(Duration::from_millis(2));
        assert_eq!(pool.broadcast(|c| c.index()).len(), pool.current_num_threads());
    });
}

#[test]
fn nested_broadcasts_do_not_deadlock() {
    on_every_pool(|pool| {
        let threads = pool.current_num_threads();
        let inner =
            || broadcast(|c| broadcast(|c| c.index()).len() + c.index()).iter().sum::<usize>();
        let expected = threads * threads + threads * (threads - 1) / 2;
        assert_eq!(pool.broadcast(|_| inner()), vec![expected; threads]);
    });
}

#[test]
fn concurrent_broadcasts_do_not_deadlock() {
    on_every_pool(|pool| {
        let (threads, count) = (pool.current_num_threads(), AtomicUsize::new(0));
        let all = || drop(pool.broadcast(|_| count.fetch_add(1, SeqCst)));
        thread::scope(|outside| {
            (0..3).for_each(|_| drop(outside.spawn(|| (0..5).for_each(|_| all()))));
            pool.scope(|s| (0..5).for_each(|_| s.spawn(|_| all())));
        });
        assert_eq!(count.into_inner(), 20 * threads);
    });
}

/// Each waits for threads that wait for it: were a waiting worker to leave the other's part where
/// it is, none would end.
#[test]
fn concurrent_broadcasts_do_not_deadlock_where_waiting_workers_are_held_to_descendants() {
    with_descendants(|pool| {
        let (threads, count) = (pool.current_num_threads(), AtomicUsize::new(0));
        let nested = || drop(broadcast(|_| broadcast(|_| add(&count, 1))));
        pool.scope(|s| (0..20).for_each(|_| s.spawn(|_| nested())));
        assert_eq!(count.into_inner(), 20 * threads * threads);
    });
}

#[test]
fn broadcasts_go_back_and_forth_between_pools() {
    let _watchdog = watchdog(MINUTE);
    for scheduler in SchedulerKind::ALL {
        for (one, two) in [(1, 1), (2, 3)] {
            let (one, two) = (pool(scheduler, "pu:2", one), pool(scheduler, "pu:4", two));
            let count = AtomicUsize::new(0);
            one.broadcast(|_| {
                drop(two.broadcast(|_| one.broadcast(|_| count.fetch_add(1, SeqCst))))
            });
            let (n, m) = (one.current_num_threads(), two.current_num_threads());
            assert_eq!(count.into_inner(), n * m * n);
        }
    }
}

#[test]
fn a_broadcast_may_fork_and_wait() {
    on_every_pool(|pool| {
        let answers = pool.broadcast(|context| {
            let (a, b) = join(fit(100_000, || fib(3)), || fib(4));
            let sum = AtomicUsize::new((a + b) as usize);
            scope(|s| s.spawn(|_| add(&sum, 1)));
            assert_eq!(current_thread_index(), Some(context.index()), "it goes on where it was");
            sum.into_inner()
        });
        assert_eq!(answers, vec![2 + 3 + 1; pool.current_num_threads()]);
    });
}

#[test]
fn a_panic_on_one_thread_goes_on_after_all_threads_have_run() {
    on_every_pool(|pool| {
        let (last, count, census) =
            (pool.current_num_threads() - 1, AtomicUsize::new(0), Census::default());
        let work = |context: BroadcastContext<'_>| {
            let held = census.token();
            count.fetch_add(1, SeqCst);
            if context.index() == last {
                panic_any(9);
            }
            held
        };
        assert_eq!(panic_of::<i32, _>(|| pool.broadcast(work)), 9);
        assert_eq!(count.into_inner(), last + 1);
        census.check(last + 1);
        assert_eq!(pool.broadcast(|_| ()).len(), last + 1, "the pool goes on");
    });
}

#[test]
fn a_spawned_broadcast_runs_on_every_thread_before_the_pool_ends() {
    for_each_kind(|scheduler, threads| {
        let pool = pool(scheduler, MACHINES[2], threads);
        let (sender, receiver) = mpsc::channel();
        let from_outside = sender.clone();
        pool.spawn_broadcast(move |context| from_outside.send(context.index()).unwrap());
        pool.install(|| spawn_broadcast(move |context| sender.send(context.index()).unwrap()));
        drop(pool);
        assert!(sorted(receiver).into_iter().eq((0..threads).flat_map(|i| [i, i])));
    });
}

#[test]
fn each_panic_of_a_spawned_broadcast_goes_to_the_handler() {
    let _watchdog = watchdog(MINUTE);
    let (keep, caught) = mpsc::channel::<usize>();
    let builder = ThreadPoolBuilder::new().num_threads(3);
    let builder =
        builder.panic_handler(move |panic| keep.send(*panic.downcast().unwrap()).unwrap());
    let pool = builder.build().unwrap();
    pool.spawn_broadcast(|context| panic_any(context.index()));
    drop(pool);
    assert_eq!(sorted(caught), [0, 1, 2]);
}

#[test]
fn a_scope_s_broadcast_has_run_on_every_thread_when_the_scope_ends() {
    on_every_pool(|pool| {
        let (threads, count) = (pool.current_num_threads(), AtomicUsize::new(0));
        let count_one = || add(&count, 1);
        pool.scope(|s| {
            s.spawn_broadcast(|s, context| {
                assert_eq!(current_thread_index(), Some(context.index()));
                // Each may spawn into the scope in its turn, broadcasts too.
                s.spawn(|s| s.spawn_broadcast(|_, _| count_one()));
                count_one();
            });
        });
        assert_eq!(count.swap(0, SeqCst), threads + threads * threads);
        pool.in_place_scope(|s| s.spawn_broadcast(|_, _| count_one()));
        pool.install(|| scope_fifo(|s| s.spawn_broadcast(|_, _| count_one())));
        pool.in_place_scope_fifo(|s| s.spawn_broadcast(|_, _| count_one()));
        assert_eq!(count.into_inner(), 3 * threads);
    });
}

#[test]
fn a_scope_s_panicking_broadcast_is_waited_for_and_drops_what_it_holds_once() {
    on_every_pool(|pool| {
        let census = Census::default();
        let (token, ran) = (census.token(), &AtomicUsize::new(0));
        let work = move |_: &Scope<'_>, _: BroadcastContext<'_>| {
            let _held = &token;
            add(ran, 1);
            panic_any("all of them");
        };
        let panic: &str = panic_of(|| pool.scope(|s| s.spawn_broadcast(work)));
        assert_eq!(panic, "all of them");
        assert_eq!(ran.load(SeqCst), pool.current_num_threads());
        census.check(1);
    });
}

#[test]
fn what_is_local_to_a_thread_is_reached_by_each_broadcast() {
    thread_local! {
        static CALLS: Cell<usize> = const { Cell::new(0) };
    }
    on_every_pool(|pool| {
        for _ in 0..3 {
            pool.broadcast(|_| CALLS.set(CALLS.get() + 1));
        }
        assert_eq!(pool.broadcast(|_| CALLS.get()), vec![3; pool.current_num_threads()]);
    });
}

#[test]
fn a_broadcast_runs_after_what_its_thread_has_spawned_before() {
    on_every_pool(|pool| {
        let (sender, receiver) = mpsc::channel();
        // Twice each: the order must not depend on which end of its own work a thread takes.
        pool.broadcast(|context| {
            for _ in 0..2 {
                let (sender, index) = (sender.clone(), context.index());
                spawn(move || sender.send((index, current_thread_index(), false)).unwrap());
            }
        });
        let events = sender.clone();
        pool.broadcast(move |context| {
            events.send((context.index(), current_thread_index(), true)).unwrap()
        });
        drop(sender);
        let events: Vec<_> = receiver.into_iter().collect();
        for thread in 0..pool.current_num_threads() {
            let broadcast =
                events.iter().position(|event| *event == (thread, Some(thread), true)).unwrap();
            let spawned = |&(by, on, late): &(usize, Option<usize>, bool)| {
                !late && by == thread && on == Some(thread)
            };
            // What another thread has taken may end later.
            let last = events.iter().rposition(spawned);
            assert!(last.is_none_or(|last| last < broadcast), "{events:?}");
        }
    });
}

#[test]
fn broadcasts_that_wait_for_a_thread_run_in_the_order_in_which_they_came() {
    for_each_kind(|scheduler, threads| {
        let pool = pool(scheduler, MACHINES[2], threads);
        let all_wait = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&all_wait);
        pool.spawn_broadcast(move |_| wait_for(&until));
        let (sender, receiver) = mpsc::channel();
        for number in 0..10 {
            let sender = sender.clone();
            pool.spawn_broadcast(move |context| sender.send((context.index(), number)).unwrap());
        }
        drop(sender);
        all_wait.store(true, SeqCst);
        let mut orders = vec![Vec::new(); threads];
        receiver.into_iter().for_each(|(thread, number)| orders[thread].push(number));
        assert_eq!(orders, vec![Vec::from_iter(0..10); threads], "{scheduler}");
    });
}

/// It was taken for the subtree in which its thread waited, which so ended twice; the socket then
/// began no other.
#[test]
fn regression_a_broadcast_within_a_subtree_does_not_end_it() {
    /// Eight leaves of half a shared cache; each calls every thread.
    fn tree(depth: u32) {
        if depth == 3 {
            drop(broadcast(|_| ()));
            return;
        }
        let half = || fit((4 << 20) >> (depth + 1), || tree(depth + 1));
        join(half(), half());
    }
    let _watchdog = watchdog(MINUTE);
    for scheduler in
        [SchedulerKind::Cats, SchedulerKind::CatsS, SchedulerKind::Cab, SchedulerKind::Hws]
    {
        let pool = pool(scheduler, "pack:2 l3:1(size=1MiB) core:2 l2:1(size=64KiB) pu:1", 4);
        pool.install(fit(4 << 20, || (0..or_under_miri(50, 1)).for_each(|_| tree(0))));
    }
}
