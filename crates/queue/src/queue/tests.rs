//! Tests of queues, whose tasks note when they ran.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc::{RecvTimeoutError, channel},
    },
    thread,
    time::Duration,
};

use befit::{Machine, SchedulerKind, ThreadPool, ThreadPoolBuilder};

use super::*;
use crate::{MemorySpan, Prefetch, Walk, WalkStep, prefetch};

const MODES: [Mode; 4] = [Mode::Arrival, Mode::Ordered, Mode::Interleaved, Mode::Both];

/// Each mode, and the queue's own choice.
fn modes() -> impl Iterator<Item = Option<Mode>> {
    MODES.map(Some).into_iter().chain([None])
}

/// Keys without a pattern.
fn keys(count: usize) -> Vec<u64> {
    (0..count as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20).collect()
}

/// Takes `left` steps; its result is that of `end`.
struct Steps<'a, R, F: Fn() -> R> {
    left: u64,
    place: &'a [u8],
    end: F,
}

impl<R, F: Fn() -> R> Walk for Steps<'_, R, F> {
    type Output = R;
    fn step(&mut self) -> WalkStep<R> {
        if self.left == 0 {
            return WalkStep::Done((self.end)());
        }
        self.left -= 1;
        WalkStep::to(self.place)
    }
}

/// A pool on a machine given as text.
fn pool(scheduler: SchedulerKind, machine: &str, threads: usize) -> ThreadPool {
    let machine: Machine = machine.parse().unwrap();
    let pool = ThreadPoolBuilder::new().scheduler(scheduler).machine(machine);
    pool.num_threads(threads).build().unwrap()
}

/// Calls `test` in pools of one, two and five threads; ends the process if that takes two minutes.
fn on_pools(test: impl Fn() + Sync) {
    let (finished, wait) = channel::<()>();
    let watchdog = thread::spawn(move || {
        if wait.recv_timeout(Duration::from_secs(120)) == Err(RecvTimeoutError::Timeout) {
            std::process::abort();
        }
    });
    for (scheduler, threads) in
        [(SchedulerKind::Ws, 1), (SchedulerKind::Ws, 2), (SchedulerKind::Sb, 5)]
    {
        let machine = "pack:1 l3:2(size=1MiB) core:3 l2:1(size=64KiB) l1:1(size=16KiB) pu:1";
        pool(scheduler, machine, threads).install(&test);
    }
    drop(finished);
    watchdog.join().unwrap();
}

/// Calls `test` in a pool of one thread.
fn on_one(test: impl FnOnce() + Send) {
    pool(SchedulerKind::Ws, "l3:1(size=8MiB) core:1 l2:1(size=256KiB) pu:1", 1).install(test);
}

/// Counts where it is dropped.
struct Token<'a>(&'a AtomicUsize);

impl Drop for Token<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn each_task_runs_once_and_its_result_comes_out_in_its_place_in_every_mode() {
    on_pools(|| {
        for count in [0, 1, 100, 70_000] {
            let keys = keys(count);
            for mode in modes() {
                let runs: Vec<_> = (0..count).map(|_| AtomicUsize::new(0)).collect();
                let run = |i: usize| {
                    runs[i].fetch_add(1, SeqCst);
                    keys[i].to_string()
                };
                let tasks: Vec<usize> = (0..count).collect();
                let steps = |i: &usize| {
                    let i = *i;
                    Steps { left: keys[i] % 7, place: &[0], end: move || run(i) }
                };
                let mut queue = Queue::new(|i: &usize| run(*i))
                    .in_steps(steps)
                    .by_key(|i| keys[*i])
                    .data_bytes(1 << 30);
                queue.settings.mode = mode;
                assert!(
                    queue.run(&tasks).into_iter().eq(keys.iter().map(u64::to_string)),
                    "{mode:?}"
                );
                assert!(runs.into_iter().all(|runs| runs.into_inner() == 1), "{mode:?}");
            }
        }
    });
}

