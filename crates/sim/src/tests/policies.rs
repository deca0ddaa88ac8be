//! What policies make of a program: claims of caches under `sb`, two tiers under `cats`.

use std::{sync::Mutex, time::Duration};

use befit_machine::{Bytes, ClusterId, Machine, WorkerId};
use befit_program::{Program, ScopeId};
use befit_sched::{
    Ask, Capabilities, Counting, Env, Handle, Options, Policy, Ready, Scheduler, SchedulerKind,
};

use super::{TWO_SOCKETS, machine, program, reader, task};
use crate::{Outcome, Settings, run};

/// Eight tasks of 4,000 lines, four of 500 in each, that all declare `size` bytes.
fn declaring(size: u64) -> Program {
    program(|b| {
        for whole in 0..8 {
            task(b, 1, Some(Bytes(size)), |b| {
                for part in 0..4 {
                    let first = u64::from(whole) * 4000 + part * 500;
                    task(b, 2 + whole, Some(Bytes(size / 4)), |b| {
                        (0..500).for_each(|line| b.touch(first + line, line % 2 == 0, false));
                        b.work(5000, 0, 0);
                    });
                }
                b.sync(ScopeId(2 + whole)).unwrap();
            });
        }
        b.sync(ScopeId(1)).unwrap();
    })
}

fn claiming(size: u64, scheduler: SchedulerKind, counting: Counting) -> Outcome {
    let options = Options { counting, ..Options::default() };
    let settings = Settings { options, ..Settings::new(scheduler, 1) };
    run(&declaring(size), &machine(TWO_SOCKETS), &settings, &|_| {}).expect("it runs")
}

#[test]
fn a_wrong_size_breaks_neither_the_run_nor_the_bounded_property() {
    let machine = machine(TWO_SOCKETS);
    for scheduler in [SchedulerKind::Sb, SchedulerKind::SbD] {
        for counting in [Counting::Capped, Counting::Full] {
            // Nothing, a line, far too little, right, just above what befits, far too much.
            for size in [0, 64, 5_000, 128_000, 524_289, u64::MAX / 2] {
                let outcome = claiming(size, scheduler, counting);
                assert_eq!(outcome.tasks, 1 + 8 + 8 * 4, "{scheduler}, {counting:?}, {size}");
                assert_eq!(outcome.occupancy.len(), machine.clusters().len());
                for (occupancy, cluster) in outcome.occupancy.iter().zip(machine.clusters()) {
                    assert!(occupancy.max <= cluster.size(), "{occupancy:?}");
                    assert!(occupancy.mean <= occupancy.max, "{occupancy:?}");
                }
            }
        }
    }
}

#[test]
fn occupancy_is_what_is_anchored_and_passes() {
    // Each of 128 KB befits an L3 and is anchored there; its parts of 32,000 bytes befit an L2.
    let outcome = claiming(128_000, SchedulerKind::Sb, Counting::Capped);
    let l3 = outcome.occupancy[1];
    assert!(l3.max >= Bytes(128_000) && l3.mean > Bytes(0), "{l3:?}");
    assert_eq!(outcome.occupancy[0].max, Bytes(0), "nothing is claimed of memory");
    assert!(claiming(128_000, SchedulerKind::Ws, Counting::Capped).occupancy.is_empty());
}

#[test]
fn strands_that_count_in_full_shut_out_what_strands_at_mu_leave_room_for() {
    // Strands of tasks that befit no cache claim an L2 each: in full all of it, capped a fifth.
    let largest = |counting| claiming(u64::MAX / 2, SchedulerKind::Sb, counting).occupancy[1].max;
    assert_eq!(largest(Counting::Full), Bytes(1 << 20));
    assert!(largest(Counting::Capped) < Bytes(1 << 20));
}

/// Two sockets of two cores, 128 KiB of shared cache each: 2,048 lines.
const SMALL_CACHES: &str = "pack:2 l3:1(size=131072) core:2 l2:1(size=8192) l1:1(size=4096) pu:1";

/// `rounds` times a tree of two halves, each of eight tasks that read 190 lines of their own: 3,040
/// lines in all.
fn rounds(rounds: u32) -> Program {
    program(|b| {
        for round in 0..rounds {
            // A scope is over with its sync.
            let whole = 3 * round + 1;
            for half in 0..2 {
                let scope = whole + 1 + half;
                task(b, whole, None, |b| {
                    (0..8).for_each(|i| reader(b, scope, u64::from(8 * half + i) * 190, 190, 4));
                    b.sync(ScopeId(scope)).unwrap();
                });
            }
            b.sync(ScopeId(whole)).unwrap();
        }
    })
}

#[test]
fn sticky_subtrees_find_their_data_in_their_sockets_cache() {
    let (program, machine) = (rounds(20), machine(SMALL_CACHES));
    let misses = |kind| {
        super::simulate(&program, &machine, kind, 1).levels.last().expect("a cache").misses.0
    };
    let (plain, sticky) = (misses(SchedulerKind::CilkA), misses(SchedulerKind::CatsS));
    assert!(sticky * 3 < plain, "{sticky} against {plain}");
}

