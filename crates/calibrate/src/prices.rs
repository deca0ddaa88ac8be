//! What scheduling costs beside [forks](crate::forks): spawned tasks, calls of a policy, locks,
//! steals, sleep, and pages.

use std::{
    hint::black_box,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

use befit::{ThreadPool, ThreadPoolBuilder};
use befit_machine::{Bytes, Machine, WorkerId};
use befit_sched::{
    Ask, Guarded, LockId, Options, Policy, QuietEnv, Ready, SchedulerKind, Stage, TaskInfo,
    forks::{MEMORY_BATCH, SPARE_BATCHES},
};
use memmap2::MmapMut;

use crate::{CalibrateError, chase, forks::seconds, pin::pin};

/// A pool of one thread, under work stealing.
pub(crate) fn pool() -> Result<ThreadPool, CalibrateError> {
    ThreadPoolBuilder::new()
        .num_threads(1)
        .scheduler(SchedulerKind::Ws)
        .stack_size(64 << 20)
        .build()
        .map_err(|e| CalibrateError::Pool(e.to_string()))
}

/// Tasks of a scope for which a pool keeps memory: a MiB.
const KEPT: u32 = (MEMORY_BATCH * SPARE_BATCHES) as u32;

/// Nanoseconds of a spawned task that does nothing, of as many that wait in one scope as a pool
/// keeps memory for. On a pool where so many have waited before.
pub(crate) fn spawn(pool: &ThreadPool) -> f64 {
    pool.install(|| spawned_again() * 1e9)
}

/// How many nanoseconds longer it takes where none has waited, and where more wait than a pool
/// keeps memory for: of scopes of which each has twice as many tasks as the one before, so that
/// half of them are in memory that nothing has touched. On a pool that has run none.
pub(crate) fn job(pool: &ThreadPool) -> Result<f64, CalibrateError> {
    const LEAST: u32 = 13;
    const MOST: u32 = 17;
    backed(Bytes(64 << 20))?;
    let found: f64 = pool.install(|| {
        let scopes = (LEAST..=MOST).map(|n| 1 << n).map(|tasks| {
            let [first, _, again] = [(); 3].map(|()| spawned(tasks));
            let tasks = f64::from(tasks);
            // Of the first time half are new. The third time all are in memory that was used.
            (first - again) / (tasks / 2.0) + again / tasks
        });
        // In the first scope all is new.
        let larger: Vec<f64> = scopes.skip(1).collect();
        larger.iter().sum::<f64>() / larger.len() as f64 - spawned_again()
    });
    Ok(found * 1e9)
}

/// Seconds of a task of which [`KEPT`] wait, where as many have waited before.
fn spawned_again() -> f64 {
    const SCOPES: u32 = 8;
    spawned(KEPT);
    let all: f64 = (0..SCOPES).map(|_| spawned(KEPT)).sum();
    all / f64::from(SCOPES * KEPT)
}

/// Seconds of a scope of so many tasks.
fn spawned(tasks: u32) -> f64 {
    seconds(|| {
        befit::scope(|scope| {
            for _ in 0..tasks {
                scope.spawn(|_| {
                    black_box(0);
                });
            }
        });
    })
}

const CALLS: u32 = 20_000;

/// Nanoseconds of taking and giving back a free lock.
pub(crate) fn lock() -> f64 {
    let mut env = QuietEnv(fastrand::Rng::with_seed(1));
    let guarded = Guarded::new(LockId(0), 0_u64);
    seconds(|| (0..CALLS).for_each(|_| guarded.with(&mut env, |n, _| *n = black_box(*n + 1)))) * 1e9
        / f64::from(CALLS)
}

/// Nanoseconds of one call of work stealing without its lock: half of an `add` and the `get` of the
/// same strand, less a lock.
///
/// Where the policy lies can nearly double it: stores and later loads of addresses that end alike
/// wait for one another. So there are some, in a place each, and `seed` chooses one.
pub(crate) fn call(machine: &Machine, seed: u64) -> f64 {
    const PLACES: u64 = 8;
    let mut env = QuietEnv(fastrand::Rng::with_seed(1));
    let build = |_| SchedulerKind::Ws.build::<u32>(machine, Options::default());
    let policies: Vec<_> = (0..PLACES).map(build).collect();
    let policy = &policies[(seed % PLACES) as usize];
    let ready = Ready {
        job: 1,
        task: TaskInfo::root(Some(Bytes(u64::MAX)), Some(Bytes(64))),
        stage: Stage::Continuation,
    };
    let pairs = seconds(|| {
        for _ in 0..CALLS {
            policy.add(WorkerId(0), ready, &mut env);
            black_box(policy.get(WorkerId(0), Ask::ANYTHING, &mut env));
        }
    });
    pairs * 1e9 / f64::from(2 * CALLS) - lock()
}

/// Nanoseconds until a core has a line that another one has just written: half of a number's way
/// there and back between the CPUs `here` and `there`.
pub(crate) fn handed(here: u32, there: u32) -> f64 {
    const WAYS: u64 = 4_000;
    pin(here);
    let (ball, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            pin(there);
            while !stop.load(Ordering::Relaxed) {
                let at = ball.load(Ordering::Acquire);
                if at % 2 == 1 {
                    ball.store(at + 1, Ordering::Release);
                }
            }
        });
        let throw = |ways: u64| {
            for _ in 0..ways {
                let at = ball.load(Ordering::Relaxed);
                ball.store(at + 1, Ordering::Release);
                while ball.load(Ordering::Acquire) != at + 2 {
                    std::hint::spin_loop();
                }
            }
        };
        throw(100); // till the other thread is there
        let time = seconds(|| throw(WAYS));
        stop.store(true, Ordering::Relaxed);
        time * 1e9 / (2 * WAYS) as f64
    })
}