#[test]
fn no_task_is_displaced_by_a_window_or_more_in_any_mode() {
    on_pools(|| {
        for age in [0, 1, 10, 1000, 30_000] {
            for mode in modes() {
                let clock = AtomicUsize::new(0);
                let tick = || clock.fetch_add(1, SeqCst);
                // Those that take many steps end late: within their window still.
                let steps = |key: &u64| Steps { left: key % 50, place: &[0], end: tick };
                let mut queue =
                    Queue::new(|_: &u64| tick()).in_steps(steps).by_key(|key| *key).age(age);
                queue.settings.mode = mode;
                // As many windows tell as much, and each window costs.
                let ran = queue.run(&keys(50_000.min(400 * age.max(10))));
                let most =
                    ran.iter().enumerate().map(|(arrived, ran)| arrived.abs_diff(*ran)).max();
                assert!(most.unwrap() < age.max(1), "{most:?} with an age of {age}, {mode:?}");
            }
        }
    });
}

#[test]
fn sorted_windows_run_in_the_order_of_their_keys() {
    on_one(|| {
        let clock = AtomicUsize::new(0);
        let queue =
            Queue::new(|_: &u64| clock.fetch_add(1, SeqCst)).by_key(|key| *key).mode(Mode::Ordered);
        let keys: Vec<u64> = (0..1000).map(|i| i * 7919 % 1000).collect();
        let ran = queue.window(500).run(&keys);
        for (keys, ran) in keys.chunks(500).zip(ran.chunks(500)) {
            let mut by_time: Vec<_> = ran.iter().zip(keys).collect();
            by_time.sort();
            // By their leading bits, that is: eight of ten.
            let mut largest = 0;
            for (_, key) in by_time {
                largest = largest.max(*key);
                assert!(key + 4 > largest, "{key} after {largest}");
            }
        }
    });
}

#[test]
fn a_mode_that_the_queue_has_no_means_for_is_left_out() {
    let mut queue = Queue::new(|x: &u64| x + 1).mode(Mode::Both);
    assert_eq!(queue.run(&[3, 1, 2]), [4, 2, 3]);
    assert_eq!(queue.report().unwrap().mode, Some(Mode::Arrival));
    let mut queue = Queue::new(|x: &u64| x + 1).by_key(|x| *x).mode(Mode::Interleaved).in_flight(0);
    assert_eq!(queue.run(&[3, 1, 2]), [4, 2, 3]);
    assert_eq!(queue.report().unwrap().mode, Some(Mode::Arrival));
    let mut queue = Queue::new(|x: &u64| x + 1).by_key(|x| *x).mode(Mode::Both);
    assert_eq!(queue.run(&[3, 1, 2]), [4, 2, 3]);
    assert_eq!(queue.report().unwrap().mode, Some(Mode::Ordered));
}

#[test]
fn the_report_has_no_mode_while_the_queue_looks_for_one() {
    let mut queue = Queue::new(|x: &u64| x + 1).by_key(|x| *x).data_bytes(1 << 40);
    queue.run(&[3, 1, 2]);
    assert_eq!(queue.report().unwrap().mode, None);
    while queue.report().unwrap().mode.is_none() {
        queue.run(&[3, 1, 2]);
    }
    // It has found one, and looks again.
    let state = queue.state.as_mut().unwrap();
    let found = state.choice.settled();
    assert!(found.is_some());
    while !state.choice.searches() {
        let portion = state.next(8, None);
        let mut pieces = crate::measure::Pieces::default();
        pieces.add(crate::measure::Kind::Plain, 8, Duration::from_secs(1));
        state.choice.record(portion, pieces);
    }
    assert_eq!(
        (queue.report().unwrap().mode, queue.state.unwrap().choice.settled()),
        (None, found)
    );
}

