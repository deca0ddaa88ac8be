//! The time that threads wait between two pieces of work, while there is work. A worker without any
//! gets some when another publishes a fork, at a fork or at the end of a first half. So the wait
//! depends on the length of the leaves.
//!
//! ```text
//! cargo run -p befit --release --example delay -- [THREADS] [SECONDS PER ROW]
//! ```
//! A row for each length of leaves, of a balanced tree and of a chain (each fork's first half forks
//! on, its second is a leaf). A gap is the time between two leaves on one thread. Pools with more
//! threads than the machine has CPUs show the system's scheduler, not befit's.

use std::{
    hint::spin_loop,
    sync::Mutex,
    time::{Duration, Instant},
};

use befit::{ThreadPool, ThreadPoolBuilder, current_thread_index, join};

/// Begin and end of the leaves of each thread.
type Leaves = Vec<Mutex<Vec<(Instant, Instant)>>>;

fn leaf(length: Duration, leaves: &Leaves) {
    let begin = Instant::now();
    while begin.elapsed() < length {
        spin_loop();
    }
    let thread = current_thread_index().expect("leaves run in the pool");
    leaves[thread].lock().unwrap().push((begin, Instant::now()));
}

fn tree(count: usize, length: Duration, leaves: &Leaves) {
    if count == 1 {
        return leaf(length, leaves);
    }
    join(|| tree(count / 2, length, leaves), || tree(count - count / 2, length, leaves));
}

fn chain(count: usize, length: Duration, leaves: &Leaves) {
    if count == 1 {
        return leaf(length, leaves);
    }
    join(|| chain(count - 1, length, leaves), || leaf(length, leaves));
}

/// The gaps between leaves in microseconds.
fn gaps(leaves: Leaves) -> Vec<f64> {
    let mut gaps = Vec::new();
    for leaves in leaves {
        let leaves = leaves.into_inner().unwrap();
        gaps.extend(leaves.windows(2).map(|pair| (pair[1].0 - pair[0].1).as_secs_f64() * 1e6));
    }
    gaps
}

type Program = (&'static str, fn(usize, Duration, &Leaves));

fn row(pool: &ThreadPool, (name, program): Program, length: Duration, seconds: f64) {
    let count = (seconds * pool.current_num_threads() as f64 / length.as_secs_f64())
        .clamp(1.0, 2000.0) as usize;
    let mut all = Vec::new();
    let start = Instant::now();
    while start.elapsed().as_secs_f64() < seconds {
        let leaves: Leaves = (0..pool.current_num_threads()).map(|_| Mutex::default()).collect();
        pool.install(|| program(count, length, &leaves));
        all.extend(gaps(leaves));
    }
    all.sort_by(f64::total_cmp);
    let at = |share: f64| {
        all.get(((all.len() as f64 * share) as usize).min(all.len().saturating_sub(1)))
            .copied()
            .unwrap_or(0.0)
    };
    println!(
        "{name:<6}{:>9.0}{:>9}{:>10.2}{:>10.2}{:>10.1}{:>10.1}{:>10.0}",
        length.as_secs_f64() * 1e6,
        all.len(),
        at(0.5),
        at(0.9),
        at(0.99),
        at(0.999),
        at(1.0)
    );
}

fn main() {
    let mut args =
        std::env::args().skip(1).map(|a| a.parse::<f64>().expect("arguments are numbers"));
    let threads = args.next().unwrap_or(0.0) as usize;
    let seconds = args.next().unwrap_or(1.0);
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
    println!("gaps between leaves in microseconds, {} thread(s)", pool.current_num_threads());
    println!(
        "{:<6}{:>9}{:>9}{:>10}{:>10}{:>10}{:>10}{:>10}",
        "shape", "leaf, us", "gaps", "median", "90 %", "99 %", "99.9 %", "longest"
    );
    let programs: [Program; 2] = [("tree", tree), ("chain", chain)];
    for program in programs {
        for length in [1, 10, 100, 1000, 10_000] {
            row(&pool, program, Duration::from_micros(length), seconds);
        }
    }
}
