//! Random programs: trees of joins, scopes of all kinds, broadcasts, yields and nested pools, some
//! of which panic, under each scheduler. The results must be those of a serial run, everything must
//! be dropped once, and no memory may be left.
//!
//! `BEFIT_STRESS_SECONDS` says how long; 4 by default. `BEFIT_STRESS_DEPTH` makes the trees deeper
//! by so many levels, so that more of the time is spent in forks: `BEFIT_STRESS_SECONDS=900
//! BEFIT_STRESS_DEPTH=8 cargo test -p befit --release --test stress -- --nocapture`.
//!
//! Trees of small forks, a quarter of which panic at a leaf, are a test of their own. It takes
//! minutes, so it runs with `--ignored` only: `BEFIT_STRESS_FORKS` forks, 10⁹ by default, under
//! each scheduler.
#![cfg(not(any(loom, befit_record)))]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    env,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant},
};

use befit::{
    BroadcastContext, Forks, SchedulerKind, Task, ThreadPool, ThreadPoolBuilder, WaitPolicy,
    broadcast, fit, join, join_context, run, scope, scope_fifo, yield_local, yield_now,
};

const MACHINES: [&str; 4] = [
    "pu:4",
    "l3:1(size=8MiB) core:4 l2:1(size=256KiB) pu:1",
    "pack:2 l3:1(size=1MiB) core:2 l2:1(size=64KiB) l1:1(size=16KiB) pu:1",
    "pack:2 l3:2(size=256KiB) l2:2(size=32KiB) l1:1(size=4KiB) pu:2",
];

/// The system's allocator, counting what is allocated.
struct Counting;

/// Bytes that are allocated.
static ALLOCATED: AtomicI64 = AtomicI64::new(0);

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(layout.size() as i64, Relaxed);
        // SAFETY: promised by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(layout.size() as i64, Relaxed);
        // SAFETY: promised by the caller.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The number of living [`Held`]s.
static LIVING: AtomicI64 = AtomicI64::new(0);

/// Owned memory that counts itself.
struct Held(Box<u64>);

impl Held {
    fn new(value: u64) -> Self {
        LIVING.fetch_add(1, Relaxed);
        Self(Box::new(value))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        LIVING.fetch_sub(1, Relaxed);
    }
}

/// The next of a sequence that looks random; what a node of the program does depends on its number
/// only.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The panics of these programs carry the value that the node would have had.
struct Panicked(u64);

fn caught(f: impl FnOnce() -> u64) -> u64 {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(value) => value,
        Err(panic) => match panic.downcast::<Panicked>() {
            Ok(panicked) => panicked.0 ^ 0x5555,
            Err(other) => resume_unwind(other),
        },
    }
}

/// The value of node `id`, whose subtree has `depth` more levels, computed serially.
fn serial(id: u64, depth: u32) -> u64 {
    let (kind, left, right) = node(id);
    let value = if depth == 0 {
        id
    } else {
        match kind {
            Kind::Panics(first) => {
                let (a, b) = (serial(left, depth - 1), serial(right, depth - 1));
                return (if first { a } else { b }) ^ 0x5555;
            }
            _ => serial(left, depth - 1).wrapping_add(serial(right, depth - 1).rotate_left(1)),
        }
    };
    mix(value)
}

#[derive(Clone, Copy)]
enum Kind {
    Join,
    /// A join of two [`Node`]s, the second with a size.
    Tasks(usize),
    Sized(usize, usize),
    HalfSized(usize),
    Scope(usize),
    ScopeFifo,
    /// Of another pool.
    InPlaceScope,
    /// A join, of which the second half is a broadcast of this or the other pool, and each half
    /// yields.
    Broadcast(bool),
    Pool,
    /// A join of which one half, the first or the second, panics with its value.
    Panics(bool),
}

fn node(id: u64) -> (Kind, u64, u64) {
    let random = mix(id ^ 0xabcd);
    let size = |shift: u64| 1usize << (6 + (random >> shift) % 18);
    let kind = match random % 64 {
        0..12 => Kind::Join,
        12..32 => Kind::Tasks(size(8)),
        32..46 => Kind::Sized(size(8), size(16)),
        46..50 => Kind::HalfSized(size(8)),
        50..54 => Kind::Scope(size(8)),
        54..56 => Kind::ScopeFifo,
        56 => Kind::InPlaceScope,
        57 => Kind::Broadcast(random & 64 == 0),
        58 => Kind::Pool,
        _ => Kind::Panics(random & 64 == 0),
    };
    (kind, mix(id.wrapping_mul(2)), mix(id.wrapping_mul(2) + 1))
}

