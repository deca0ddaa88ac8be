//! Schedulers that measure, with counts that the program gives.

use std::{
    cell::Cell,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use befit::{CountSource, SchedulerKind, ThreadPool, ThreadPoolBuilder, Tiers, WorkerCounts};

/// Two sockets of two cores, with a shared cache of 256 KiB each: 4,096 lines.
const MACHINE: &str = "pack:2 l3:1(size=262144) core:2 l2:1(size=16384) pu:1";
/// Lines that a leaf moves; there are eight.
const LEAF: u64 = 2048;

thread_local! {
    /// Lines that the thread has moved.
    static MOVED: Cell<u64> = const { Cell::new(0) };
}

fn builder(threads: usize) -> ThreadPoolBuilder {
    let builder = ThreadPoolBuilder::new().machine(MACHINE.parse().unwrap()).num_threads(threads);
    builder.scheduler(SchedulerKind::Cats)
}

/// As many lines as the leaves that a thread has run say.
fn count() -> Option<WorkerCounts> {
    Some(WorkerCounts { private_misses: MOVED.get(), ..WorkerCounts::default() })
}

fn tree(depth: u32) {
    if depth == 3 {
        return MOVED.set(MOVED.get() + LEAF);
    }
    befit::join(|| tree(depth + 1), || tree(depth + 1));
}

/// The tiers after as many calls of `round` as it takes: some of the pool's threads may be slow to
/// start.
fn rounds(pool: &ThreadPool, round: impl Fn() + Copy + Send + Sync) -> Tiers {
    let start = Instant::now();
    loop {
        pool.install(|| (0..6).for_each(|_| round()));
        let tiers = pool.tiers().expect("cats has tiers");
        if tiers.partitions > 0 || start.elapsed() > Duration::from_secs(60) {
            return tiers;
        }
    }
}

#[test]
fn what_the_program_counts_decides_the_tiers() {
    let pool = builder(4).count_with(|_| count).build().unwrap();
    let tiers = rounds(&pool, || tree(0));
    assert_eq!((tiers.source, tiers.partitions), (Some(CountSource::Given), 1), "{tiers:?}");
    assert_eq!(tiers.root.0, 8 * LEAF * 64);
    // Quarters fit a shared cache, halves do not.
    let paths: Vec<_> = tiers.subtrees.iter().map(|subtree| &subtree.path[..]).collect();
    assert_eq!(paths, [[0, 0], [0, 1], [1, 0], [1, 1]]);
    assert!(tiers.subtrees.iter().all(|subtree| subtree.soid.0 == 2 * LEAF * 64), "{tiers:?}");
}

#[test]
fn counts_are_opened_once_on_each_thread_and_only_under_schedulers_that_measure() {
    for (scheduler, expected) in
        [(SchedulerKind::Ws, 0), (SchedulerKind::Cats, 3), (SchedulerKind::CatsS, 3)]
    {
        let opened = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&opened);
        let open = move |_| {
            counted.fetch_add(1, Relaxed);
            count
        };
        let pool = builder(3).scheduler(scheduler).count_with(open).build().unwrap();
        pool.broadcast(|_| ());
        assert_eq!(opened.load(Relaxed), expected, "{scheduler}");
    }
}

#[test]
fn where_the_given_source_knows_nothing_declared_sizes_stand_in() {
    fn sized(depth: u32) {
        if depth < 3 {
            let half = || befit::fit((8 * LEAF * 64) as usize >> (depth + 1), || sized(depth + 1));
            befit::join(half(), half());
        }
    }
    let pool = builder(4).count_with(|_| || None).build().unwrap();
    let tiers = rounds(&pool, || {
        befit::join(befit::fit((8 * LEAF * 64) as usize, || sized(0)), befit::fit(0, || ()));
    });
    let expected = (Some(CountSource::Declared), 8 * LEAF * 64);
    assert_eq!((tiers.source, tiers.root.0), expected, "{tiers:?}");
}

/// They were differences between one thread's counts and another's.
#[test]
fn regression_sizes_of_threads_that_are_one_worker() {
    // Eight threads are four workers, each of which has moved another number of lines before.
    let count = |thread: usize| {
        let before = thread as u64 * 1_000_000_000;
        move || {
            Some(WorkerCounts { private_misses: before + MOVED.get(), ..WorkerCounts::default() })
        }
    };
    // What a thread did may be taken for what the other did at the same time; it is not counted
    // twice.
    let most = 2 * 8 * LEAF * 64;
    // What it did while the other looked for work in vain is not counted. That may be most of it in
    // one pool, but not in each.
    let counted = (0..5).any(|_| {
        let pool = builder(8).count_with(count).build().unwrap();
        let tiers = rounds(&pool, || tree(0));
        assert!(tiers.root.0 <= most, "{tiers:?}");
        tiers.partitions > 0 && tiers.root.0 >= most / 4
    });
    assert!(counted);
}
