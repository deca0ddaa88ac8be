//! Tests of `join_context`.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    thread,
    time::Duration,
};

use crate::{
    FnContext, join_context,
    threads::testing::{on_every_pool, pool, within},
};

#[test]
fn migrated_is_true_exactly_if_the_closure_runs_on_another_thread() {
    fn tree(depth: u32, moved: &AtomicUsize) -> u32 {
        if depth == 0 {
            return 1;
        }
        let home = thread::current().id();
        let check = |context: FnContext| {
            assert_eq!(context.migrated(), thread::current().id() != home);
            moved.fetch_add(usize::from(context.migrated()), SeqCst);
            tree(depth - 1, moved)
        };
        let (a, b) = join_context(check, check);
        a + b
    }
    on_every_pool(|pool| {
        let moved = AtomicUsize::new(0);
        assert_eq!(pool.install(|| tree(7, &moved)), 128);
        if pool.current_num_threads() == 1 {
            assert_eq!(moved.into_inner(), 0, "there is nobody else");
        }
    });
}

#[test]
fn a_half_that_another_thread_takes_is_told_so() {
    within(Duration::from_secs(60), || {
        for scheduler in crate::SchedulerKind::ALL {
            let pool = pool(scheduler, "pu:2", 2);
            let started = AtomicBool::new(false);
            let first = |context: FnContext| {
                // Only another thread can start the second half.
                while !started.load(SeqCst) {
                    thread::yield_now();
                }
                context.migrated()
            };
            let second = |context: FnContext| {
                started.store(true, SeqCst);
                context.migrated()
            };
            assert_eq!(pool.install(|| join_context(first, second)), (false, true));
        }
    });
}

#[test]
fn called_outside_a_pool_both_halves_have_migrated() {
    within(Duration::from_secs(60), || {
        assert_eq!(join_context(|a| a.migrated(), |b| b.migrated()), (true, true));
    });
}

#[test]
fn its_panics_go_on_as_those_of_join() {
    on_every_pool(|pool| {
        let ran = AtomicBool::new(false);
        let both = || join_context(|_| std::panic::panic_any(7), |_| ran.store(true, SeqCst));
        let panic = catch_unwind(AssertUnwindSafe(|| pool.install(both))).unwrap_err();
        assert_eq!(panic.downcast_ref::<i32>(), Some(&7));
        assert!(ran.into_inner());
    });
}