#[test]
fn coroutines_return_what_calls_do() {
    on_pools(|| {
        let numbers = keys(1000);
        let numbers = &numbers;
        let get = |i: &usize| {
            let i = *i;
            async move {
                let fetch: Prefetch = prefetch(MemorySpan::of(&numbers[i]));
                fetch.await;
                numbers[i]
            }
        };
        for mode in MODES {
            let queue =
                Queue::new(|i: &usize| numbers[*i]).in_coroutines(get).by_key(|i| *i as u64);
            let tasks: Vec<usize> = (0..1000).rev().collect();
            assert!(queue.mode(mode).run(&tasks).iter().eq(numbers.iter().rev()));
        }
    });
}

#[test]
fn classes_that_are_learned_run_one_after_another() {
    on_one(|| {
        let memory = vec![0u8; 1 << 20];
        let clock = AtomicUsize::new(0);
        let tick = || clock.fetch_add(1, SeqCst);
        // Class 0 lies last.
        let place = |class: u16| &memory[(3 - usize::from(class)) << 18..][..64];
        let steps = |class: &u16| Steps { left: 1, place: place(*class), end: tick };
        let queue =
            Queue::new(|_: &u16| tick()).in_steps(steps).by_class(|class| *class).mode(Mode::Both);
        let classes: Vec<u16> = (0..100_000u32).map(|i| (i * 7 % 4) as u16).collect();
        let mut ran: Vec<_> =
            queue.in_flight(1).run(&classes).into_iter().zip(classes).skip(WATCH).collect();
        ran.sort();
        assert!(
            ran.iter().map(|(_, class)| std::cmp::Reverse(*class)).is_sorted(),
            "as they lie in memory"
        );
    });
}

#[test]
fn a_task_of_a_class_not_yet_watched_does_not_undo_the_order_of_the_others() {
    on_one(|| {
        let memory = vec![0u8; 1 << 20];
        let clock = AtomicUsize::new(0);
        let tick = || clock.fetch_add(1, SeqCst);
        // Class 0 lies last.
        let place = |class: u16| &memory[(3 - usize::from(class)) << 18..][..64];
        let steps = |class: &u16| Steps { left: 1, place: place(*class), end: tick };
        let queue = Queue::new(|_: &u16| tick()).in_steps(steps).by_class(|class| *class);
        let mut queue = queue.mode(Mode::Ordered);
        let mut classes: Vec<u16> = (0..99_000u32).map(|i| (i * 7 % 4) as u16).collect();
        queue.run(&classes);
        // The first task is always in the sample that finds the range of the keys.
        classes[0] = 9;
        let mut ran: Vec<_> = queue.run(&classes).into_iter().zip(classes).collect();
        ran.sort();
        assert_eq!(ran.remove(0).1, 9, "before all places");
        assert!(
            ran.iter().map(|(_, class)| std::cmp::Reverse(*class)).is_sorted(),
            "as they lie in memory"
        );
    });
}

#[test]
fn tasks_are_watched_again_now_and_then_however_small_the_batches() {
    on_one(|| {
        // In this mode, tasks in steps are those that are watched.
        let watched = AtomicUsize::new(0);
        let steps = |_: &u16| {
            watched.fetch_add(1, SeqCst);
            Steps { left: 1, place: &[0], end: || () }
        };
        let queue = Queue::new(|_: &u16| ()).in_steps(steps).by_class(|class| *class);
        let mut queue = queue.mode(Mode::Ordered).window(5000);
        let batch = vec![0u16; 1 << 16];
        for _ in 0..WATCH_AGAIN / batch.len() {
            queue.run(&batch);
        }
        let at_the_start = watched.load(SeqCst);
        queue.run(&batch);
        queue.run(&batch);
        let in_batches = watched.load(SeqCst);
        let mut stream = queue.stream(|_, ()| ());
        for _ in 0..WATCH_AGAIN + 5000 {
            stream.push(0);
        }
        let in_the_stream = watched.load(SeqCst);
        assert_eq!(
            [at_the_start, in_batches, in_the_stream],
            [WATCH, WATCH + WATCH / 8, WATCH + 2 * (WATCH / 8)]
        );
    });
}

