//! Tests of `join`.

use std::{
    collections::HashMap,
    iter,
    panic::panic_any,
    sync::{
        Arc, Barrier, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};

use befit_machine::{ClusterId, Machine, WorkerId};
use befit_sched::{
    Ask, Capabilities, Env, ForkOrder, Handle, Options, Policy, Ready, Scheduler, TaskInfo,
};

use crate::{threads::testing::*, *};

/// The sum of `numbers`, each call declaring its size.
fn sized_sum(numbers: &[u64]) -> u64 {
    if numbers.len() <= 64 {
        return numbers.iter().sum();
    }
    let (left, right) = numbers.split_at(numbers.len() / 2);
    let (a, b) = join(
        fit(size_of_val(left), || sized_sum(left)),
        fit(size_of_val(right), || sized_sum(right)).strand(512),
    );
    a + b
}

/// Where several threads are one worker, the queue of which has the forks of all of them.
#[test]
fn regression_a_thread_takes_the_oldest_fork_of_a_thread_that_is_the_same_worker() {
    for kind in [SchedulerKind::Ws, SchedulerKind::Pws, SchedulerKind::CatsS, SchedulerKind::Auto] {
        let _watchdog = watchdog(MINUTE);
        let pool = pool(kind, "pu:1", 2);
        let (forked, found) = (AtomicBool::new(false), AtomicBool::new(false));
        pool.scope(|s| {
            // Keeps the other thread until both forks wait.
            s.spawn(|_| wait_for(&forked));
            let inner = || {
                let first = || {
                    forked.store(true, SeqCst);
                    wait_for(&found);
                };
                join(first, || wait_for(&found));
            };
            join(inner, || found.store(true, SeqCst));
        });
    }
}

#[test]
fn fib_and_a_sum_with_sizes_are_right_under_every_scheduler() {
    let (n, expected) = or_under_miri((16, 987), (8, 21));
    let numbers: Vec<u64> = (0..or_under_miri(20_000, 2000)).collect();
    let sum = numbers.iter().sum::<u64>();
    on_every_pool(|pool| {
        assert_eq!(pool.install(|| fib(n)), expected);
        assert_eq!(pool.install(|| sized_sum(&numbers)), sum);
    });
}

#[test]
fn join_works_outside_any_pool() {
    let (n, expected) = or_under_miri((15, 610), (8, 21));
    assert_eq!(fib(n), expected);
    assert_eq!(join(|| 1, fit(8, || "two")), (1, "two"));
}

#[test]
fn halves_may_borrow_and_change_what_outlives_the_call() {
    on_every_pool(|pool| {
        let (mut left, mut right) = (vec![1; 100], [0u8; 1000]);
        pool.join(|| left.push(2), fit(1000, || right.fill(7)));
        assert_eq!((left.len(), right.iter().map(|b| usize::from(*b)).sum::<usize>()), (101, 7000));
    });
}

#[test]
fn large_results_come_back_whole() {
    on_every_pool(|pool| {
        let (a, b) = pool.join(|| [1u64; 200], || (0..200).collect::<Vec<u64>>());
        assert_eq!((a.iter().sum::<u64>(), b.iter().sum::<u64>()), (200, 19_900));
    });
}

#[test]
fn a_panic_in_either_half_goes_on_after_the_other_half_has_run() {
    on_every_pool(|pool| {
        let ran = AtomicUsize::new(0);
        let first = || pool.join(|| panic!("first"), || add(&ran, 1));
        assert_eq!((panic_of::<&str, _>(first), ran.load(SeqCst)), ("first", 1));
        let second = || pool.join(|| add(&ran, 1), || panic!("second"));
        assert_eq!((panic_of::<&str, _>(second), ran.load(SeqCst)), ("second", 2));
        let both = || join_context(|_| panic_any(7), |_| add(&ran, 1));
        assert_eq!((panic_of::<i32, _>(|| pool.install(both)), ran.load(SeqCst)), (7, 3));
    });
}

#[test]
fn of_two_panics_the_first_half_s_goes_on() {
    on_every_pool(|pool| {
        let both = || pool.join(|| panic!("first"), || panic!("second"));
        assert_eq!(panic_of::<&str, _>(both), "first");
        // The same with sizes: as inlined calls, and placed by the scheduler.
        for bytes in [1, 100_000, 1 << 24] {
            let work = || join(fit(bytes, || panic!("first")), fit(bytes, || panic!("second")));
            assert_eq!(panic_of::<&str, _>(|| pool.install(work)), "first");
        }
        assert_eq!(pool.install(|| fib(8)), 21, "the pool goes on");
    });
}

#[test]
fn closures_and_results_are_dropped_once() {
    fn tree(census: &Census, depth: u32) -> Token<'_> {
        if depth == 0 {
            return census.token();
        }
        let (one, two) = (census.token(), census.token());
        let (a, b) = join(
            move || {
                drop(one);
                tree(census, depth - 1)
            },
            fit(1 << depth, move || {
                let _held = two;
                tree(census, depth - 1)
            }),
        );
        drop(a);
        b
    }
    on_every_pool(|pool| {
        let census = Census::default();
        let depth = or_under_miri(7, 4);
        drop(pool.install(|| tree(&census, depth)));
        census.check((1 << depth) + 2 * ((1 << depth) - 1));
    });
}

