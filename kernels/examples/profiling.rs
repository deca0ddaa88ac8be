//! The cost of the measurements of `cats`: one pass of heat, measured, beside one that is not.
//!
//! ```text
//! cargo run --release -p befit-kernels --example profiling -- [ROWS] [THREADS] [REPEATS]
//! ```
//! The ways to count take turns, in an order that changes from round to round, each time with a new
//! pool, which knows nothing of the program; the first pass in it is timed. The first round is left
//! out. The output has medians, quartiles, and ratios to plain stealing. The machine is that of
//! Chen et al. (2012), so that there are tiers to measure for.

mod order;
#[path = "../tests/software/mod.rs"]
mod software;

use std::{error::Error, time::Instant};

use befit::{SchedulerKind, ThreadPoolBuilder, WorkerCounts};
use befit_kernels::rows::heat::jacobi;
use rustix::time::{ClockId, clock_gettime};

const COLUMNS: usize = 512;

/// The counter of the strands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// None, and the scheduler does not measure.
    Plain,
    /// None: sizes are those that the program declares.
    Declared,
    /// A clock, which takes about as long to read as the processor's counters do.
    StandIn,
    /// The kernel, which is asked by a system call: what hardware counters cost where user space
    /// may not read them.
    Software,
}

const WAYS: [(Way, &str); 4] = [
    (Way::Plain, "cilk-a, nothing measured"),
    (Way::Declared, "cats, declared sizes"),
    (Way::StandIn, "cats, stand-in"),
    (Way::Software, "cats, software events"),
];

fn main() -> Result<(), Box<dyn Error>> {
    let numbers: Result<Vec<usize>, _> = std::env::args().skip(1).map(|a| a.parse()).collect();
    let numbers = numbers?;
    let number = |i: usize, default| numbers.get(i).copied().unwrap_or(default);
    let (rows, threads, repeats) = (number(0, 4096), number(1, 2), number(2, 51));
    let from: Vec<f64> = (0..rows * COLUMNS).map(|i| i as f64).collect();
    let mut to = from.clone();
    let mut times = WAYS.map(|_| Vec::with_capacity(repeats));
    for repeat in 0..=repeats {
        for at in order::of_round(WAYS.len(), repeat) {
            let time = pass(WAYS[at].0, threads, &from, &mut to)?;
            // The first time the matrices come into the caches.
            if repeat > 0 {
                times[at].push(time);
            }
        }
    }
    println!(
        "one pass of heat, {rows} x {COLUMNS} doubles, {threads} threads, {repeats} repeats; \
         quartiles"
    );
    for (which, what) in ["time", "time on processors"].into_iter().enumerate() {
        println!(
            "{what:<26} {:>22}   {:>26}   {:>26}",
            "microseconds", "against plain stealing", "against declared sizes"
        );
        for (of, (_, name)) in times.iter().zip(WAYS) {
            let [q1, q2, q3] = quartiles(of.iter().map(|time| 1e6 * time[which]));
            print!("{name:<26} {q1:>6.0} {q2:>7.0} {q3:>7.0} ");
            for base in [&times[0], &times[1]] {
                let [q1, q2, q3] =
                    quartiles(of.iter().zip(base).map(|(time, base)| time[which] / base[which]));
                print!("  {q1:>8.3} {q2:>8.3} {q3:>8.3} ");
            }
            println!();
        }
    }
    Ok(())
}

/// The seconds that the first pass takes in a new pool.
fn pass(
    way: Way,
    threads: usize,
    from: &[f64],
    to: &mut [f64],
) -> Result<[f64; 2], Box<dyn Error>> {
    let builder = ThreadPoolBuilder::new()
        .num_threads(threads)
        .machine(befit::Machine::find("opteron-8380")?);
    let builder = builder.scheduler(if way == Way::Plain {
        SchedulerKind::CilkA
    } else {
        SchedulerKind::Cats
    });
    let builder = match way {
        Way::Plain | Way::Declared => builder,
        Way::StandIn => builder.count_with(|_| {
            let start = Instant::now();
            // Any number will do, as reading is what takes time.
            move || {
                Some(WorkerCounts {
                    private_misses: start.elapsed().as_nanos() as u64 / 10,
                    ..WorkerCounts::default()
                })
            }
        }),
        Way::Software => builder.count_with(|_| software::counts()),
    };
    let pool = builder.build()?;
    // Its threads have started, and are awake.
    pool.broadcast(|_| ());
    let start = Instant::now();
    let cpu = clock_gettime(ClockId::ProcessCPUTime);
    pool.install(|| jacobi(from, to));
    let cpu = clock_gettime(ClockId::ProcessCPUTime) - cpu;
    Ok([start.elapsed().as_secs_f64(), cpu.tv_sec as f64 + 1e-9 * cpu.tv_nsec as f64])
}

fn quartiles(values: impl Iterator<Item = f64>) -> [f64; 3] {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| values[quarter * (values.len() - 1) / 4])
}
