//! Tests of pools.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant},
};

use crate::{threads::claim::allowed_cpus, threads::testing::*, *};

#[test]
fn install_runs_on_a_thread_of_the_pool() {
    on_every_pool(|pool| {
        assert_eq!(current_thread_index(), None);
        assert_eq!(pool.current_thread_index(), None);
        let index = pool.install(|| {
            (current_thread_index(), pool.current_thread_index(), current_num_threads())
        });
        assert!(index.0.unwrap() < pool.current_num_threads());
        assert_eq!((index.0, index.2), (index.1, pool.current_num_threads()));
    });
}

#[test]
fn pools_nest_without_deadlock() {
    let _watchdog = watchdog(MINUTE);
    for scheduler in SchedulerKind::ALL {
        let outer = pool(scheduler, "pu:1", 1);
        let inner = pool(scheduler, "pu:2", 2);
        // The inner pool needs the outer's only thread while that waits in it.
        let work = || {
            inner.install(|| outer.install(|| inner.join(|| outer.install(|| fib(10)), || fib(9))))
        };
        assert_eq!(outer.install(work), (55, 34));
    }
}

#[test]
fn a_worker_that_waits_in_another_pool_runs_its_own_pool_s_work() {
    let _watchdog = watchdog(MINUTE);
    let (outer, inner) = (pool(SchedulerKind::Ws, "pu:1", 1), pool(SchedulerKind::Ws, "pu:1", 1));
    let ran = AtomicUsize::new(0);
    outer.scope(|s| {
        s.spawn(|_| add(&ran, 1));
        // Ends only when the task above has run, for which there is only this thread.
        inner.install(|| {
            wait_until(|| ran.load(SeqCst) > 0);
        });
    });
    assert_eq!(ran.into_inner(), 1);
}

#[test]
fn many_pools_can_be_built_and_dropped() {
    let _watchdog = watchdog(MINUTE);
    for i in 0..or_under_miri(200, 12) {
        let pool = ThreadPoolBuilder::new().num_threads(1 + i % 3).seed(i as u64).build().unwrap();
        if i % 2 == 0 {
            assert_eq!(pool.install(|| fib(6)), 8);
        }
    }
}

#[test]
fn many_threads_may_use_a_pool_at_once() {
    on_each_scheduler("pack:2 l3:1(size=1MiB) core:2 l2:1(size=64KiB) pu:1", 3, |pool| {
        let calls = or_under_miri(50, 1);
        thread::scope(|threads| {
            for _ in 0..or_under_miri(8, 4) {
                threads.spawn(|| (0..calls).for_each(|_| assert_eq!(pool.install(|| fib(8)), 21)));
            }
        });
    });
}

#[test]
fn a_pool_may_be_dropped_by_its_own_thread() {
    let _watchdog = watchdog(MINUTE);
    let pool = Arc::new(ThreadPoolBuilder::new().num_threads(2).build().unwrap());
    let (sender, dropped) = std::sync::mpsc::channel();
    let own = Arc::clone(&pool);
    pool.spawn(move || {
        wait_until(|| Arc::strong_count(&own) == 1);
        drop(own);
        sender.send(fib(5)).unwrap();
    });
    drop(pool);
    assert_eq!(dropped.recv().unwrap(), 5);
}

#[test]
fn more_threads_than_workers_share_them() {
    on_each_scheduler("pack:2 l3:1(size=1MiB) core:1 pu:1", 5, |pool| {
        assert_eq!(pool.install(|| fib(18)), 2584);
        scope(|s| s.spawn(|_| assert_eq!(pool.install(|| fib(10)), 55)));
    });
}

#[test]
fn threads_are_named_and_have_the_stack_they_were_promised() {
    fn deep(n: u32) -> u64 {
        let array = std::hint::black_box([u64::from(n); 128]);
        if n == 0 { 0 } else { deep(n - 1) + array[(n % 128) as usize] }
    }
    let builder = ThreadPoolBuilder::new().num_threads(1).stack_size(64 << 20);
    let pool = builder.thread_name(|i| format!("worker {i}")).build().unwrap();
    let name = pool.install(|| thread::current().name().map(str::to_owned));
    assert_eq!(name.as_deref(), Some("worker 0"));
    assert_eq!(pool.install(|| deep(20_000)), 20_000 * 20_001 / 2);
}

