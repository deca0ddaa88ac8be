//! Tests of tasks with and without forks.

use std::{
    any::type_name,
    panic::resume_unwind,
    sync::{Mutex, atomic::AtomicUsize},
    thread,
    time::Duration,
};

use crate::api::{FOUR, Forking, Forks, Task};
use crate::{threads::testing::*, *};

struct Fib(u32);

impl Task for Fib {
    type Output = u64;

    fn run(self, forks: impl Forks) -> u64 {
        let Self(n) = self;
        if n < 2 {
            return n.into();
        }
        let (a, b) = forks.join(Self(n - 1), Self(n - 2));
        a + b
    }
}

/// The sum of numbers, each task declaring its size.
struct Sum<'a>(&'a [u64]);

impl Task for Sum<'_> {
    type Output = u64;

    fn run(self, forks: impl Forks) -> u64 {
        let Self(numbers) = self;
        if numbers.len() <= 64 {
            return numbers.iter().sum();
        }
        let (left, right) = numbers.split_at(numbers.len() / 2);
        let (a, b) = forks.join(
            fit(size_of_val(left), Self(left)),
            fit(size_of_val(right), Self(right)).strand(512),
        );
        a + b
    }
}

#[test]
fn fib_and_a_sum_with_sizes_are_right_under_every_scheduler_and_outside_any_pool() {
    let numbers: Vec<u64> = (0..20_000).collect();
    on_every_pool(|pool| {
        assert_eq!(pool.install(|| run(Fib(16))), 987);
        assert_eq!(pool.install(|| run(Sum(&numbers))), 19_999 * 10_000);
    });
    assert_eq!(run(Fib(15)), 610);
}

fn is_forking<F: Forks>(_: F) -> bool {
    type_name::<F>() == type_name::<Forking>()
}

/// Whether each level of a chain of tasks forks, from the top.
struct Chain<'a>(usize, &'a Mutex<Vec<bool>>);

impl Task for Chain<'_> {
    type Output = ();

    fn run(self, forks: impl Forks) {
        let Self(length, forking) = self;
        forking.lock().unwrap().push(is_forking(forks));
        if length > 0 {
            forks.join(Self(length - 1, forking), Fib(0));
        }
    }
}

#[test]
fn after_four_elided_levels_the_next_fork_looks_again() {
    let forking = Mutex::default();
    // This thread is in no region, so what forks goes on forking.
    Chain(6, &forking).run(FOUR);
    assert_eq!(forking.into_inner().unwrap(), [false, false, false, false, true, true, true]);
}

#[test]
fn most_of_a_deep_recursion_is_elided() {
    /// Counts the calls that can fork.
    struct Counted<'a>(u32, &'a AtomicUsize);

    impl Task for Counted<'_> {
        type Output = u64;

        fn run(self, forks: impl Forks) -> u64 {
            let Self(n, count) = self;
            if is_forking(forks) {
                add(count, 1);
            }
            if n < 2 {
                return n.into();
            }
            let (a, b) = forks.join(Self(n - 1, count), Self(n - 2, count));
            a + b
        }
    }

    on_each_scheduler(MACHINES[0], 1, |pool| {
        let count = AtomicUsize::new(0);
        assert_eq!(pool.install(|| run(Counted(25, &count))), 75_025);
        // Of 242,785 calls.
        let count = count.into_inner();
        assert!(count < 80_000, "{}: {count}", pool.scheduler());
    });
}

#[test]
fn a_panic_in_either_half_goes_on_in_the_caller() {
    /// Panics at its `at`-th leaf from the left, `depth` levels down.
    struct Mine {
        depth: u32,
        at: u64,
    }

    impl Task for Mine {
        type Output = u64;

        fn run(self, forks: impl Forks) -> u64 {
            let Self { depth, at } = self;
            if depth == 0 {
                // Without a message on stderr.
                return if at == 0 { resume_unwind(Box::new("the mine")) } else { 1 };
            }
            let half = 1 << (depth - 1);
            let (a, b) = forks.join(
                Self { depth: depth - 1, at },
                Self { depth: depth - 1, at: at.wrapping_sub(half) },
            );
            a + b
        }
    }

    on_every_pool(|pool| {
        // Once it is known that this is all short, it is elided.
        assert_eq!(pool.install(|| run(Mine { depth: 9, at: u64::MAX })), 1 << 9);
        for at in [0, 1, 1 << 8, (1 << 9) - 1] {
            let panic: &str = panic_of(|| pool.install(|| run(Mine { depth: 9, at })));
            assert_eq!(panic, "the mine", "{at}");
        }
        assert_eq!(pool.install(|| run(Fib(10))), 55);
    });
}

#[test]
fn whoever_is_idle_gets_work_from_an_elided_recursion() {
    /// A leaf tells which thread ran it.
    struct Leaves<'a>(u32, &'a Mutex<Vec<thread::ThreadId>>);

    impl Task for Leaves<'_> {
        type Output = ();

        fn run(self, forks: impl Forks) {
            let Self(depth, ran) = self;
            if depth == 0 {
                thread::sleep(Duration::from_micros(200));
                return ran.lock().unwrap().push(thread::current().id());
            }
            forks.join(Self(depth - 1, ran), Self(depth - 1, ran));
        }
    }

    on_each_scheduler(MACHINES[0], 2, |pool| {
        let of_first = || {
            let ran = Mutex::default();
            pool.install(|| run(Leaves(8, &ran)));
            let ran = ran.into_inner().unwrap();
            assert_eq!(ran.len(), 256);
            ran.iter().filter(|id| **id == ran[0]).count()
        };
        // On a busy machine the idle worker's thread may not run for as long as all leaves take.
        let mut each = vec![of_first()];
        while !each.last().is_some_and(|first| (64..=192).contains(first)) {
            let scheduler = pool.scheduler();
            assert!(each.len() < 20, "{scheduler}: of 256 leaves one thread ran {each:?}");
            each.push(of_first());
        }
    });
}