/// As [`serial`], in parallel; `inner` is a second pool.
fn parallel(id: u64, depth: u32, inner: &ThreadPool) -> u64 {
    run(Node { id: Held::new(id), depth, inner })
}

/// A node and its subtree.
struct Node<'p> {
    id: Held,
    depth: u32,
    inner: &'p ThreadPool,
}

impl Task for Node<'_> {
    type Output = u64;

    fn run(self, forks: impl Forks) -> u64 {
        let Self { id, depth, inner } = self;
        let id = *id.0;
        if depth == 0 {
            return mix(id);
        }
        let (kind, left, right) = node(id);
        let child = |id| Node { id: Held::new(id), depth: depth - 1, inner };
        let held = (Held::new(left), Held::new(right));
        let first = || parallel(*held.0.0, depth - 1, inner);
        let held_by_second = held.1;
        let second = move || parallel(*held_by_second.0, depth - 1, inner);
        let (a, b) = match kind {
            Kind::Tasks(size) => forks.join(child(left), fit(size, child(right))),
            Kind::Join => join(first, second),
            Kind::Sized(a, b) => join(fit(a, first), fit(b, second).strand(64)),
            Kind::HalfSized(a) => join(first, fit(a, second)),
            Kind::Pool => inner.install(|| join(first, second)),
            Kind::Scope(size) => {
                let (a, b) = (AtomicU64::new(0), AtomicU64::new(0));
                scope(|s| {
                    s.spawn(|_| a.store(first(), Relaxed));
                    s.spawn_fit(size, |_| b.store(second(), Relaxed));
                });
                (a.into_inner(), b.into_inner())
            }
            Kind::ScopeFifo => {
                let (a, b) = (AtomicU64::new(0), AtomicU64::new(0));
                scope_fifo(|s| {
                    s.spawn_fifo(|s| s.spawn_fifo(|_| a.store(first(), Relaxed)));
                    s.spawn_fifo(|_| b.store(second(), Relaxed));
                });
                (a.into_inner(), b.into_inner())
            }
            Kind::InPlaceScope => {
                let b = AtomicU64::new(0);
                let a = inner.in_place_scope(|s| {
                    s.spawn(|_| b.store(second(), Relaxed));
                    first()
                });
                (a, b.into_inner())
            }
            Kind::Broadcast(here) => {
                let (a, (b, all)) = join_context(
                    |_| {
                        yield_now();
                        first()
                    },
                    move |_| {
                        let work =
                            |context: BroadcastContext<'_>| Held::new(context.index() as u64);
                        let all = if here { broadcast(work) } else { inner.broadcast(work) };
                        yield_local();
                        (second(), all)
                    },
                );
                assert!(all.iter().enumerate().all(|(i, held)| *held.0 == i as u64));
                (a, b)
            }
            Kind::Panics(first_panics) => {
                return caught(|| {
                    let run = |f: &dyn Fn() -> u64, panics: bool| {
                        let value = f();
                        if panics {
                            resume_unwind(Box::new(Panicked(value)));
                        }
                        Held::new(value)
                    };
                    let (a, b) =
                        join(|| run(&first, first_panics), move || run(&second, !first_panics));
                    *a.0 ^ *b.0
                });
            }
        };
        mix(a.wrapping_add(b.rotate_left(1)))
    }
}

/// The number in that variable of the environment.
fn number(name: &str, or: u64) -> u64 {
    env::var(name).map_or(or, |value| value.parse().expect("a number"))
}

/// The number of leaves of a tree of forks. The leaf `bad` panics.
fn leaves(first: u64, depth: u32, bad: Option<u64>) -> u64 {
    let held = depth.is_multiple_of(4).then(|| Held::new(first));
    if depth == 0 {
        if bad == Some(first) {
            resume_unwind(Box::new(Panicked(first)));
        }
        return 1;
    }
    let half = 1 << (depth - 1);
    let left = || leaves(first, depth - 1, bad);
    let right = || leaves(held.as_ref().map_or(first, |held| *held.0) + half, depth - 1, bad);
    let (a, b) = if held.is_some() {
        join(fit(32 << depth, left), fit(32 << depth, right))
    } else {
        join(left, right)
    };
    a + b
}

/// Runs a tree of so many levels. By the tree's number one of its leaves may panic; returns whether
/// one did.
fn tree_panics(pool: &ThreadPool, depth: u32, number: u64) -> bool {
    let random = mix(number ^ 0x1234);
    let bad = random.is_multiple_of(4).then_some((random >> 16) % (1 << depth));
    let result = catch_unwind(AssertUnwindSafe(|| pool.install(|| leaves(0, depth, bad))));
    let scheduler = pool.scheduler();
    match (result, bad) {
        (Ok(counted), None) => assert_eq!(counted, 1 << depth, "{scheduler} {number}"),
        (Err(panic), Some(bad)) => {
            let panicked = panic.downcast::<Panicked>().expect("the leaf's");
            assert_eq!(panicked.0, bad, "{scheduler} {number}");
        }
        _ => panic!("{scheduler} {number}: a panic was lost, or there was none"),
    }
    assert_eq!(LIVING.load(Relaxed), 0, "{scheduler} {number}");
    bad.is_some()
}