/// Nanoseconds of a load on the CPU `here` of a line that `there` has just written: the middle of a
/// few looks, over a part of a core's own cache.
pub(crate) fn written(here: u32, there: u32) -> f64 {
    const LOOKS: usize = 5;
    const LINES: usize = 2048;
    let mut set = vec![0; LINES * chase::LINE];
    pin(here);
    let mut looks: Vec<f64> = (0..LOOKS as u64)
        .map(|look| {
            thread::scope(|scope| {
                scope.spawn(|| {
                    pin(there);
                    chase::update(&mut set)
                });
            });
            chase::each_once(&set, LINES / 8, look + 1)
        })
        .collect();
    looks.sort_by(f64::total_cmp);
    looks[LOOKS / 2]
}

/// Nanoseconds from waking a sleeping thread on another CPU until it runs.
pub(crate) fn wake(here: u32, there: u32) -> f64 {
    const TIMES: u64 = 200;
    pin(here);
    let (turn, main) = (Arc::new(AtomicU64::new(0)), thread::current());
    let sleeper = {
        let turn = Arc::clone(&turn);
        thread::spawn(move || {
            pin(there);
            for time in 0..TIMES {
                while turn.load(Ordering::Acquire) != 2 * time + 1 {
                    thread::park();
                }
                turn.store(2 * time + 2, Ordering::Release);
                main.unpark();
            }
        })
    };
    let time = seconds(|| {
        for time in 0..TIMES {
            turn.store(2 * time + 1, Ordering::Release);
            sleeper.thread().unpark();
            while turn.load(Ordering::Acquire) != 2 * time + 2 {
                thread::park();
            }
        }
    });
    let _ = sleeper.join();
    time * 1e9 / (2 * TIMES) as f64
}

/// Nanoseconds of the first touch of a page.
pub(crate) fn fault() -> Result<f64, CalibrateError> {
    const PAGES: Bytes = Bytes(8 << 20);
    backed(PAGES)?;
    Ok(backed(PAGES)? * 1e9 / (PAGES.0 / chase::PAGE as u64) as f64)
}

/// Touches all pages of so much new memory, and gives it back. Returns the seconds of the touches.
///
/// In a virtual machine the host may have to find a page for the guest's: it takes back those that
/// the guest leaves free for some seconds. That takes several times longer than the guest's own
/// work, and a program that is run again and again does not meet it. So prices of new memory are
/// measured where as much has just been in use.
fn backed(size: Bytes) -> Result<f64, CalibrateError> {
    let mut map = MmapMut::map_anon(size.0 as usize).map_err(CalibrateError::Memory)?;
    Ok(seconds(|| map.chunks_mut(chase::PAGE).for_each(|page| page[0] = 1)))
}
