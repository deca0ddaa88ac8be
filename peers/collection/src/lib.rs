//! What the collection's programs share: the runtime, the clock and the output.

use std::{
    env, fs,
    process::exit,
    time::{Duration, Instant},
};

#[cfg(feature = "befit")]
mod tasks;
#[cfg(feature = "befit")]
pub use tasks::{fib, sum};

#[cfg(all(feature = "chili", not(feature = "befit")))]
mod on_chili;
#[cfg(all(feature = "chili", not(feature = "befit")))]
pub use on_chili::{Context, Pool, join};

#[cfg(any(feature = "befit", all(feature = "rayon", not(feature = "chili"))))]
mod on_a_pool;
#[cfg(any(feature = "befit", all(feature = "rayon", not(feature = "chili"))))]
pub use on_a_pool::{Context, Pool, join};

/// The sum of `term(i)` for all `i` from `low` up to, not including, `high`; there is at least one.
#[cfg(not(feature = "befit"))]
pub fn sum<F>(cx: &mut Context<'_>, low: usize, high: usize, term: &F) -> u64
where
    F: Fn(&mut Context<'_>, usize) -> u64 + Sync,
{
    if high - low == 1 {
        return term(cx, low);
    }
    let middle = low + (high - low) / 2;
    let (a, b) = join(cx, |cx| sum(cx, low, middle, term), |cx| sum(cx, middle, high, term));
    a + b
}

/// A Fibonacci number by its definition, with a fork for each call.
#[cfg(not(feature = "befit"))]
pub fn fib(cx: &mut Context<'_>, n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = join(cx, |cx| fib(cx, n - 1), |cx| fib(cx, n - 2));
    a + b
}

/// The arguments of a program, all of them numbers; exits if there are fewer than `least`.
#[must_use]
pub fn arguments(least: usize, usage: &str) -> Vec<usize> {
    let numbers: Result<Vec<usize>, _> = env::args().skip(1).map(|word| word.parse()).collect();
    match numbers {
        Ok(numbers) if numbers.len() >= least => numbers,
        _ => {
            eprintln!("usage: {usage}");
            exit(2);
        }
    }
}

/// Builds a pool, runs `warm_up`, times `work`, and prints what the collection reads.
pub fn run<T>(
    threads: Option<usize>,
    label: &str,
    warm_up: impl FnOnce(&Pool),
    work: impl FnOnce(&Pool) -> T,
    check: impl FnOnce(&T) -> bool,
) {
    let all = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.unwrap_or_else(all);
    let pool = Pool::new(threads);
    warm_up(&pool);
    let start = Instant::now();
    let result = work(&pool);
    let time = start.elapsed();
    if !check(&result) {
        eprintln!("wrong result");
        exit(1);
    }
    print(threads, label, time);
}

fn print(threads: usize, label: &str, time: Duration) {
    println!("threads: {threads}\nruns:\n  - {label}\n    duration: {} us", time.as_micros());
    if let Some(most) = largest_resident() {
        println!("    max_rss: {most} KiB");
    }
}

/// The most memory that the process has had, in KiB, if the system says.
fn largest_resident() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}