#[test]
fn what_a_panicking_fork_held_is_dropped_once() {
    on_every_pool(|pool| {
        for bytes in [None, Some(1), Some(100_000)] {
            let census = Census::default();
            let (one, two, three) = (census.token(), census.token(), census.token());
            let first = move || -> usize { panic_any(format!("{one:?}").len()) };
            let second = move || (two, three);
            let _: usize = panic_of(|| match bytes {
                None => drop(pool.join(first, second)),
                Some(n) => drop(pool.join(fit(n, first), fit(n, second))),
            });
            census.check(3);
        }
    });
}

/// The oldest fork is with the scheduler before the long leaf begins, however deep that lies.
#[test]
fn a_worker_in_a_long_leaf_leaves_a_fork_to_the_others() {
    fn down(depth: u32, leaf: &(dyn Fn() + Sync), other: &(dyn Fn() + Sync)) {
        if depth == 0 {
            return leaf();
        }
        join(|| down(depth - 1, leaf, other), other);
    }
    let _watchdog = watchdog(MINUTE);
    let pool = pool(SchedulerKind::Ws, "pu:2", 2);
    let taken = AtomicBool::new(false);
    pool.install(|| down(10, &|| wait_for(&taken), &|| taken.store(true, SeqCst)));
}

#[test]
fn the_list_of_open_forks_grows() {
    fn down(depth: usize, count: &AtomicUsize) {
        if depth > 0 {
            join(|| down(depth - 1, count), || count.fetch_add(1, SeqCst));
        }
    }
    let _watchdog = watchdog(MINUTE);
    for threads in [1, 2] {
        let pool =
            ThreadPoolBuilder::new().num_threads(threads).stack_size(64 << 20).build().unwrap();
        let count = AtomicUsize::new(0);
        let depth = or_under_miri(5000, 100);
        pool.install(|| down(depth, &count));
        assert_eq!(count.into_inner(), depth);
    }
}

/// No program may count on it, but many do: as many leaves as threads, each of which waits for all.
#[test]
fn leaves_that_wait_for_one_another_all_run_if_there_are_threads_for_them() {
    fn tree(leaves: usize, all: &Barrier) {
        if leaves == 1 {
            all.wait();
            return;
        }
        join(|| tree(leaves / 2, all), || tree(leaves - leaves / 2, all));
    }
    let _watchdog = watchdog(MINUTE);
    for scheduler in [SchedulerKind::Ws, SchedulerKind::Pws] {
        let pool = pool(scheduler, "pu:4", 4);
        let all = Barrier::new(4);
        for _ in 0..or_under_miri(100, 2) {
            pool.install(|| tree(4, &all));
        }
    }
}

/// Keeps both threads of a pool busy with `work`, so that nobody takes a fork of it; returns how
/// many forks there were.
fn forks_while_all_are_busy(pool: &crate::ThreadPool, work: impl Fn() + Sync) -> u64 {
    let ready = Barrier::new(2);
    let before = pool.statistics().total().forks;
    let busy = || {
        ready.wait();
        work();
        ready.wait();
    };
    pool.join(busy, busy);
    pool.statistics().total().forks - before - 1
}

#[test]
#[cfg_attr(miri, ignore = "what takes little time takes long under Miri")]
fn forks_that_take_little_time_are_inlined() {
    let _watchdog = watchdog(MINUTE);
    // 2 × 28,656 calls that fork, and some milliseconds.
    let forks = || {
        let pool = pool(SchedulerKind::Ws, "core:2 l2:1(size=256KiB) pu:1", 2);
        forks_while_all_are_busy(&pool, || assert_eq!(fib(23), 28_657))
    };
    one_of_five(forks, |forks| *forks < 28_656);
}

/// A tree of forks, of so many levels, with `leaf` at each end.
fn tree(depth: u32, leaf: &(dyn Fn() + Sync)) {
    if depth == 0 {
        return leaf();
    }
    join(|| tree(depth - 1, leaf), || tree(depth - 1, leaf));
}