#[test]
fn tasks_that_announce_nothing_are_in_order_from_the_first_on() {
    on_one(|| {
        let clock = AtomicUsize::new(0);
        let clock = &clock;
        let tick = move || clock.fetch_add(1, SeqCst);
        let classes: Vec<u16> = (0..1000u32).map(|i| (i * 7 % 4) as u16).collect();
        let in_order = |ran: Vec<usize>| {
            let mut ran: Vec<_> = ran.into_iter().zip(&classes).collect();
            ran.sort();
            ran.iter().map(|(_, class)| *class).is_sorted()
        };
        let plain = Queue::new(|_: &u16| tick()).by_class(|class| *class);
        let coroutines = Queue::new(|_: &u16| tick()).in_coroutines(|_| async move { tick() });
        let coroutines = coroutines.by_class(|class| *class);
        assert_eq!(
            [plain.mode(Mode::Ordered).run(&classes), coroutines.mode(Mode::Ordered).run(&classes)]
                .map(in_order),
            [true, true]
        );
    });
}

#[test]
fn a_panic_in_a_task_reaches_the_caller() {
    on_pools(|| {
        for mode in MODES {
            let mut queue = Queue::new(|i: &u64| assert_ne!(*i, 5000, "task 5000"));
            queue.settings.mode = Some(mode);
            let tasks: Vec<u64> = (0..10_000).collect();
            let outcome = catch_unwind(AssertUnwindSafe(|| queue.run(&tasks).len()));
            assert!(outcome.is_err());
            // The queue is as good as before.
            assert_eq!(queue.run(&tasks[..100]).len(), 100);
        }
    });
}

#[test]
fn results_are_dropped_once() {
    let dropped = AtomicUsize::new(0);
    let mut queue = Queue::new(|_: &u64| Token(&dropped)).by_key(|key| *key).mode(Mode::Ordered);
    let results = queue.run(&keys(10_000));
    assert_eq!(dropped.load(SeqCst), 0);
    drop(results);
    assert_eq!(dropped.load(SeqCst), 10_000);
}

#[test]
fn a_stream_returns_in_the_order_of_arrival_and_no_later_than_its_age() {
    on_pools(|| {
        let keys = keys(10_000);
        let returned = AtomicUsize::new(0);
        let mut results = Vec::new();
        let mut queue = Queue::new(|key: &u64| key + 1).by_key(|key| *key).age(300);
        let mut stream = queue.stream(|key, result| {
            returned.fetch_add(1, SeqCst);
            results.push((key, result));
        });
        for (i, key) in keys.iter().enumerate() {
            stream.push(*key);
            assert!(i + 1 - returned.load(SeqCst) < 300);
        }
        stream.finish();
        assert!(results.into_iter().eq(keys.iter().map(|key| (*key, key + 1))));
    });
}

#[test]
fn a_stream_gives_up_the_window_of_a_task_that_panics_and_goes_on() {
    on_pools(|| {
        let runs: Vec<_> = (0..300).map(|_| AtomicUsize::new(0)).collect();
        let run = |i: &usize| {
            runs[*i].fetch_add(1, SeqCst);
            assert_ne!(*i, 150, "task 150");
            *i
        };
        let mut got = Vec::new();
        let mut queue = Queue::new(run).window(100);
        let mut stream = queue.stream(|i, result| got.push((i, result)));
        let panicked: Vec<usize> = (0..300)
            .filter(|i| catch_unwind(AssertUnwindSafe(|| stream.push(*i))).is_err())
            .collect();
        stream.finish();
        assert_eq!(panicked, [199], "the task that fills the window");
        assert!(got.into_iter().eq((0..100).chain(200..300).map(|i| (i, i))));
        assert!(runs.iter().all(|runs| runs.load(SeqCst) <= 1));
    });
}

#[test]
fn data_that_a_core_keeps_anyway_is_not_put_in_order() {
    on_one(|| {
        let mut queue = Queue::new(|key: &u64| *key).by_key(|key| *key).data_bytes(125 << 10);
        queue.run(&keys(100_000));
        assert_eq!(queue.report().unwrap().mode, Some(Mode::Arrival));
    });
}