#[test]
fn bad_parameters_are_refused_with_a_reason() {
    let new = ThreadPoolBuilder::new;
    for (builder, what) in [
        (new().sigma(0.0), "sigma: '0' is not a number above 0 and at most 1"),
        (new().sigma(f64::NAN), "sigma: 'NaN' is not a number above 0 and at most 1"),
        (new().mu(1.5), "mu: '1.5' is not a number above 0 and at most 1"),
        (new().nearness(0), "nearness: '0' is not a whole number from 1 up"),
        (new().branching(1), "branching: '1' is not a whole number from 2 up"),
        (
            new().options(Options { sigma: 2.0, ..Options::default() }),
            "sigma: '2' is not a number above 0 and at most 1",
        ),
    ] {
        assert_eq!(builder.build().unwrap_err().to_string(), what);
    }
}

#[test]
fn each_option_that_the_program_sets_reaches_the_policy() {
    let new = ThreadPoolBuilder::new;
    let all = "sigma=1,mu=0.25,counting=full,nearness=3,branching=5,boundary=7";
    for (builder, expected) in [
        (new().sigma(1.0), "sigma=1"),
        (new().mu(0.25), "mu=0.25"),
        (new().counting(Counting::Full), "counting=full"),
        (new().nearness(3), "nearness=3"),
        (new().branching(5), "branching=5"),
        (new().boundary(7), "boundary=7"),
        (new().options(all.parse().unwrap()), all),
    ] {
        let pool = builder.num_threads(1).build().unwrap();
        assert_eq!(pool.pool().options(), expected.parse().unwrap(), "{expected}");
    }
}

#[test]
fn a_thread_that_cannot_be_started_is_an_error_and_ends_the_others() {
    let _watchdog = watchdog(MINUTE);
    let result = ThreadPoolBuilder::new().num_threads(2).stack_size(1 << 60).build();
    assert!(matches!(result, Err(ThreadPoolBuildError::Thread { index: 0, .. })), "{result:?}");
}

#[test]
fn only_schedulers_that_steal_can_hold_a_waiting_worker_to_descendants() {
    for scheduler in SchedulerKind::ALL {
        let builder = ThreadPoolBuilder::new().wait_policy(WaitPolicy::Descendants);
        let result = builder.scheduler(scheduler).build();
        use SchedulerKind::*;
        if matches!(scheduler, Sb | SbD | Cab | Hws | Mts | Batch | Static) {
            let error = result.unwrap_err().to_string();
            let names = "works with the schedulers ws, pws, cilk-a, cats, cats-s, pdf, cpdf, \
                         central, adws, homes and auto";
            assert!(error.contains(names), "{scheduler}: {error}");
        } else {
            assert_eq!(result.unwrap().install(|| fib(18)), 2584, "{scheduler}");
        }
    }
}

#[test]
fn there_is_one_global_pool() {
    join(|| (), || ());
    let error = ThreadPoolBuilder::new().build_global().unwrap_err();
    assert!(matches!(error, ThreadPoolBuildError::GlobalPoolExists));
}

#[test]
fn statistics_count_what_happened() {
    let pool = pool(SchedulerKind::Ws, "pack:2 l3:1(size=8MiB) core:2 l2:1(size=1MiB) pu:1", 4);
    pool.install(|| fib(14));
    pool.scope(|s| (0..10).for_each(|_| s.spawn(|_| ())));
    let statistics = pool.statistics();
    assert_eq!(statistics.workers.len(), 4);
    let total = statistics.total();
    assert!((1..=609).contains(&total.forks), "{total:?}");
    assert_eq!(total.spawned, 10);
    assert_eq!(total.executed, total.published + total.spawned + 2);
}

#[test]
fn the_five_parts_of_each_worker_s_time_add_up_to_the_time_of_the_pool_s_jobs() {
    let _watchdog = watchdog(MINUTE);
    for scheduler in SchedulerKind::ALL {
        for threads in [1, 3] {
            let machine = "pack:2 l3:1(size=64KiB) core:2 l2:1(size=16KiB) pu:1";
            let measured = || {
                let pool = builder(scheduler, machine, threads).timed(true).build().unwrap();
                // Before the first job and after the last nothing counts.
                thread::sleep(Duration::from_millis(20));
                let start = Instant::now();
                pool.install(|| fib(18));
                thread::sleep(Duration::from_millis(5));
                pool.scope(|s| (0..100).for_each(|_| s.spawn(|_| assert_eq!(fib(12), 144))));
                let wall = start.elapsed();
                thread::sleep(Duration::from_millis(20));
                let statistics = pool.statistics();
                let span = statistics.span.unwrap();
                assert!(span <= wall && span >= Duration::from_millis(5), "{span:?} of {wall:?}");
                let all = statistics.total().time.unwrap();
                assert!([all.active, all.get, all.add].iter().all(|time| !time.is_zero()));
                (scheduler, statistics)
            };
            one_of_five(measured, |(_, statistics)| {
                let span = statistics.span.unwrap().as_secs_f64();
                let add_up = statistics.workers.iter().all(|worker| {
                    (worker.time.unwrap().total().as_secs_f64() - span).abs() <= 0.01 * span
                });
                // All wait in the pause.
                let pause = Duration::from_millis(4) * threads as u32;
                add_up && statistics.total().time.unwrap().idle >= pause
            });
        }
    }
}