#[test]
fn simulated_caches_measure_what_a_subtree_touches() {
    let outcome = super::simulate(&rounds(5), &machine(SMALL_CACHES), SchedulerKind::Cats, 1);
    let tiers = outcome.tiers.expect("two tiers");
    assert_eq!((tiers.partitions, tiers.subtrees.len()), (1, 2), "{tiers:?}");
    for subtree in &tiers.subtrees {
        let lines = subtree.soid.0 / 64;
        assert!((1_500..1_900).contains(&lines), "{lines} of 1,520 lines");
    }
}

#[test]
fn what_is_done_once_is_cut_by_none_and_ends_under_all() {
    for kind in SchedulerKind::ALL {
        let outcome = super::simulate(&rounds(1), &machine(SMALL_CACHES), kind, 1);
        assert!(outcome.tiers.is_none_or(|tiers| tiers.partitions == 0), "{kind}");
        assert_eq!(outcome.started_on.len(), 19, "{kind}");
    }
}

/// The places of workers on a row of them fit a task's mark, however many there are.
#[test]
fn tasks_are_dealt_to_all_packages_of_the_largest_machines() {
    // Twice a task for each of eight parts of the workers.
    let program = program(|b| {
        for scope in 1..=2 {
            (0..8).for_each(|part| reader(b, scope, 100 * part, 100, 4));
            b.sync(ScopeId(scope)).unwrap();
        }
    });
    let started_on = |packages: u32, kind| {
        let machine = machine(&format!("pack:{packages} l3:1(size=32MiB) core:128 pu:1"));
        super::simulate(&program, &machine, kind, 1).started_on
    };
    for packages in [32, 33] {
        let started = started_on(packages, SchedulerKind::Adws);
        let firsts: Vec<_> = (0..8).map(|part| part * packages * 16).collect();
        assert_eq!(started[9..], firsts, "the second round");
    }
    for packages in [33, 129] {
        assert_eq!(started_on(packages, SchedulerKind::Homes).len(), 17);
    }
}

/// Keeps each task but the root from all workers for so long.
#[derive(Clone, Copy, Debug)]
struct Late(Duration);

#[derive(Debug)]
struct Keeps<T> {
    jobs: Mutex<Vec<(Ready<T>, Duration)>>,
    late: Duration,
}

impl Policy for Late {
    fn build<T: Handle>(&self, _: &Machine, _: Options) -> Box<dyn Scheduler<T>> {
        Box::new(Keeps { jobs: Mutex::new(Vec::new()), late: self.0 })
    }
}

impl<T: Handle> Scheduler<T> for Keeps<T> {
    fn name(&self) -> &'static str {
        "late"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { may_refuse: true, ..Capabilities::default() }
    }

    fn add(&self, _: WorkerId, ready: Ready<T>, env: &mut dyn Env) -> ClusterId {
        let wait = if ready.task.depth == 0 { Duration::ZERO } else { self.late };
        let at = env.now().expect("the simulator has a clock") + wait;
        self.jobs.lock().unwrap().push((ready, at));
        ClusterId::ROOT
    }

    fn get(&self, _: WorkerId, _: Ask<'_, T>, env: &mut dyn Env) -> Option<Ready<T>> {
        let mut jobs = self.jobs.lock().unwrap();
        let at = jobs.iter().position(|(_, at)| Some(*at) <= env.now())?;
        Some(jobs.swap_remove(at).0)
    }

    fn due(&self, _: WorkerId, env: &mut dyn Env) -> Option<Duration> {
        let next = self.jobs.lock().unwrap().iter().map(|(_, at)| *at).min()?;
        Some(next.saturating_sub(env.now()?))
    }
}

#[test]
fn a_worker_asks_again_when_what_was_kept_from_it_is_due() {
    // One after another, so that nothing but the time wakes a worker.
    let chain = program(|b| {
        for child in 1..=10 {
            task(b, child, None, |b| b.work(1000, 0, 0));
            b.sync(ScopeId(child)).unwrap();
        }
    });
    let time = |micros| {
        let policy = Late(Duration::from_micros(micros));
        let settings = Settings { costs: super::costs::FREE, ..Settings::new(policy, 1) };
        let machine = machine("(mhz=1000) core:2 l1:1(size=4096) pu:1");
        run(&chain, &machine, &settings, &|_| {}).expect("it runs").time.0
    };
    let at_once = time(0);
    for micros in [1, 100, 10_000] {
        // A microsecond is 1,000 cycles.
        let waits = 10 * micros * 1000;
        let late = time(micros) - at_once;
        assert!(late >= waits && late <= waits + 10 * 10, "{late} {waits}");
    }
}

/// The other worker is in the middle of a long strand by then, which nothing interrupts.
#[test]
fn what_was_kept_from_a_worker_begins_when_it_is_due_whatever_others_do() {
    const LONG: u64 = 1_000_000;
    let program = program(|b| {
        for work in [1000, LONG] {
            task(b, 1, None, |b| b.work(work, 0, 0));
        }
        b.work(LONG, 0, 0);
        b.sync(ScopeId(1)).unwrap();
    });
    let policy = Late(Duration::from_micros(100));
    let settings = Settings { costs: super::costs::FREE, ..Settings::new(policy, 1) };
    let machine = machine("(mhz=1000) core:2 l1:1(size=4096) pu:1");
    let time = run(&program, &machine, &settings, &|_| {}).expect("it runs").time.0;
    // The second of the spawned tasks is as long as what follows them.
    let due = 100 * 1000;
    assert!((LONG + due..LONG + due + 10_000).contains(&time), "{time}");
}