#[test]
#[ignore = "takes minutes"]
fn of_many_forks_each_runs_once_and_each_panic_arrives() {
    const DEPTH: u32 = 16;
    const FORKS: u64 = (1 << DEPTH) - 1;
    const TREES_OF_A_POOL: usize = 64;
    let trees = number("BEFIT_STRESS_FORKS", 1_000_000_000).div_ceil(FORKS);
    for scheduler in SchedulerKind::ALL {
        let (begun, mut panics) = (Instant::now(), 0);
        for first in (0..trees).step_by(TREES_OF_A_POOL) {
            let random = mix(first ^ 0x1234);
            let machine = MACHINES[random as usize % MACHINES.len()].parse().unwrap();
            let builder = ThreadPoolBuilder::new().scheduler(scheduler).machine(machine);
            let threads = 1 + (random >> 8) as usize % 4;
            let pool = builder.num_threads(threads).seed(first).build().unwrap();
            let numbers = (first..trees).take(TREES_OF_A_POOL);
            panics += numbers.filter(|number| tree_panics(&pool, DEPTH, *number)).count();
        }
        let (forks, seconds) = (trees * FORKS, begun.elapsed().as_secs());
        println!("{scheduler}: {forks} forks in trees, {panics} trees panicked, {seconds} s");
    }
}

#[test]
fn random_programs_give_their_serial_results_and_leave_nothing() {
    let seconds = number("BEFIT_STRESS_SECONDS", 4);
    let deeper = number("BEFIT_STRESS_DEPTH", 0) as u32;
    let until = Instant::now() + Duration::from_secs(seconds);
    let (finished, wait) = std::sync::mpsc::channel::<()>();
    let watchdog = std::thread::spawn(move || {
        // Looks are counted, not the time: a machine that stands still for a while hangs nothing.
        let look = || wait.recv_timeout(Duration::from_millis(10));
        let still_runs = |_| look() == Err(std::sync::mpsc::RecvTimeoutError::Timeout);
        if (0..(seconds + 60) * 100).all(still_runs) {
            eprintln!("hangs");
            std::process::abort();
        }
    });
    let (mut programs, mut forks) = (0, 0);
    // What the first round leaves behind (names of threads, what panics keep, …) it leaves once.
    let mut allocated_before = None::<i64>;
    'all: for round in 0.. {
        for scheduler in SchedulerKind::ALL {
            for machine in MACHINES {
                // A thread that waits for the inner pool takes other tasks on top, which may do the
                // same: stacks grow with the program.
                let build = |threads| {
                    let builder = ThreadPoolBuilder::new()
                        .scheduler(scheduler)
                        .machine(machine.parse().unwrap());
                    let steals = matches!(scheduler, SchedulerKind::Ws | SchedulerKind::Pws);
                    let descendants = steals && round % 2 == 1;
                    let policy =
                        if descendants { WaitPolicy::Descendants } else { WaitPolicy::Anything };
                    let builder = builder.wait_policy(policy);
                    builder.num_threads(threads).seed(round).stack_size(512 << 20).build().unwrap()
                };
                let random = mix(round ^ 77);
                let (outer, inner) =
                    (build(1 + random as usize % 5), build(1 + (random >> 8) as usize % 3));
                for program in 0..4 {
                    let id = mix(round * 1000 + program);
                    let depth = deeper + 6 + (id % 6) as u32;
                    let result = outer.install(|| parallel(id, depth, &inner));
                    assert_eq!(result, serial(id, depth), "{scheduler} {machine}");
                    programs += 1;
                    forks += (1_u64 << depth) - 1;
                }
                drop((outer, inner));
                assert_eq!(LIVING.load(Relaxed), 0, "{scheduler} {machine} {round}");
                let allocated = ALLOCATED.load(Relaxed);
                if round > 0 {
                    let before = *allocated_before.get_or_insert(allocated);
                    assert!(
                        allocated <= before + 4096,
                        "{scheduler} {machine} {round}: {before} bytes, now {allocated}"
                    );
                }
                // Memory is compared from the second round on.
                if allocated_before.is_some() && Instant::now() > until {
                    break 'all;
                }
            }
        }
    }
    drop(finished);
    watchdog.join().unwrap();
    println!("{programs} programs, {forks} forks");
}