#[test]
fn a_pool_that_was_not_asked_to_measures_no_time() {
    let pool = ThreadPoolBuilder::new().num_threads(1).timed(false).build().unwrap();
    pool.install(|| fib(5));
    let statistics = pool.statistics();
    assert_eq!((statistics.span, statistics.workers[0].time), (None, None));
}

#[cfg(target_os = "linux")]
mod on_linux {
    use super::*;

    fn cpus_of_this_thread() -> BTreeSet<usize> {
        let set = rustix::thread::sched_getaffinity(None).unwrap();
        (0..rustix::thread::CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect()
    }

    /// The CPUs that each thread of the pool may use.
    fn places(pool: &crate::ThreadPool) -> Vec<BTreeSet<usize>> {
        let threads = pool.current_num_threads();
        let places = Mutex::new(vec![BTreeSet::new(); threads]);
        let all = std::sync::Barrier::new(threads);
        pool.scope(|s| {
            for _ in 0..threads {
                s.spawn(|_| {
                    all.wait();
                    places.lock().unwrap()[current_thread_index().unwrap()] = cpus_of_this_thread();
                });
            }
        });
        places.into_inner().unwrap()
    }

    #[test]
    fn threads_are_pinned_within_the_affinity_mask_only() {
        let _watchdog = watchdog(MINUTE);
        let allowed: BTreeSet<usize> = allowed_cpus().into_iter().collect();
        // More threads than CPUs: they go round.
        let build = |threads| ThreadPoolBuilder::new().num_threads(threads);
        let pool = build(allowed.len() + 1).pin(true).build().unwrap();
        assert!(pool.is_pinned());
        for place in places(&pool) {
            assert_eq!(place.len(), 1);
            assert!(place.is_subset(&allowed));
        }
        let free = ThreadPoolBuilder::new().pin(Pin::Never).build().unwrap();
        assert!(places(&free).iter().all(|place| *place == allowed));
        // Built by a pinned thread, yet not bound to its place.
        let child = pool.install(|| build(1).pin(false).build().unwrap());
        assert_eq!(places(&child), [allowed]);
    }

    #[test]
    fn a_pool_that_a_pinned_thread_builds_has_as_many_threads_as_outside_and_no_less_room() {
        let _watchdog = watchdog(MINUTE);
        let shape = || {
            let pool = ThreadPoolBuilder::new().pin(false).build().unwrap();
            let is_roomy = pool.pool().engine.sleep.is_roomy();
            (pool.current_num_threads(), is_roomy, places(&pool))
        };
        let outside = shape();
        let pinned = ThreadPoolBuilder::new().num_threads(1).pin(true).build().unwrap();
        assert_eq!(pinned.install(shape), outside);
        // A thread that it starts is bound to its place, and not known to any pool.
        let started = pinned.install(|| thread::spawn(shape).join().unwrap());
        assert_eq!(started, outside);
    }

    #[test]
    fn a_pool_on_another_machine_s_description_is_not_pinned_by_default() {
        assert!(!pool(SchedulerKind::Ws, "pu:1", 1).is_pinned());
    }

    /// CPU time of the process in clock ticks (a hundredth of a second), from /proc/self/stat.
    fn ticks() -> u64 {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    }

    /// In a process of its own: other tests use CPU.
    #[test]
    fn an_idle_pool_uses_no_cpu() {
        if let Some(output) = alone(an_idle_pool_uses_no_cpu) {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            return;
        }
        let _watchdog = watchdog(MINUTE);
        let machine = "pack:2 l3:1(size=8MiB) core:4 l2:1(size=1MiB) pu:1";
        let pools: Vec<_> = schedulers().map(|kind| pool(kind, machine, 8)).collect();
        for pool in &pools {
            pool.install(|| fib(14));
        }
        // All together for a second. On a busy machine their threads may take long until they
        // sleep.
        let mut used = Vec::new();
        while used.last().is_none_or(|ticks| *ticks > 1) {
            assert!(used.len() < 10, "ticks in each second: {used:?}");
            let before = ticks();
            thread::sleep(Duration::from_secs(1));
            used.push(ticks() - before);
        }
    }
}
