//! Tests of calls from outside that are short, and of those that only look like it.

use std::{
    iter,
    sync::{
        Barrier,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};

use befit_machine::Bytes;
use befit_sched::TaskInfo;

use crate::{
    threads::{sleep::PutOff, testing::*, worker::Worker},
    *,
};

/// Two halves by one `join` of the source, whatever they do.
fn halves(work: &(dyn Fn() + Sync)) {
    join(work, work);
}

fn short_calls(pool: &ThreadPool) {
    for _ in 0..or_under_miri(500, 5) {
        pool.install(|| halves(&|| {}));
    }
}

#[test]
fn halves_that_wait_for_one_another_meet_although_all_before_were_short() {
    on_each_scheduler("pu:2", 2, |pool| {
        for _ in 0..or_under_miri(5, 2) {
            short_calls(pool);
            let barrier = Barrier::new(2);
            pool.install(|| {
                halves(&|| {
                    barrier.wait();
                })
            });
        }
    });
}

#[test]
fn halves_that_wait_for_one_another_meet_in_a_call_of_short_ones() {
    on_each_scheduler("pu:2", 2, |pool| {
        pool.install(|| {
            for _ in 0..or_under_miri(5, 2) {
                for _ in 0..or_under_miri(500, 5) {
                    halves(&|| {});
                }
                let barrier = Barrier::new(2);
                halves(&|| {
                    barrier.wait();
                });
            }
        });
    });
}

/// The halves of the inner one may wait for the second half of the outer one, as a search in a
/// range does that must not go through all of it.
#[test]
fn regression_the_outer_of_two_forks_is_given_away_before_the_inner_one() {
    fn halves(size: usize, work: &(dyn Fn() + Sync)) {
        join(fit(size, work), fit(size, work));
    }
    let _watchdog = watchdog(MINUTE);
    let with_worker = |f: &dyn Fn(&Worker)| Worker::with_current(|worker| f(worker.unwrap()));
    for _ in 0..or_under_miri(20, 1) {
        let noting = Noting::with(|usual| usual);
        let builder = ThreadPoolBuilder::new().num_threads(2).machine("pu:2".parse().unwrap());
        let pool = builder.policy(noting.clone()).build().unwrap();
        for _ in 0..or_under_miri(500, 5) {
            pool.install(|| halves(1000, &|| {}));
        }
        let before = noting.tasks().len();
        let begun = AtomicUsize::new(0);
        let outer = || {
            if begun.fetch_add(1, SeqCst) == 0 {
                // The outer fork is held back, and a thief comes.
                with_worker(&|worker| worker.requests().request());
                halves(1000, &|| {});
            }
        };
        pool.install(|| {
            with_worker(&|worker| {
                worker.run_call(&PutOff::new(true, None), || halves(2000, &outer))
            })
        });
        let sizes = noting.tasks()[before..].iter().map(|task| task.size).collect::<Vec<_>>();
        let of_forks = sizes.into_iter().find(|size| *size != TaskInfo::UNKNOWN);
        assert_eq!(of_forks, Some(Bytes(2000)));
    }
}

#[test]
fn two_long_calls_after_short_ones_run_at_the_same_time() {
    on_each_scheduler("pu:2", 2, |pool| {
        short_calls(pool);
        let barrier = Barrier::new(2);
        let call = || {
            pool.install(|| {
                barrier.wait();
            })
        };
        thread::scope(|s| {
            s.spawn(call);
            s.spawn(call);
        });
    });
}

#[test]
fn short_calls_make_one_worker_sleep_once_each_at_most() {
    let pool = ThreadPoolBuilder::new().num_threads(8).build().unwrap();
    short_calls(&pool);
    let in_ten_calls = || {
        let before = pool.statistics().total().sleeps;
        for _ in 0..10 {
            thread::sleep(Duration::from_millis(1));
            pool.install(|| halves(&|| {}));
        }
        pool.statistics().total().sleeps - before
    };
    // For a while the machine may be so busy that no call is short.
    let rounds: Vec<_> =
        iter::repeat_with(in_ten_calls).take(200).take_while(|s| *s > 12).collect();
    assert!(rounds.len() < 200, "sleeps in 10 calls: {rounds:?}");
}

#[test]
fn a_tree_that_is_larger_than_those_before_is_shared() {
    fn tree(leaves: usize, work: &(dyn Fn() + Sync)) {
        if leaves == 1 {
            return work();
        }
        join(|| tree(leaves / 2, work), || tree(leaves / 2, work));
    }
    let _watchdog = watchdog(MINUTE);
    let leaves_of_each = || {
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        for _ in 0..or_under_miri(500, 20) {
            pool.install(|| tree(8, &|| {}));
        }
        let ran = [const { AtomicUsize::new(0) }; 2];
        pool.install(|| {
            tree(64, &|| {
                add(&ran[current_thread_index().unwrap()], 1);
                thread::sleep(Duration::from_millis(1));
            });
        });
        let ran = ran.map(|ran| ran.load(SeqCst));
        assert_eq!(ran[0] + ran[1], 64);
        ran
    };
    one_of_five(leaves_of_each, |ran| ran[0].min(ran[1]) >= 8);
}

/// Those that were held back and came back to their worker counted, too.
#[test]
fn regression_only_forks_that_the_policy_got_count_as_published() {
    let _watchdog = watchdog(MINUTE);
    let noting = Noting::with(|usual| usual);
    let builder = ThreadPoolBuilder::new().num_threads(2).machine("pu:2".parse().unwrap());
    let pool = builder.policy(noting.clone()).build().unwrap();
    for _ in 0..or_under_miri(500, 80) {
        pool.install(|| join(fit(1000, || ()), fit(1000, || ())));
    }
    let total = pool.statistics().total();
    let got = noting.tasks().iter().filter(|task| task.depth > 0).count() as u64;
    assert_eq!((total.published, total.sized), (got, got));
}
