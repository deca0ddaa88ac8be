//! Threads that begin at the same time.

use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread::{self, Builder},
    time::{Duration, Instant},
};

use crate::CalibrateError;

/// Runs `work` on all `parts` at once, each on a thread of its own, which runs `prepare` with its
/// number first. Returns what they gave, and the time from the first one's start to the last one's
/// end.
///
/// # Errors
/// [`CalibrateError::Pool`] where a thread cannot be had. The others end then, without working.
pub(crate) fn at_once<P: Send, T: Send>(
    parts: impl ExactSizeIterator<Item = P>,
    prepare: impl Fn(usize, &mut P) + Sync,
    work: impl Fn(&mut P) -> T + Sync,
) -> Result<(Vec<T>, Duration), CalibrateError> {
    run(parts, prepare, work, |_| Builder::new())
}

fn run<P: Send, T: Send>(
    parts: impl ExactSizeIterator<Item = P>,
    prepare: impl Fn(usize, &mut P) + Sync,
    work: impl Fn(&mut P) -> T + Sync,
    builder: impl Fn(usize) -> Builder,
) -> Result<(Vec<T>, Duration), CalibrateError> {
    let (count, ready, failed) = (parts.len(), AtomicUsize::new(0), AtomicBool::new(false));
    // A thread that slept would begin some microseconds after the one that woke it.
    let all_are_ready = || {
        ready.fetch_add(1, Ordering::Release);
        while ready.load(Ordering::Acquire) < count {
            if failed.load(Ordering::Relaxed) {
                return false;
            }
            thread::yield_now();
        }
        true
    };
    let run = |at: usize, mut part: P| {
        prepare(at, &mut part);
        all_are_ready().then(|| {
            let start = Instant::now();
            let given = work(&mut part);
            (start, Instant::now(), given)
        })
    };
    let run = &run;
    let ran: Vec<(Instant, Instant, T)> = thread::scope(|scope| {
        let mut threads = Vec::with_capacity(count);
        for (at, part) in parts.enumerate() {
            match builder(at).spawn_scoped(scope, move || run(at, part)) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    failed.store(true, Ordering::Relaxed);
                    return Err(CalibrateError::Pool(error.to_string()));
                }
            }
        }
        Ok(threads.into_iter().filter_map(|thread| thread.join().ok().flatten()).collect())
    })?;
    let start = ran.iter().map(|(start, ..)| *start).min();
    let end = ran.iter().map(|(_, end, _)| *end).max();
    let time = start.zip(end).map_or(Duration::ZERO, |(start, end)| end - start);
    Ok((ran.into_iter().map(|(.., given)| given).collect(), time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_prepared_before_any_works_and_the_time_is_that_of_all() {
        let prepared = AtomicUsize::new(0);
        let prepare = |at: usize, part: &mut usize| {
            thread::sleep(Duration::from_millis(at as u64));
            *part += at;
            prepared.fetch_add(1, Ordering::SeqCst);
        };
        let pause = Duration::from_millis(2);
        let work = |part: &mut usize| {
            thread::sleep(pause);
            (prepared.load(Ordering::SeqCst), *part)
        };
        let (given, time) = at_once([10, 20, 30].into_iter(), prepare, work).unwrap();
        assert_eq!(given, [(3, 10), (3, 21), (3, 32)]);
        assert!(time >= pause, "{time:?}");
    }

    #[test]
    fn regression_a_thread_that_cannot_be_had_is_an_error_and_the_others_do_not_wait_for_it() {
        // A stack that no address space has.
        let builder = |at: usize| match at {
            2 => Builder::new().stack_size(1 << 60),
            _ => Builder::new(),
        };
        let worked = AtomicBool::new(false);
        let work = |_: &mut i32| worked.store(true, Ordering::Relaxed);
        let error = run(0..4, |_, _| (), work, builder).unwrap_err();
        assert!(matches!(error, CalibrateError::Pool(_)), "{error}");
        assert!(!worked.into_inner());
    }
}
