//! Sizes that a table knows place tasks on threads where the simulator places them.
// Threads read captured words on these processors only.
#![cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]

use std::{
    any::type_name,
    sync::{
        Barrier, LazyLock, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use befit::{SchedulerKind, ThreadPool, ThreadPoolBuilder};
use befit_machine::{Bytes, Machine};
use befit_program::{Declared, Meta, Program, ProgramBuilder, ScopeId};
use befit_sched::{
    CountSource,
    sizes::{Factor, Law, Site, SiteKey, SizeTable, Term, Word},
};
use befit_sim::{Outcome, Settings};

/// No longer parts are divided.
const LEAF: usize = 512;
/// Numbers in all: 2 MiB.
const NUMBERS: usize = 1 << 18;
/// How often the same is computed, for policies that learn from the first time.
const ROUNDS: usize = 4;

/// The places where [`sum`] forks, while [`ASKED`].
static PLACES: Mutex<Vec<SiteKey>> = Mutex::new(Vec::new());
static ASKED: AtomicBool = AtomicBool::new(false);

fn tell<F>(_: &F, index: u32) {
    if ASKED.load(Relaxed) {
        PLACES.lock().unwrap().push(SiteKey::of(type_name::<F>(), size_of::<F>(), index));
    }
}

/// The sum of `numbers`. It declares nothing; the closures capture their part: an address and a
/// length.
fn sum(numbers: &[u64]) -> u64 {
    if numbers.len() <= LEAF {
        return numbers.iter().sum();
    }
    let (left, right) = numbers.split_at(numbers.len() / 2);
    let (a, b) = (|| sum(left), || sum(right));
    tell(&a, 0);
    tell(&b, 1);
    let (a, b) = befit::join(a, b);
    a + b
}

/// Eight bytes for each number of a part.
static TABLE: LazyLock<SizeTable> = LazyLock::new(|| {
    ASKED.store(true, Relaxed);
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| sum(&vec![1; 2 * LEAF]));
    ASKED.store(false, Relaxed);
    let mut table = SizeTable::default();
    let length = Factor { word: Word::own(1).unwrap(), minus: None, quarters: 4 };
    let bytes = Law::Words(vec![Term { factors: [Some(length), None], ..Term::constant(8.0) }]);
    for key in std::mem::take(&mut *PLACES.lock().unwrap()) {
        let (size, strand, work) = (bytes.clone(), bytes.clone(), bytes.clone());
        table.push(Site { size, strand, work, ..Site::new(key, "sum") }).unwrap();
    }
    assert_eq!(table.sites().len(), 2);
    table
});

/// What [`sum`] does [`ROUNDS`] times, with `sizes` or without.
fn program(sizes: bool) -> Program {
    fn grow(b: &mut ProgramBuilder, scopes: &mut u32, from: usize, numbers: usize, sizes: bool) {
        let lines = (from / 8..(from + numbers) / 8).map(|line| line as u64);
        if numbers <= LEAF {
            lines.for_each(|line| b.touch(line, false, false));
            return b.work(numbers as u64, 0, numbers as u64);
        }
        *scopes += 1;
        let (scope, half) = (ScopeId(*scopes), numbers / 2);
        for from in [from, from + half] {
            let size = sizes.then_some(Bytes(8 * half as u64));
            b.fork(scope, Declared { size, strand: None }).unwrap();
            grow(b, scopes, from, half, sizes);
            b.end().unwrap();
        }
        b.sync(scope).unwrap();
    }
    let meta = Meta { name: "sum".into(), line_size: Bytes(64), filter: 8 };
    let mut builder = ProgramBuilder::new(meta);
    let mut scopes = 0;
    (0..ROUNDS).for_each(|_| grow(&mut builder, &mut scopes, 0, NUMBERS, sizes));
    builder.finish().unwrap()
}

fn on_threads(kind: SchedulerKind, machine: &Machine) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().scheduler(kind).machine(machine.clone());
    let pool = builder.num_threads(machine.workers().len()).sizes(TABLE.clone()).build().unwrap();
    // All threads are there.
    let barrier = Barrier::new(machine.workers().len());
    pool.broadcast(|_| _ = barrier.wait());
    let numbers: Vec<u64> = (0..NUMBERS as u64).collect();
    let right = (NUMBERS as u64 - 1) * (NUMBERS as u64 / 2);
    pool.install(|| (0..ROUNDS).for_each(|_| assert_eq!(sum(&numbers), right)));
    pool
}

fn simulated(kind: SchedulerKind, machine: &Machine, sizes: bool) -> Outcome {
    befit_sim::run(&program(sizes), machine, &Settings::new(kind, 1), &|_| {}).unwrap()
}

/// Tasks anchored at each level of caches that several workers share. Which of its caches is a
/// matter of time.
fn anchored(machine: &Machine, anchors: &[u64]) -> Vec<u64> {
    let mut levels = vec![0; 10];
    for (cluster, tasks) in machine.clusters().iter().zip(anchors) {
        if let Some(cache) = cluster.cache.as_ref().filter(|_| cluster.worker_count() > 1) {
            levels[usize::from(cache.level.0)] += tasks;
        }
    }
    levels
}

#[test]
fn tasks_are_anchored_at_the_levels_that_the_simulator_foretells() {
    for machine in [
        "pack:2 l3:1(size=1MiB) core:2 l2:1(size=64KiB) pu:1",
        "pack:2 l3:2(size=512KiB) l2:2(size=64KiB) core:2 l1:1(size=8KiB) pu:1",
    ] {
        let machine: Machine = machine.parse().unwrap();
        for kind in [SchedulerKind::Sb, SchedulerKind::SbD] {
            let pool = on_threads(kind, &machine);
            let found = anchored(&machine, &pool.statistics().anchors);
            let foretold = anchored(&machine, &simulated(kind, &machine, true).anchors);
            assert_eq!(found, foretold, "{kind} on {}", machine.name);
            assert!(found.iter().sum::<u64>() >= 4 * ROUNDS as u64, "{found:?}");
        }
    }
}

/// In the simulator the caches are counted, and the sizes of tasks that fit none come out a little
/// larger. These lie well between the shared cache and its halves.
#[test]
fn the_tree_is_cut_in_tiers_where_the_simulator_cuts_it() {
    let machine: Machine = "pack:2 l3:1(size=768KiB) core:2 l2:1(size=32KiB) pu:1".parse().unwrap();
    for kind in [SchedulerKind::Cats, SchedulerKind::CatsS] {
        let (found, foretold) =
            (on_threads(kind, &machine).tiers(), simulated(kind, &machine, false).tiers);
        let (found, foretold) = (found.unwrap(), foretold.unwrap());
        assert_eq!(found.source, Some(CountSource::Learned));
        // Threads have a root for all rounds; the recording's is its whole program.
        let cut = |tiers: &befit::Tiers| (tiers.inter, tiers.subtrees.len());
        assert_eq!(cut(&found), cut(&foretold), "{kind}: {found:?}\n{foretold:?}");
        assert!(found.subtrees.len() >= 4);
    }
}