/// As where the first tasks touch memory that nobody has touched before.
#[test]
#[cfg_attr(miri, ignore = "what takes little time takes long under Miri")]
fn forks_whose_first_tasks_were_slow_are_inlined_once_they_are_not() {
    let _watchdog = watchdog(MINUTE);
    let forks = || {
        let pool = pool(SchedulerKind::Ws, "pu:2", 2);
        forks_while_all_are_busy(&pool, || {
            tree(5, &|| thread::sleep(Duration::from_micros(100)));
            (0..1000).for_each(|_| tree(5, &|| ()));
        })
    };
    // Two workers do the same: 62 and 62,000 forks.
    one_of_five(forks, |forks| *forks < 31_000);
}

/// To publish a fork takes longer than such a call. If that counted as time of its task, the task
/// would never be inlined.
#[test]
#[cfg_attr(miri, ignore = "what takes little time takes long under Miri")]
fn calls_that_take_little_time_publish_few_forks_however_many_threads_there_are() {
    on_each_that_steals("pu:64", 64, |pool| {
        let calls = || (0..250).for_each(|_| pool.install(|| tree(8, &|| ())));
        let published = || pool.statistics().total().published;
        let in_a_round = || {
            let before = published();
            calls();
            published() - before
        };
        // Other work on this machine only adds to them, perhaps for a while, so one of a hundred
        // rounds must do, of 63,750 forks each.
        let has_few = iter::repeat_with(in_a_round).take(100).any(|few| few < 6375);
        assert!(has_few, "{}", pool.scheduler());
    });
}

/// What was learned of `down` while its leaves were short must not keep long leaves from other
/// threads.
#[test]
#[cfg_attr(miri, ignore = "what takes little time takes long under Miri")]
fn forks_that_no_longer_take_little_time_become_forks_again() {
    fn down(depth: u32, leaf: &(dyn Fn() + Sync)) {
        if depth > 0 {
            join(|| down(depth - 1, leaf), leaf);
        }
    }
    let _watchdog = watchdog(2 * MINUTE);
    let leaves_of_each = || {
        let pool = pool(SchedulerKind::Ws, "pu:2", 2);
        forks_while_all_are_busy(&pool, || (0..1000).for_each(|_| down(3, &|| ())));
        let threads = Mutex::new(HashMap::new());
        let long = || {
            thread::sleep(Duration::from_millis(1));
            *threads.lock().unwrap().entry(thread::current().id()).or_insert(0) += 1;
        };
        pool.install(|| down(300, &long));
        threads.into_inner().unwrap()
    };
    let shared =
        |threads: &HashMap<_, _>| threads.values().all(|leaves| *leaves > 50) && threads.len() == 2;
    one_of_five(leaves_of_each, shared);
}

#[test]
fn in_a_one_thread_pool_there_are_no_forks() {
    on_each_scheduler("l3:1(size=8MiB) core:2 l2:1(size=256KiB) pu:1", 1, |pool| {
        pool.install(|| fib(10));
        let (total, scheduler) = (pool.statistics().total(), pool.scheduler());
        assert_eq!((total.forks, total.published, total.executed), (0, 0, 1), "{scheduler}");
    });
}

#[test]
#[cfg_attr(miri, ignore = "sums 2 MiB of numbers")]
fn a_task_that_newly_befits_a_shared_cache_is_anchored_there() {
    let pool = pool(SchedulerKind::Sb, "pack:2 l3:1(size=1MiB) core:2 pu:1", 4);
    let numbers: Vec<u64> = (0..(2 << 20) / 8).collect();
    let expected = numbers.iter().sum::<u64>();
    assert_eq!(pool.install(|| sized_sum(&numbers)), expected);
    // 2 MiB in all, and σ of 1 MiB is 512 KiB.
    assert_eq!(pool.statistics().total().anchored, 4);
}

/// A thread that waited in a task anchored at an L1 took a task from further up, which then waited
/// for room in that L1: all threads slept for ever; or it did so again and again, until its stack
/// was full. See `Engine::get`.
#[test]
fn regression_a_worker_that_waits_takes_nothing_from_further_up() {
    let numbers: Vec<u64> = (0..or_under_miri(200_000, 2000)).collect();
    let sum = numbers.iter().sum::<u64>();
    let _watchdog = watchdog(2 * MINUTE);
    for scheduler in [SchedulerKind::Sb, SchedulerKind::SbD] {
        for threads in [2, 7] {
            let pool = pool(scheduler, MACHINES[4], threads);
            for _ in 0..or_under_miri(20, 1) {
                assert_eq!(pool.install(|| sized_sum(&numbers)), sum);
            }
        }
    }
}

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
        let depth = or_under_miri(7, 4);
        assert_eq!(pool.install(|| tree(depth, &moved)), 1 << depth);
        if pool.current_num_threads() == 1 {
            assert_eq!(moved.into_inner(), 0, "there is nobody else");
        }
    });
}

