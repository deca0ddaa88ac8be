//! Tests of work that comes from threads outside the pool.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use befit_sched::Finds;

use crate::{threads::testing::*, *};

/// Calls `test` with a pool of one thread under each scheduler that takes its turns: all but those
/// that must see every fork.
fn on_each_in_turn(test: impl Fn(&ThreadPool)) {
    on_each_scheduler("pu:1", 1, |pool| {
        if !pool.pool().engine.capabilities.sees_forks {
            test(pool);
        }
    });
}

/// Keeps the pool's only thread busy until the result is set.
fn keep_busy(pool: &ThreadPool) -> Arc<AtomicBool> {
    let over = Arc::new(AtomicBool::new(false));
    let until = Arc::clone(&over);
    pool.spawn(move || wait_for(&until));
    over
}

#[test]
fn what_threads_outside_spawn_is_run_in_the_order_in_which_it_came() {
    on_each_in_turn(|pool| {
        let over = keep_busy(pool);
        let (sender, receiver) = mpsc::channel();
        for number in 0..5 {
            let sender = sender.clone();
            // In one queue with these.
            match number {
                3 => pool.spawn_fifo(move || sender.send(number).unwrap()),
                _ => pool.spawn(move || sender.send(number).unwrap()),
            }
        }
        drop(sender);
        over.store(true, SeqCst);
        assert_eq!(Vec::from_iter(receiver), [0, 1, 2, 3, 4], "{}", pool.pool().scheduler_name());
    });
}

#[test]
fn a_call_from_outside_comes_after_what_was_spawned_there_before() {
    on_each_in_turn(|pool| {
        let over = keep_busy(pool);
        let ran = Arc::new(AtomicUsize::new(0));
        for _ in 0..5 {
            let ran = Arc::clone(&ran);
            pool.spawn(move || add(&ran, 1));
        }
        let before = thread::scope(|scope| {
            let call = scope.spawn(|| pool.install(|| ran.load(SeqCst)));
            // Most likely the call lies in the pool by then.
            thread::sleep(Duration::from_millis(5));
            over.store(true, SeqCst);
            call.join().unwrap()
        });
        assert_eq!(before, 5, "{}", pool.pool().scheduler_name());
    });
}

/// The oldest of several calls waited for as long as newer ones came.
#[test]
fn regression_of_threads_that_call_without_end_each_gets_its_turns() {
    const TURNS: usize = 20;
    let _watchdog = watchdog(MINUTE);
    let pool = pool(SchedulerKind::Ws, "pu:1", 1);
    let calling = AtomicUsize::new(0);
    let over = AtomicBool::new(false);
    let turns = [(); 3].map(|()| AtomicUsize::new(0));
    let all = || turns.iter().map(|turns| turns.load(SeqCst)).sum::<usize>();
    let fewest = || turns.iter().map(|turns| turns.load(SeqCst)).min().unwrap();
    thread::scope(|scope| {
        let (pool, calling, over) = (&pool, &calling, &over);
        for own in &turns {
            let call = move || {
                add(own, 1);
                // The others are at their next calls.
                wait_until(|| calling.load(SeqCst) == 3 || over.load(SeqCst));
                thread::sleep(Duration::from_millis(1));
                if fewest() >= TURNS || all() >= 100 * TURNS {
                    over.store(true, SeqCst);
                }
                calling.fetch_sub(1, SeqCst);
            };
            scope.spawn(move || {
                while !over.load(SeqCst) {
                    add(calling, 1);
                    pool.install(call);
                }
            });
        }
    });
    assert!(fewest() >= TURNS, "{turns:?}");
}

#[test]
fn a_broadcast_does_not_wait_for_what_came_from_outside() {
    on_each_in_turn(|pool| {
        if pool.pool().engine.policy.capabilities().finds != Finds::Everything {
            return; // It cannot tell what came from outside from what its thread has spawned.
        }
        let over = keep_busy(pool);
        let (sender, receiver) = mpsc::channel();
        for name in ["from outside"; 3] {
            let sender = sender.clone();
            pool.spawn(move || sender.send(name).unwrap());
        }
        pool.spawn_broadcast(move |_| sender.send("to all").unwrap());
        over.store(true, SeqCst);
        let order = Vec::from_iter(receiver);
        assert_eq!(order[0], "to all", "{}", pool.pool().scheduler_name());
    });
}

#[test]
fn a_panic_of_one_call_from_outside_is_its_caller_s_whoever_s_turn_it_is() {
    on_each_in_turn(|pool| {
        let over = keep_busy(pool);
        thread::scope(|scope| {
            let call = |number: usize| {
                let work =
                    move || if number.is_multiple_of(2) { number } else { panic!("{number}") };
                scope.spawn(move || pool.install(work))
            };
            let calls: Vec<_> = (0..6).map(call).collect();
            over.store(true, SeqCst);
            for (number, call) in calls.into_iter().enumerate() {
                let ended = call.join();
                match ended {
                    Ok(result) => assert_eq!((result, number % 2), (number, 0)),
                    Err(panic) => {
                        assert_eq!(*panic.downcast::<String>().unwrap(), number.to_string())
                    }
                }
            }
        });
    });
}

/// The pool's wait took the token of [`thread::park`], or left one behind.
#[test]
fn regression_what_unparks_a_thread_in_a_call_is_left_to_the_program() {
    let _watchdog = watchdog(MINUTE);
    let pool = pool(SchedulerKind::Ws, "pu:2", 2);
    // Most likely the caller blocks by then, and would block again if it were woken.
    let unpark = || {
        let (caller, late) = (thread::current(), Duration::from_millis(5));
        move || {
            thread::sleep(late);
            caller.unpark();
            thread::sleep(late);
        }
    };
    pool.install(unpark());
    thread::park();
    let task = unpark();
    pool.in_place_scope(|s| s.spawn(move |_| task()));
    thread::park();
    let moment = Duration::from_millis(1);
    for _ in 0..20 {
        pool.install(|| ());
        let begin = Instant::now();
        thread::park_timeout(moment);
        assert!(begin.elapsed() >= moment);
    }
    pool.spawn(unpark());
    drop(pool);
    thread::park();
}
