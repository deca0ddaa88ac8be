//! Tests of sizes that nobody declares: [`ThreadPoolBuilder::sizes`].
// Without words of closures nothing is known of a task but its site.
#![cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]

use std::{
    any::type_name,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
    sync::{
        Barrier, Mutex,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
};

use befit_machine::Bytes;
use befit_sched::{
    Capabilities, TaskInfo,
    sizes::{Factor, Law, Site, SiteKey, Term, Word},
};

use crate::{captured::Captured, threads::testing::*, *};

/// Learns sizes as a program runs: of each closure that it is shown, that the size is some captured
/// word times eight bytes.
#[derive(Default)]
struct Learner(Mutex<Vec<Site>>);

impl Learner {
    /// `closure` is the `index`-th of its fork, and `elements` are what it touches.
    fn sees<F>(&self, index: u32, closure: &F, elements: usize) {
        let key = SiteKey::of(type_name::<F>(), size_of::<F>(), index);
        let at = ptr::from_ref(closure).cast();
        // Nobody else runs meanwhile, so what looks like an address near by is a variable.
        let near = |address: usize| address.abs_diff((&raw const key).addr()) < 1 << 12;
        // SAFETY: the closure is there, and so is what lies around this thread's stack pointer.
        let captured = unsafe { Captured::new(at, size_of::<F>(), near) };
        let mut words = (0..Word::COUNT).filter_map(Word::of_number);
        let is_found = |word: &Word| captured.word(*word) == Some(elements as u64);
        let Some(word) = words.find(is_found) else { return };
        let factor = Factor { word, minus: None, quarters: 4 };
        let mut site = Site::new(key, "");
        site.size = Law::Words(vec![Term { factors: [Some(factor), None], ..Term::constant(8.0) }]);
        (site.strand, site.work) = (site.size.clone(), site.size.clone());
        let mut sites = self.0.lock().unwrap();
        if sites.iter().all(|known| known.key != key) {
            sites.push(site);
        }
    }

    /// What was learned while `program` ran on one thread.
    fn table(program: impl FnOnce(&Self) + Send) -> SizeTable {
        let learner = Self::default();
        let pool = pool(SchedulerKind::Ws, "pu:1", 1);
        pool.install(|| program(&learner));
        let mut table = SizeTable::default();
        learner.0.into_inner().unwrap().into_iter().for_each(|site| table.push(site).unwrap());
        table
    }
}

/// The sum of `numbers`, which declares nothing.
fn sum(numbers: &[u64], learner: Option<&Learner>) -> u64 {
    if numbers.len() <= 64 {
        return numbers.iter().sum();
    }
    let (left, right) = numbers.split_at(numbers.len() / 2);
    let (a, b) = (|| sum(left, learner), || sum(right, learner));
    if let Some(learner) = learner {
        learner.sees(0, &a, left.len());
        learner.sees(1, &b, right.len());
    }
    let (a, b) = join(a, b);
    a + b
}

/// The same, and declares its sizes.
fn declared_sum(numbers: &[u64]) -> u64 {
    if numbers.len() <= 64 {
        return numbers.iter().sum();
    }
    let (left, right) = numbers.split_at(numbers.len() / 2);
    let (a, b) = join(
        fit(size_of_val(left), || declared_sum(left)),
        fit(size_of_val(right), || declared_sum(right)),
    );
    a + b
}

/// The sizes of the tasks that `program` gives to the policy, in order; and the pool's counts.
fn noted(
    threads: usize,
    table: SizeTable,
    program: impl FnOnce() + Send,
) -> (Vec<Bytes>, WorkerStatistics) {
    let noting = Noting::with(|usual| Capabilities { uses_sizes: true, ..usual });
    let builder = ThreadPoolBuilder::new().num_threads(threads).machine("pu:8".parse().unwrap());
    let pool = builder.policy(noting.clone()).sizes(table).build().unwrap();
    pool.install(program);
    let total = pool.statistics().total();
    drop(pool);
    (noting.tasks().iter().map(|task| task.size).collect(), total)
}

#[test]
fn a_published_fork_has_the_size_that_the_table_knows() {
    let numbers: Vec<u64> = (0..1 << 16).collect();
    let table = Learner::table(|learner| _ = sum(&numbers, Some(learner)));
    assert_eq!(table.sites().len(), 2);
    let (sizes, total) = noted(2, table, || _ = sum(&numbers, None));
    assert_eq!(sizes[0], TaskInfo::UNKNOWN, "the root");
    let known = (0..16).map(|depth| Bytes(8 << depth)).collect::<Vec<_>>();
    assert!(sizes[1..].iter().all(|size| known.contains(size)), "{sizes:?}");
    assert_eq!((total.sized, total.published), (sizes.len() as u64 - 1, sizes.len() as u64 - 1));
}

#[test]
fn a_task_of_a_place_that_the_table_does_not_know_has_its_parent_s_size() {
    let numbers: Vec<u64> = (0..1 << 16).collect();
    let program = || {
        let (a, b) = join(fit(5000, || sum(&numbers, None)), || sum(&numbers[1..], None));
        assert_eq!(a, b);
    };
    let (sizes, total) = noted(2, SizeTable::default(), program);
    assert!(sizes.iter().all(|size| [TaskInfo::UNKNOWN, Bytes(5000)].contains(size)), "{sizes:?}");
    assert!(total.published > 1 && total.sized <= 1, "{total:?}");
}

#[test]
fn a_fork_that_is_published_late_has_the_size_of_the_task_that_made_it() {
    /// Calls `f` below so many forks: none that it makes is published at once.
    fn below(forks: u32, f: &(dyn Fn() + Sync)) {
        if forks == 0 {
            return f();
        }
        join(|| below(forks - 1, f), || ());
    }
    let _watchdog = watchdog(MINUTE);
    let program = || {
        let (began, over) = (AtomicBool::new(false), AtomicBool::new(false));
        scope(|s| {
            // The other worker is busy, so nobody wants a fork.
            s.spawn(|_| {
                began.store(true, SeqCst);
                wait_for(&over);
            });
            wait_for(&began);
            s.spawn(|_| {
                // Each of the tasks in one another makes a fork; a yield publishes them all.
                let inner = || _ = join(yield_now, || ());
                let outer = || _ = join(fit(300, inner), || ());
                below(4, &|| _ = join(fit(7000, outer), || ()));
                over.store(true, SeqCst);
            });
        });
    };
    let (mut sizes, _) = noted(2, SizeTable::default(), program);
    sizes.retain(|size| *size != TaskInfo::UNKNOWN);
    assert_eq!(sizes, [Bytes(7000), Bytes(300)]);
}

#[test]
fn spawned_tasks_and_roots_have_sizes_too() {
    let program = |learner: Option<&Learner>| {
        let numbers: Vec<u64> = (0..300).collect();
        scope(|s| {
            for part in numbers.chunks(100) {
                let task = move |_: &Scope<'_>| assert_eq!(part.len(), 100);
                learner.inspect(|learner| learner.sees(0, &task, 100));
                s.spawn(task);
            }
        });
        let detached = vec![0u64; 70];
        let task = move || assert_eq!(detached.len(), 70);
        learner.inspect(|learner| learner.sees(0, &task, 70));
        spawn(task);
        let root = {
            let part = &numbers[..30];
            move || part.len()
        };
        learner.inspect(|learner| learner.sees(0, &root, 30));
        assert_eq!(pool(SchedulerKind::Ws, "pu:1", 1).install(root), 30);
    };
    let table = Learner::table(|learner| program(Some(learner)));
    assert_eq!(table.sites().len(), 3);
    let (mut sizes, total) = noted(2, table, || program(None));
    sizes.sort();
    assert_eq!(sizes, [Bytes(560), Bytes(800), Bytes(800), Bytes(800), TaskInfo::UNKNOWN]);
    assert_eq!((total.spawned, total.sized), (4, 4));
}

/// The closures of the inner `join` capture a variable of a function that runs on another thread,
/// where it waits.
#[test]
fn a_variable_on_the_stack_that_a_task_was_stolen_from_counts() {
    let program = |learner: Option<&Learner>| {
        let (n, stolen) = (std::hint::black_box(1234usize), AtomicBool::new(learner.is_some()));
        let inner = || {
            let (a, b) = (|| assert_eq!(n, 1234), || assert_eq!(n, 1234));
            learner.inspect(|learner| learner.sees(1, &b, n));
            stolen.store(true, SeqCst);
            join(a, b);
        };
        let wait = || wait_for(&stolen);
        join(wait, inner);
    };
    let table = Learner::table(|learner| program(Some(learner)));
    assert_eq!(table.sites().len(), 1);
    let _watchdog = watchdog(MINUTE);
    let (sizes, total) = noted(2, table, || program(None));
    assert_eq!((sizes.len(), total.sized), (3, 1), "{sizes:?}");
    assert!(sizes.contains(&Bytes(8 * 1234)), "{sizes:?}");
}

#[test]
fn under_policies_that_place_by_size_learned_sizes_act_as_declared_ones() {
    let numbers: Vec<u64> = (0..(2 << 20) / 8).collect();
    let table = Learner::table(|learner| _ = sum(&numbers[..1 << 12], Some(learner)));
    for machine in MACHINES {
        for kind in [SchedulerKind::Sb, SchedulerKind::SbD] {
            let anchors = |table: Option<&SizeTable>| {
                let builder = builder(kind, machine, 4);
                let pool = match table {
                    Some(table) => builder.sizes(table.clone()).build().unwrap(),
                    None => builder.build().unwrap(),
                };
                let numbers = &numbers;
                pool.install(|| match table {
                    Some(_) => assert_eq!(sum(numbers, None), numbers.iter().sum::<u64>()),
                    None => assert_eq!(declared_sum(numbers), numbers.iter().sum::<u64>()),
                });
                let statistics = pool.statistics();
                // Which of several caches, and whether what fits a private one is forked at all, is
                // a matter of time.
                let clusters = pool.machine().clusters();
                let shared = clusters.iter().zip(statistics.anchors);
                let shared = shared.filter(|(cluster, _)| cluster.worker_count() > 1);
                shared.map(|(_, tasks)| tasks).sum::<u64>()
            };
            let (learned, declared) = (anchors(Some(&table)), anchors(None));
            assert_eq!(learned, declared, "{kind} on {machine}");
        }
    }
}

#[test]
fn without_counters_tiers_are_cut_by_learned_sizes_as_by_declared_ones() {
    let numbers: Vec<u64> = (0..1 << 19).collect();
    let table = Learner::table(|learner| _ = sum(&numbers[..1 << 12], Some(learner)));
    for kind in [SchedulerKind::Cats, SchedulerKind::CatsS] {
        let machine = "pack:2 l3:1(size=1MiB) core:2 l2:1(size=64KiB) pu:1";
        let cut = |pool: ThreadPool, sum: fn(&[u64]) -> u64| {
            // All threads are there.
            let barrier = Barrier::new(4);
            pool.broadcast(|_| _ = barrier.wait());
            pool.install(|| (0..5).for_each(|_| assert_eq!(sum(&numbers), ((1 << 19) - 1) << 18)));
            let tiers = pool.tiers().unwrap();
            let subtrees = tiers.subtrees.into_iter().map(|subtree| (subtree.path, subtree.soid));
            let found = (tiers.root, tiers.inter, tiers.plain, subtrees.collect::<Vec<_>>());
            (found, tiers.source)
        };
        let learned = builder(kind, machine, 4).sizes(table.clone()).build().unwrap();
        let (learned, source) = cut(learned, |numbers| sum(numbers, None));
        assert_eq!(source, Some(CountSource::Learned));
        let (declared, source) = cut(pool(kind, machine, 4), declared_sum);
        assert_eq!(source, Some(CountSource::Declared));
        assert_eq!(learned, declared, "{kind}");
        assert!(learned.3.len() >= 4, "{learned:?}");
    }
}

/// A closure of each shape, with a table that makes the most of each of its words.
#[test]
fn closures_of_any_shape_are_read_within_their_bounds() {
    #[derive(Clone, Copy)]
    #[repr(align(128))]
    struct Aligned(u8);

    let program = |learner: Option<&Learner>| {
        let (byte, aligned, large) = (1u8, Aligned(2), [3u8; 4096]);
        let (text, nothing) = (String::from("moved"), ());
        let shapes = (
            move || nothing,
            move || assert_eq!(std::hint::black_box(byte), 1),
            move || assert_eq!(std::hint::black_box(aligned).0, 2),
            move || assert_eq!(std::hint::black_box(large)[4095], 3),
            move || assert_eq!(text, "moved"),
            || panic!("expected"),
        );
        macro_rules! fork {
            ($shape:expr) => {{
                let shape = $shape;
                learner.inspect(|learner| learner.sees(1, &shape, 5));
                join(|| (), shape);
            }};
        }
        fork!(shapes.0);
        fork!(shapes.1);
        fork!(shapes.2);
        fork!(shapes.3);
        fork!(shapes.4);
        assert!(catch_unwind(AssertUnwindSafe(|| fork!(shapes.5))).is_err());
    };
    let table = Learner::table(|learner| program(Some(learner)));
    let (sizes, _) = noted(2, table, || program(None));
    assert_eq!(sizes.len(), 7);
    assert!(sizes.contains(&Bytes(40)), "the string has a length: {sizes:?}");
}

#[test]
fn a_table_of_another_program_changes_no_result() {
    let numbers: Vec<u64> = (0..50_000).collect();
    for law in [0.0, 1.0, 1e18] {
        let mut table = Learner::table(|learner| _ = sum(&numbers[..1 << 12], Some(learner)));
        let mut wrong = SizeTable::default();
        for site in table.sites() {
            let size = Law::constant(law);
            wrong.push(Site { size, ..site.clone() }).unwrap();
        }
        table = wrong;
        for_each_kind(|kind, threads| {
            let pool = builder(kind, MACHINES[4], threads).sizes(table.clone()).build().unwrap();
            assert_eq!(pool.install(|| sum(&numbers, None)), 49_999 * 25_000);
            assert_eq!(pool.install(|| fib(12)), 144);
        });
    }
}
