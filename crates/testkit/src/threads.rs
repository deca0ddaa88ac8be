//! A policy on real threads.

use std::{
    ops::Range,
    sync::{
        atomic::{AtomicUsize, Ordering::Relaxed},
        mpsc,
    },
    thread,
    time::Duration,
};

use befit::{fit, join, scope};
use befit_sched::Policy;

use crate::{Case, PATIENCE, watch};

/// Runs a random tree of tasks for each seed, on a pool of one to eight threads.
///
/// # Panics
/// Where a task does not run exactly once, or the computation does not come to its end. Where a
/// job is handed out more often than it was added, a thread of the pool panics before it runs the
/// job again: the message and the seed are printed, and the process ends.
pub fn on_threads<P: Policy + Clone + 'static>(policy: &P, seeds: Range<u64>) {
    seeds.for_each(|seed| within(policy, seed, PATIENCE));
}

/// As [`on_threads`] with one seed, where a computation that takes longer than `patience` hangs.
pub(crate) fn within<P: Policy + Clone + 'static>(policy: &P, seed: u64, patience: Duration) {
    let mut case = Case::new(seed);
    let (pool, waiting) = watch::pool(&mut case, policy);
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let ran = AtomicUsize::new(0);
        let tasks = pool.install(|| task(seed, 7, 4 << 20, &ran));
        drop(pool);
        sender.send((ran.into_inner(), tasks))
    });
    let (ran, tasks) = receiver.recv_timeout(patience).expect("the computation ends");
    assert_eq!(ran, tasks, "each task runs once");
    assert_eq!(waiting.left(), [""; 0], "nothing is left");
}

/// A task of `size` bytes, all that it does given by `seed`. Returns how many tasks it makes,
/// itself included.
fn task(seed: u64, depth: u32, size: usize, ran: &AtomicUsize) -> usize {
    ran.fetch_add(1, Relaxed);
    let mut random = fastrand::Rng::with_seed(seed);
    let kind = if depth == 0 { 4 } else { random.u32(..5) };
    let half = size / 2;
    let [a, b] = [random.u64(..), random.u64(..)];
    let child = move |seed| move || task(seed, depth - 1, half, ran);
    let (a, b) = match kind {
        0 => join(child(a), child(b)),
        1 | 2 => join(fit(half, child(a)), fit(half, child(b))),
        3 => {
            let (mut of_a, mut of_b) = (0, 0);
            scope(|scope| {
                scope.spawn(|_| of_a = child(a)());
                scope.spawn(|_| of_b = child(b)());
            });
            (of_a, of_b)
        }
        _ => (0, 0),
    };
    1 + a + b
}
