//! What scheduling costs on this machine: the figures behind the simulator's `Costs`.
//!
//! ```text
//! cargo run --release -p befit-sched --example costs
//! ```
//! Each figure is the quickest of 21 batches (others may have run meanwhile), in nanoseconds and in
//! cycles of this machine's clock:
//!
//! - *lock*: taking and giving back a free lock (`Guarded`);
//! - *call*: one of the policy's calls without its locks: half of an `add` and the `get` of the
//!   same strand under `ws`, less their two locks;
//! - *steal*: looking into the queue of a worker on another core, found empty: a cache line that
//!   the other core has written since.

use std::{
    hint::black_box,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::Instant,
};

use befit_machine::{Bytes, Machine, WorkerId};
use befit_sched::{
    Ask, Env, Guarded, LockId, Options, Policy, QuietEnv, Ready, SchedulerKind, Stage, TaskInfo,
};

const BATCHES: usize = 21;
const CALLS: u32 = 100_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let machine = Machine::find("host")?;
    let mut env = QuietEnv(fastrand::Rng::with_seed(1));
    let guarded = Guarded::new(LockId(0), 0_u64);
    let lock = quickest(|| guarded.with(&mut env, |n, _| *n = black_box(*n + 1)));
    let pair = |kind: SchedulerKind, env: &mut dyn Env| {
        let policy = kind.build::<u32>(&machine, Options::default());
        let ready = Ready {
            job: 1,
            task: TaskInfo::root(Some(Bytes(u64::MAX)), Some(Bytes(64))),
            stage: Stage::Continuation,
        };
        quickest(|| {
            policy.add(WorkerId(0), ready, env);
            black_box(policy.get(WorkerId(0), Ask::ANYTHING, env));
        })
    };
    let (ws, sb) = (pair(SchedulerKind::Ws, &mut env), pair(SchedulerKind::Sb, &mut env));
    let say = |what: &str, ns: f64| {
        println!("{what:<44} {ns:>7.1} ns {:>6.0} cycles", ns * f64::from(machine.mhz) / 1e3)
    };
    println!("{} at {} MHz", machine.name, machine.mhz);
    say("lock", lock);
    say("add and get, ws", ws);
    say("add and get, sb", sb);
    say("call: half of ws's pair less a lock", ws / 2.0 - lock);
    say("steal: a line that another core has written", transfer());
    Ok(())
}

/// Nanoseconds of one call of `f`.
fn quickest(mut f: impl FnMut()) -> f64 {
    quickest_batch(CALLS, || (0..CALLS).for_each(|_| f()))
}

/// Nanoseconds of one of the `parts` of a batch.
fn quickest_batch(parts: u32, mut batch: impl FnMut()) -> f64 {
    let times = (0..BATCHES).map(|_| {
        let start = Instant::now();
        batch();
        start.elapsed().as_secs_f64() * 1e9 / f64::from(parts)
    });
    times.fold(f64::INFINITY, f64::min)
}

/// Nanoseconds until a core has a line that another one has just written: half of a number's way
/// there and back.
fn transfer() -> f64 {
    const WAYS: u32 = 20_000;
    let (ball, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let at = ball.load(Ordering::Acquire);
                if at % 2 == 1 {
                    ball.store(at + 1, Ordering::Release);
                }
            }
        });
        let there_and_back = || {
            let at = ball.load(Ordering::Relaxed);
            ball.store(at + 1, Ordering::Release);
            while ball.load(Ordering::Acquire) != at + 2 {
                std::hint::spin_loop();
            }
        };
        let time = quickest_batch(2 * WAYS, || (0..WAYS).for_each(|_| there_and_back()));
        stop.store(true, Ordering::Relaxed);
        time
    })
}
