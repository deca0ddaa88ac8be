//! Runs independent jobs on this machine's cores.

use std::{
    num::NonZeroUsize,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

/// The number of threads for [`map`]: as many as this process may use cores, or one where that is
/// unknown.
pub(crate) fn threads() -> NonZeroUsize {
    thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// Runs `run` on every job and returns the results in the order of `jobs`, whatever the order in
/// which they finish.
///
/// Idle threads take the heaviest job left, so that no long job starts last and is waited for
/// alone. After a failure no further job starts; of several failures it returns the one of
/// the first job in order.
///
/// Threads and one shared list are enough here: a job is a whole simulation, seconds long, and
/// there are dozens of them.
pub(crate) fn map<J: Sync, R: Send, E: Send>(
    jobs: &[J],
    threads: NonZeroUsize,
    weight: impl Fn(&J) -> u64,
    run: impl Fn(&J) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    // stable: equal jobs keep their order
    order.sort_by_key(|i| std::cmp::Reverse(weight(&jobs[*i])));
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let results: Mutex<Vec<Option<Result<R, E>>>> = Mutex::new(jobs.iter().map(|_| None).collect());
    thread::scope(|scope| {
        for _ in 0..threads.get().min(jobs.len()) {
            scope.spawn(|| {
                while let Some(i) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if failed.load(Ordering::Relaxed) {
                        break;
                    }
                    let result = run(&jobs[*i]);
                    failed.fetch_or(result.is_err(), Ordering::Relaxed);
                    results.lock().unwrap_or_else(|poisoned| poisoned.into_inner())[*i] =
                        Some(result);
                }
            });
        }
    });
    // Jobs that never started are missing only after a failure, which `collect` then finds.
    results
        .into_inner()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
        .into_iter()
        .flatten()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: NonZeroUsize = NonZeroUsize::new(2).unwrap();

    #[test]
    fn results_come_in_the_order_of_the_jobs() {
        for jobs in [(0..100).collect(), Vec::<u64>::new()] {
            let results = map(&jobs, TWO, |j| j % 7, |j| Ok::<_, ()>(j * 2));
            assert_eq!(results, Ok(jobs.iter().map(|j| j * 2).collect()));
        }
    }

    #[test]
    fn the_heaviest_job_starts_first() {
        let started = Mutex::new(Vec::new());
        let one = NonZeroUsize::MIN;
        let run = |j: &u64| {
            started.lock().unwrap().push(*j);
            Ok::<_, ()>(())
        };
        map(&[3, 9, 5], one, |j| *j, run).unwrap();
        assert_eq!(*started.lock().unwrap(), [9, 5, 3]);
    }

    #[test]
    fn a_failure_is_returned_and_nothing_starts_after_it() {
        let count = AtomicUsize::new(0);
        let run = |j: &u64| {
            count.fetch_add(1, Ordering::Relaxed);
            if *j == 1 { Err("one") } else { Ok(*j) }
        };
        assert_eq!(map(&[0, 1, 2, 3], NonZeroUsize::MIN, |_| 1, run), Err("one"));
        assert_eq!(count.into_inner(), 2);
    }
}
