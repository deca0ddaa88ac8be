//! What forks cost: inlined, pending, in a region, published, and run by another worker.
//!
//! `crates/runtime/src/threads/fork/README.md` says when a fork is which.

use std::{hint::black_box, sync::mpsc, time::Instant};

use befit::{SchedulerKind, ThreadPool, ThreadPoolBuilder};

use crate::{CalibrateError, pin::pin, samples::Figure};

/// Forks of one measurement.
const FORKS: u32 = 20_000;
/// Forks that another worker runs, of one measurement.
const STOLEN: u32 = 1_000;
/// Steps that take some ten microseconds.
const LONG: u32 = 8_000;

/// Nanoseconds of an inlined fork, beyond those of two calls.
pub(crate) fn inlined(pool: &ThreadPool) -> f64 {
    const DEPTH: u32 = 16;
    fn forks(depth: u32) -> u32 {
        if depth == 0 {
            return black_box(1);
        }
        let (a, b) = befit::join(|| forks(depth - 1), || forks(depth - 1));
        a + b
    }
    #[inline(never)]
    fn calls(depth: u32) -> u32 {
        if depth == 0 { black_box(1) } else { calls(depth - 1) + calls(depth - 1) }
    }
    let per_fork = 1e9 / f64::from((1_u32 << DEPTH) - 1);
    pool.install(|| {
        let forked = seconds(|| forks(DEPTH));
        (forked - seconds(|| calls(DEPTH))) * per_fork
    })
}

/// Nanoseconds of forks that no other worker runs, on a pool of two threads of which one waits in a
/// job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    /// Of a fork that stays private, and is worth its price.
    pub(crate) pending: f64,
    /// Of one that is timed, as a region begins at it: beyond that.
    pub(crate) region: f64,
    /// Of one that is published and comes back: beyond that.
    pub(crate) published: f64,
}

/// Measures [`Kept`] on the CPU `here`.
pub(crate) fn kept(here: Option<u32>) -> Result<Kept, CalibrateError> {
    let pool = pair(move |_| {
        if let Some(cpu) = here {
            pin(cpu);
        }
    })?;
    let (begun, begins) = mpsc::channel();
    let (end, ends) = mpsc::channel::<()>();
    pool.spawn(move || {
        let _ = begun.send(());
        // Until `end` is dropped.
        let _ = ends.recv();
    });
    let _ = begins.recv();
    let kept = pool.install(|| {
        // Its tasks are seen to be long far below, so above they are forks.
        nested(12, &mut || worth_it(LONG));
        let time = |fork: &mut dyn FnMut()| {
            seconds(|| (0..FORKS).for_each(|_| fork())) * 1e9 / f64::from(FORKS)
        };
        let (mut pending, mut region, mut published) = (0.0, 0.0, 0.0);
        // The forks around it are published, and wait: no other is requested.
        nested(4, &mut || pending = time(&mut || worth_it(0)));
        nested(4, &mut || region = time(&mut || short(0)));
        // So near the program's start forks are always published.
        nested(1, &mut || published = time(&mut || worth_it(0)));
        Kept { pending, region: region - pending, published: published - pending }
    });
    drop(end);
    Ok(kept)
}

/// Nanoseconds that a fork takes longer than its longer half, if the worker on the CPU `there` runs
/// the other one, and looked for work already. `None` if it never did.
pub(crate) fn stolen(here: u32, there: u32) -> Result<Option<f64>, CalibrateError> {
    let pool = pair(move |thread| pin(if thread == 0 { here } else { there }))?;
    let times: Vec<f64> = pool.install(|| {
        let mut times = Vec::new();
        for _ in 0..STOLEN {
            let half = || {
                let time = seconds(|| steps(LONG));
                (befit::current_thread_index(), time)
            };
            let start = Instant::now();
            let ((one, first), (other, second)) = befit::join(half, half);
            let all = start.elapsed().as_secs_f64();
            if one != other {
                times.push((all - first.max(second)) * 1e9);
            }
        }
        times
    });
    Ok((!times.is_empty()).then(|| Figure::time(&times).median))
}

/// A pool of two threads, under work stealing; each begins with `start`.
fn pair(start: impl Fn(usize) + Send + Sync + 'static) -> Result<ThreadPool, CalibrateError> {
    ThreadPoolBuilder::new()
        .num_threads(2)
        .scheduler(SchedulerKind::Ws)
        .start_handler(start)
        .build()
        .map_err(|e| CalibrateError::Pool(e.to_string()))
}

/// Runs `inner` below so many forks.
fn nested(depth: u32, inner: &mut (dyn FnMut() + Send)) {
    if depth == 0 {
        return inner();
    }
    befit::join(|| nested(depth - 1, inner), || black_box(()));
}

/// A fork whose halves have so many steps.
#[inline(never)]
fn worth_it(length: u32) {
    befit::join(|| steps(length), || steps(length));
}

/// The same; a `join` of its own, of which other things are learned.
#[inline(never)]
fn short(length: u32) {
    befit::join(|| steps(length), || steps(length));
}

#[inline(never)]
fn steps(length: u32) -> u64 {
    let mut x = black_box(1_u64);
    for _ in 0..length {
        x = (x ^ (x >> 29)).wrapping_mul(0x5851_f42d_4c95_7f2d);
    }
    black_box(x)
}

pub(crate) fn seconds<R>(f: impl FnOnce() -> R) -> f64 {
    let start = Instant::now();
    black_box(f());
    start.elapsed().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a busy machine each may be measured wrongly, but not each time.
    #[test]
    fn a_published_fork_costs_more_than_one_that_is_timed_and_that_more_than_one_that_is_not() {
        let is_as_expected = |_| {
            let kept = kept(None).unwrap();
            kept.pending > 0.0 && kept.region > 0.0 && kept.published > kept.region
        };
        assert!((0..20).any(is_as_expected));
    }
}