#[test]
fn the_second_half_starts_while_the_first_is_still_running_and_learns_that_it_has_migrated() {
    let test = |pool: &ThreadPool| {
        let started = AtomicBool::new(false);
        pool.join(|| wait_for(&started), || started.store(true, SeqCst));
        started.store(false, SeqCst);
        let first = |context: FnContext| {
            // Only another thread can start the second half.
            wait_for(&started);
            context.migrated()
        };
        let second = |context: FnContext| {
            started.store(true, SeqCst);
            context.migrated()
        };
        assert_eq!(pool.install(|| join_context(first, second)), (false, true));
    };
    on_each_that_steals("pu:2", 2, test);
    on_each_that_steals("l3:1(size=8MiB) core:2 l2:1(size=256KiB) pu:1", 2, test);
}

#[test]
fn called_outside_a_pool_both_halves_have_migrated() {
    let _watchdog = watchdog(MINUTE);
    assert_eq!(join_context(|a| a.migrated(), |b| b.migrated()), (true, true));
}

#[test]
fn regression_a_worker_that_waits_has_published_all_its_forks() {
    fn nested(forks: usize, ran: &AtomicUsize, innermost: &(dyn Fn() + Sync)) {
        match forks {
            0 => innermost(),
            _ => drop(join(|| nested(forks - 1, ran, innermost), || add(ran, 1))),
        }
    }
    let _watchdog = watchdog(MINUTE);
    let [pool, other] = [2, 1].map(|n| ThreadPoolBuilder::new().num_threads(n).build().unwrap());
    let (begun, may_end, ran) =
        (AtomicBool::new(false), AtomicBool::new(false), AtomicUsize::new(0));
    // The worker waits in another pool for its own forks, which the pool's other thread can run.
    let innermost = || {
        may_end.store(true, SeqCst);
        other.install(|| {
            wait_until(|| ran.load(SeqCst) >= 8);
        });
    };
    let busy = || {
        begun.store(true, SeqCst);
        wait_for(&may_end);
    };
    let waiting = || {
        // Else the other thread asks for forks while they are made.
        wait_for(&begun);
        nested(8, &ran, &innermost);
    };
    pool.join(waiting, busy);
    assert_eq!(ran.load(SeqCst), 8);
}

/// Work stealing that has both halves of each `join` placed, and notes of those who ask for some
/// jobs only whether they ask for what they find without stealing.
#[derive(Clone, Debug, Default)]
struct Placing(Arc<Mutex<Vec<bool>>>);

#[derive(Debug)]
struct Places<T>(Box<dyn Scheduler<T>>, Placing);

impl Policy for Placing {
    fn build<T: Handle>(&self, machine: &Machine, options: Options) -> Box<dyn Scheduler<T>> {
        Box::new(Places(SchedulerKind::Ws.build(machine, options), self.clone()))
    }
}

impl<T: Handle> Scheduler<T> for Places<T> {
    fn name(&self) -> &'static str {
        "placing"
    }
    fn capabilities(&self) -> Capabilities {
        let finds = self.0.capabilities().finds;
        Capabilities { finds, sees_forks: true, ..Capabilities::default() }
    }
    fn fork_order(&self, _: &TaskInfo) -> ForkOrder {
        ForkOrder::ParentFirst
    }
    fn add(&self, w: WorkerId, ready: Ready<T>, env: &mut dyn Env) -> ClusterId {
        self.0.add(w, ready, env)
    }
    fn get(&self, w: WorkerId, ask: Ask<'_, T>, env: &mut dyn Env) -> Option<Ready<T>> {
        if ask.accepts.is_some() {
            self.1.0.lock().unwrap().push(ask.own_only);
        }
        self.0.get(w, ask, env)
    }
}

#[test]
fn regression_a_worker_does_not_take_back_at_once_what_its_policy_has_placed_elsewhere() {
    let _watchdog = watchdog(MINUTE);
    let policy = Placing::default();
    let builder = ThreadPoolBuilder::new().num_threads(2).machine("pu:2".parse().unwrap());
    let pool = builder.policy(policy.clone()).build().unwrap();
    let leaves_some = || policy.0.lock().unwrap().contains(&true);
    // Halves that take less are not shown.
    let long = || thread::sleep(Duration::from_millis(1));
    pool.install(|| {
        // The other worker has just ended its half, and is awake.
        (0..1000).take_while(|_| !leaves_some()).for_each(|_| _ = join(long, long));
    });
    // Where threads share processors it does.
    assert_eq!(leaves_some(), pool.pool().engine.sleep.is_roomy());
}
