//! Pools as a whole, in schedules of their threads that are chosen at random: shuttle runs one
//! thread at a time, and may go on with another wherever threads touch what they share. A schedule
//! in which all threads wait for ever is an error, and so is one that does not end.
//!
//! ```sh
//! RUSTFLAGS="--cfg shuttle" cargo test -p befit --lib shuttle
//! ```
//!
//! `BEFIT_SHUTTLE_RUNS` says in how many schedules each program runs under each scheduler. What is
//! not looked at: memory orders, as each counts as sequentially consistent; the policies' locks,
//! within which nothing gives way; and panics, as shuttle takes that of one thread for one of all.

use std::{env, io};

use ::shuttle::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
};

use crate::{
    SchedulerKind, ThreadBuilder, ThreadPool, ThreadPoolBuilder, fit, join, scope, yield_now,
};

/// Caches that some threads share and others do not.
const CACHES: &str = "pack:2 l3:1(size=1MiB) core:2 l2:1(size=64KiB) pu:1";

/// Runs `program` on a pool of shuttle's threads, under each scheduler with 2 and 3 threads, in
/// many schedules: such as change threads anywhere, and such as do at few places, after which a
/// thread may be kept from running for long (S. Burckhardt et al., *A randomized scheduler with
/// probabilistic guarantees of finding bugs*, ASPLOS 2010).
fn in_many_schedules(program: impl Fn(ThreadPool) + Send + Sync + Clone + 'static) {
    in_fair_schedules(CACHES, program.clone());
    on_each_pool(CACHES, program, |run, runs| ::shuttle::check_pct(run, runs, 3));
}

/// The same on `machine`, only in schedules in which no thread is kept from running for long.
fn in_fair_schedules(
    machine: &'static str,
    program: impl Fn(ThreadPool) + Send + Sync + Clone + 'static,
) {
    on_each_pool(machine, program, ::shuttle::check_random);
}

fn on_each_pool<P: Fn(ThreadPool) + Send + Sync + Clone + 'static>(
    machine: &'static str,
    program: P,
    check: impl Fn(Box<dyn Fn() + Send + Sync>, usize),
) {
    let runs = env::var("BEFIT_SHUTTLE_RUNS").map_or(50, |runs| runs.parse().expect("a number"));
    for kind in SchedulerKind::ALL {
        for threads in [2, 3] {
            let program = program.clone();
            check(Box::new(move || program(pool(kind, machine, threads))), runs);
        }
    }
}

fn pool(kind: SchedulerKind, machine: &str, threads: usize) -> ThreadPool {
    let start = |thread: ThreadBuilder| -> io::Result<()> {
        thread::spawn(move || thread.run());
        Ok(())
    };
    ThreadPoolBuilder::new()
        .scheduler(kind)
        .machine(machine.parse().expect("a machine"))
        .num_threads(threads)
        .spawn_handler(start)
        .build()
        .expect("a pool")
}

fn fib(n: usize) -> usize {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn add(to: &AtomicUsize, number: usize) {
    to.fetch_add(number, SeqCst);
}

#[test]
fn each_fork_runs_once() {
    in_many_schedules(|pool| assert_eq!(pool.install(|| fib(6)), 8));
}

#[test]
fn calls_from_several_threads_all_end() {
    in_many_schedules(|pool| {
        let pool = Arc::new(pool);
        let other = Arc::clone(&pool);
        let calling = thread::spawn(move || other.install(|| fib(4)));
        assert_eq!(pool.join(|| fib(3), || fib(4)), (2, 3));
        assert_eq!(calling.join().expect("it ends"), 3);
    });
}

#[test]
fn a_scope_waits_for_all_that_is_spawned_in_it() {
    in_many_schedules(|pool| {
        let ran = AtomicUsize::new(0);
        let ran = &ran;
        pool.install(|| {
            scope(|s| {
                for _ in 0..3 {
                    s.spawn(move |s| {
                        s.spawn(move |_| add(ran, 1));
                        add(ran, 10);
                    });
                }
            });
            assert_eq!(ran.load(SeqCst), 33);
        });
    });
}

/// Where a cache lies between, some schedulers keep both for the workers of one. `adws` gives one
/// to another thread once nothing has moved for some time, and none passes here.
#[test]
fn halves_that_wait_for_each_other_meet() {
    in_fair_schedules("pu:3", |pool| {
        if pool.scheduler() == SchedulerKind::Adws {
            return;
        }
        let (a, b) = (&AtomicUsize::new(0), &AtomicUsize::new(0));
        let meet = |mine: &AtomicUsize, theirs: &AtomicUsize| {
            mine.store(1, SeqCst);
            while theirs.load(SeqCst) == 0 {
                thread::yield_now();
            }
        };
        pool.join(|| meet(a, b), || meet(b, a));
    });
}

#[test]
fn what_was_spawned_runs_though_the_pool_is_dropped() {
    in_many_schedules(|pool| {
        let ran = Arc::new(AtomicUsize::new(0));
        for _ in 0..3 {
            let ran = Arc::clone(&ran);
            pool.spawn(move || add(&ran, fib(3)));
        }
        drop(pool);
        assert_eq!(ran.load(SeqCst), 6);
    });
}

#[test]
fn a_broadcast_reaches_each_thread_beside_other_work() {
    in_many_schedules(|pool| {
        let threads = pool.current_num_threads();
        let (sum, of) = pool.install(|| {
            join(|| fib(4), || crate::broadcast(|context| context.index()).into_iter().sum())
        });
        assert_eq!((sum, of), (3, threads * (threads - 1) / 2));
    });
}

/// One cache has room for two of them at a time, so a third worker sleeps until one has ended.
#[test]
fn tasks_with_sizes_get_room() {
    fn leaves(bytes: usize) -> usize {
        if bytes <= 256 << 10 {
            (0..20).for_each(|_| thread::yield_now());
            return 1;
        }
        let half = bytes / 2;
        let (a, b) = join(fit(half, || leaves(half)), fit(half, || leaves(half)));
        a + b
    }
    let one_cache = "l3:1(size=1MiB) core:3 l2:1(size=64KiB) pu:1";
    in_fair_schedules(one_cache, |pool| assert_eq!(pool.install(|| leaves(2 << 20)), 8));
}

/// A worker that waits for a scope has forks that nobody else knows of; the scope's task waits for
/// all of them.
#[test]
fn what_a_waiting_worker_has_forked_is_run_by_others() {
    fn down(depth: u32, met: &AtomicUsize) {
        if depth > 0 {
            join(|| down(depth - 1, met), || add(met, 1));
            return;
        }
        scope(|s| {
            s.spawn(|_| {
                while met.load(SeqCst) < 4 {
                    yield_now();
                    thread::yield_now();
                }
            });
        });
    }
    in_fair_schedules(CACHES, |pool| {
        let met = AtomicUsize::new(0);
        pool.install(|| down(4, &met));
        assert_eq!(met.load(SeqCst), 4);
    });
}
