//! On real threads, under schedulers with two tiers: results are right, and the tiers are those
//! that the sizes call for.

mod software;

use befit::{CountSource, SchedulerKind, ThreadPool, ThreadPoolBuilder};
use befit_counters::Software;
use befit_kernels::{Input, Kernel, Variant};

/// Two sockets of two cores, with caches so small that small inputs do not fit.
const MACHINE: &str = "pack:2 l3:1(size=262144) core:2 l2:1(size=16384) pu:1";

/// A pool whose threads have all begun: tiers are for sockets that have threads.
fn pool(scheduler: SchedulerKind) -> ThreadPool {
    let machine = MACHINE.parse().expect("a valid topology");
    let pool = ThreadPoolBuilder::new()
        .machine(machine)
        .num_threads(4)
        .scheduler(scheduler)
        .build()
        .expect("four threads");
    pool.broadcast(|_| ());
    pool
}

fn run(pool: &ThreadPool, kernel: &str, n: usize) {
    let input = Input { n, seed: 1, ..Input::default() };
    let variant = Variant::find(kernel).expect("a kernel with its settings");
    assert_eq!(
        befit_kernels::run(&variant, pool, input),
        Ok(()),
        "{kernel} under {}",
        pool.scheduler()
    );
}

#[test]
fn every_kernel_of_cats_is_right_under_every_scheduler_with_tiers() {
    use SchedulerKind::{Cab, Cats, CatsS, CilkA, Hws, Mts};
    for scheduler in [CilkA, Cats, CatsS, Cab, Hws, Mts] {
        let pool = pool(scheduler);
        for (kernel, n) in [
            ("heat:iterations=6", 64),
            ("heat-ub:iterations=6", 64),
            ("sor:iterations=6", 128),
            ("sor-ub:iterations=6", 128),
            ("ge", 80),
            ("ge-ub", 80),
            ("mandelbrot", 100),
            ("queens", 9),
            ("fft", 1 << 10),
            ("ga", 3),
            ("knapsack", 18),
        ] {
            run(&pool, kernel, n);
        }
    }
}

#[test]
fn declared_sizes_cut_heat_as_the_sizes_call_for() {
    // 256 rows of two matrices of 512 doubles are 2 MiB: halves of 1 MiB, quarters of 512 KiB, and
    // eighths that fit 256 KiB.
    let pool = pool(SchedulerKind::Cats);
    run(&pool, "heat:iterations=8", 256);
    let tiers = pool.tiers().expect("cats has tiers");
    assert_eq!((tiers.partitions, tiers.plain), (1, None), "{tiers:?}");
    assert_eq!(tiers.root.0, 2 << 20);
    assert_eq!(tiers.subtrees.len(), 8);
    assert!(tiers.subtrees.iter().all(|subtree| subtree.soid.0 == 256 << 10));
    assert_eq!(tiers.inter, 7);
    assert!(tiers.ran >= 8 * 6, "{tiers:?}");
}

#[test]
fn the_kernel_s_counters_of_each_thread_can_be_measured_by() {
    let builder =
        ThreadPoolBuilder::new().machine(MACHINE.parse().expect("a valid topology")).num_threads(4);
    let pool = builder
        .scheduler(SchedulerKind::Cats)
        .count_with(|_| software::counts())
        .build()
        .expect("four threads");
    run(&pool, "heat:iterations=8", 256);
    // Where not even these may be counted, declared sizes stand in.
    let expected =
        if Software::open().is_ok() { CountSource::Given } else { CountSource::Declared };
    assert_eq!(pool.tiers().expect("cats has tiers").source, Some(expected));
}

#[test]
fn a_program_that_calls_from_a_loop_is_recognised() {
    let pool = pool(SchedulerKind::CatsS);
    for _ in 0..3 {
        run(&pool, "heat:iterations=1", 256);
    }
    let tiers = pool.tiers().expect("cats-s has tiers");
    assert!(tiers.partitions >= 1 && tiers.ran > 0, "{tiers:?}");
}

#[test]
fn without_sizes_there_are_no_tiers() {
    let pool = pool(SchedulerKind::Cats);
    run(&pool, "mandelbrot", 64);
    run(&pool, "mandelbrot", 64);
    let tiers = pool.tiers().expect("cats has tiers");
    assert_eq!(
        (tiers.partitions, tiers.plain),
        (0, Some("neither counters nor sizes")),
        "{tiers:?}"
    );
    assert!(Kernel::find("mandelbrot").is_ok());
}
