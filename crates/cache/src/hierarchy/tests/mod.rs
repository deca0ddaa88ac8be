//! Small machines to compute by hand, and machines that cannot be modelled.

mod random;
mod reference;
mod traces;

use befit_machine::{
    Bytes, Cache, ClusterId, Inclusion, Machine, MachineSpec, Part, Replacement, WorkerId,
};

use super::{Hierarchy, LineAccess, Model, layout};
use crate::{ClusterCounts, Found, PrefetchPlan};

/// An LRU cache of `lines` lines of 64 bytes; fully associative where `ways` is 0.
fn cache(level: u8, lines: u64, ways: u32, inclusion: Inclusion, parts: Vec<Part>) -> Part {
    with(Part::cache(level, Bytes(64 * lines), ways, parts), |cache| cache.inclusion = inclusion)
}

/// The part, with something changed in its cache.
fn with(mut part: Part, change: impl FnOnce(&mut Cache)) -> Part {
    if let Part::Cache { cache, .. } = &mut part {
        change(cache);
    }
    part
}

fn machine(parts: Vec<Part>) -> Machine {
    MachineSpec::new("by hand", parts).build().unwrap()
}

/// A worker below an L1 of `lines` lines.
fn core(lines: u64) -> Part {
    cache(1, lines, 0, Inclusion::NonInclusive, vec![Part::worker(None)])
}

#[test]
fn cores_for_each_length_of_row_and_more_can_be_modelled() {
    for cores in [63, 64, 200, 300, 500, 512, 2000] {
        let machine = machine(vec![core(2); cores as usize]);
        let mut caches = Hierarchy::new(&machine, 8, 0).unwrap();
        for w in 0..cores {
            caches.access(WorkerId(w), 5, false);
        }
        caches.check();
        assert!(caches.access(WorkerId(7), 5, true).invalidated);
        caches.check();
        let lost = |c| caches.counts(ClusterId(c + 1)).invalidations.0;
        assert_eq!((0..cores).map(lost).sum::<u64>(), u64::from(cores) - 1);
    }
}

#[test]
fn tens_of_thousands_of_last_level_caches_can_be_modelled() {
    const CORES: u32 = 60_000;
    // In time for their number: a search of all for each would take minutes.
    let machine = machine(vec![core(2); CORES as usize]);
    let mut caches = Hierarchy::new(&machine, 8, 0).unwrap();
    for worker in [0, 30_000, CORES - 1] {
        caches.access(WorkerId(worker), 5, false);
    }
    // The next to the right supplies a line, and the leftmost follows the rightmost.
    for (worker, from) in [(29_999, 30_000), (30_001, CORES - 1), (1, 29_999)] {
        let from = ClusterId(from + 1);
        let expected = Found::Remote { from, modified: false };
        assert_eq!(caches.access(WorkerId(worker), 5, false).found, expected);
    }
    assert!(caches.access(WorkerId(CORES - 1), 5, true).invalidated);
    let lost = |c| caches.counts(ClusterId(c + 1)).invalidations.0;
    assert_eq!((0..CORES).map(lost).sum::<u64>(), 5);
}

#[test]
fn machines_that_cannot_be_modelled_say_why() {
    let error = |part, lines| Hierarchy::new(&machine(part), lines, 0).unwrap_err().to_string();
    let long = Part::cache(2, Bytes(1024), 1, vec![core(2)]);
    let deep = (2..=9)
        .fold(core(2), |below, level| cache(level, 2, 0, Inclusion::NonInclusive, vec![below]));
    for (parts, lines, expected) in [
        (
            vec![with(long, |cache| cache.line = Bytes(128))],
            8,
            "the L1 cache of cluster 2 has lines of 64 B, the L2 cache of cluster 1 lines of \
             128 B: give all caches the same line length",
        ),
        (
            vec![core(2), with(core(12), |cache| cache.replacement = Replacement::TreePlru)],
            8,
            "the L1 cache of cluster 2 has 12 ways: tree-PLRU needs a power of two, at most 64",
        ),
        (
            vec![deep],
            8,
            "worker 0 has 9 caches on its way to memory, more than the 8 that can be modelled",
        ),
        (
            vec![core(2)],
            u32::MAX,
            "4294967295 lines of memory are more than the 1073741823 that can be modelled",
        ),
    ] {
        assert_eq!(error(parts, lines), expected);
    }
}

#[test]
fn every_preset_can_be_modelled() {
    for (name, _) in befit_machine::presets() {
        let machine = Machine::find(name).unwrap();
        assert!(Hierarchy::new(&machine, 1024, 0).is_ok(), "{name}");
    }
}

#[test]
fn only_the_root_may_have_no_cache() {
    let mut clusters = machine(vec![core(2), core(2)]).clusters().to_vec();
    assert_eq!(layout::caches(&clusters).unwrap().len(), 2);
    clusters[2].cache = None;
    assert_eq!(
        layout::caches(&clusters).unwrap_err().to_string(),
        "cluster 2 has no cache: only the root may have none; leave it out and attach its children \
         to its parent"
    );
}

#[test]
fn memory_and_clusters_that_are_not_there_are_no_caches() {
    let two_ways = machine(vec![with(core(8), |cache| cache.ways = 2)]);
    for (machine, shape, set) in [(two_ways, (4, 2), 1), (sockets(1), (1, 32), 0)] {
        let mut caches = Hierarchy::new(&machine, 8, 0).unwrap();
        caches.access(WorkerId(0), 5, true);
        let beyond = ClusterId(machine.clusters().len() as u32);
        for cluster in [ClusterId::ROOT, beyond] {
            assert_eq!(caches.sets_and_ways(cluster), None);
            assert_eq!(caches.set_of(cluster, 5), 0);
            assert_eq!(caches.counts(cluster), ClusterCounts::default());
            assert!(!caches.holds(cluster, 5));
        }
        assert_eq!(caches.sets_and_ways(ClusterId(1)), Some(shape));
        assert_eq!(caches.set_of(ClusterId(1), 5), set);
        assert!(caches.holds(ClusterId(1), 5) && !caches.holds(ClusterId(1), 8));
    }
}

/// Private caches of 2 and 4 lines and an inclusive one of 32 above both, `count` times.
fn sockets(count: usize) -> Machine {
    machine(vec![socket(vec![pair(2); 2]); count])
}

fn socket(cores: Vec<Part>) -> Part {
    cache(3, 32, 0, Inclusion::Inclusive, cores)
}

/// A core with an L1 of so many lines, below an L2 of twice as many.
fn pair(lines: u64) -> Part {
    cache(2, 2 * lines, 0, Inclusion::NonInclusive, vec![core(lines)])
}

#[test]
fn machines_of_equal_small_sets_below_equal_inclusive_caches_have_a_model_of_their_own() {
    let ways = |part, ways| with(part, |cache| cache.ways = ways);
    let random = |part| with(part, |cache| cache.replacement = Replacement::Random);
    let l2 = |cores| cache(2, 4, 0, Inclusion::NonInclusive, cores);
    let last = |lines, inclusion| cache(3, lines, 0, inclusion, vec![pair(2); 2]);
    let two = |core| socket(vec![core; 2]);
    let plain = || two(pair(2));
    for (what, parts, lines, expected) in [
        ("the plain one", vec![plain()], 64, true),
        ("two sockets", vec![plain(); 2], 64, true),
        ("a core of other caches", vec![socket(vec![pair(2), pair(4)])], 64, false),
        ("a core of fewer caches", vec![socket(vec![pair(2), core(2)])], 64, false),
        ("a socket of another cache", vec![plain(), ways(plain(), 16)], 64, false),
        ("a core without a socket", vec![plain(), pair(2)], 64, false),
        ("two cores to an L2", vec![two(l2(vec![core(2); 2]))], 64, false),
        ("an L2 of eight ways", vec![two(pair(4))], 64, true),
        ("an L2 of sixteen", vec![two(pair(8))], 64, false),
        ("an L2 of more sets than the L1", vec![two(ways(pair(4), 2))], 64, true),
        ("an L2 of fewer", vec![two(l2(vec![ways(core(4), 1)]))], 64, false),
        ("a last level of 33 ways", vec![last(33, Inclusion::Inclusive)], 64, false),
        ("one that is not inclusive", vec![last(32, Inclusion::NonInclusive)], 64, false),
        ("an L1 at random", vec![two(l2(vec![random(core(2))]))], 64, false),
        // The last level is one set: a line's tag there is its number.
        ("tags of 16 bits", vec![plain()], 65_534, true),
        ("more lines than those", vec![plain()], 65_535, false),
        ("32 cores", vec![socket(vec![pair(2); 16]); 2], 64, true),
        ("33 cores", vec![socket(vec![pair(2); 11]); 3], 64, false),
        ("15 sockets", vec![plain(); 15], 64, true),
        ("16 sockets", vec![plain(); 16], 64, false),
    ] {
        let caches = Hierarchy::new(&machine(parts), lines, 0).unwrap();
        assert_eq!(matches!(caches.model, Model::Inclusive(_)), expected, "{what}");
    }
}

fn access(worker: u32, line: u32) -> LineAccess {
    LineAccess { worker: WorkerId(worker), line, write: false }
}

#[test]
#[should_panic(expected = "worker 4 is beyond the 4 of the machine")]
fn an_access_by_a_worker_that_is_not_there_says_so() {
    Hierarchy::new(&sockets(2), 64, 0).unwrap().access(WorkerId(4), 1, false);
}

#[test]
#[should_panic(expected = "line 64 is beyond the 64 lines of the hierarchy")]
fn an_access_to_a_line_that_is_not_there_says_so() {
    Hierarchy::new(&sockets(2), 64, 0).unwrap().access(WorkerId(3), 64, false);
}

#[test]
#[should_panic(expected = "line 64 is beyond the 64 lines of the hierarchy")]
fn of_many_accesses_the_one_to_a_line_that_is_not_there_is_told() {
    let mut accesses: Vec<_> = (0..100).map(|i| access(i % 4, i % 64)).collect();
    accesses[70].line = 64;
    Hierarchy::new(&sockets(2), 64, 0).unwrap().run(&accesses, |_, _| {});
}

#[test]
#[should_panic(expected = "worker 5 is beyond the 4 of the machine")]
fn of_many_accesses_the_one_by_a_worker_that_is_not_there_is_told() {
    let mut accesses: Vec<_> = (0..100).map(|i| access(i % 4, i % 64)).collect();
    accesses[40].worker = WorkerId(5);
    Hierarchy::new(&sockets(2), 64, 0).unwrap().run(&accesses, |_, _| {});
}

#[test]
#[should_panic(expected = "a plan of another machine")]
fn a_plan_of_another_machine_is_refused() {
    let large = Hierarchy::new(&sockets(4), 64, 0).unwrap();
    let plan = large.prefetch(access(7, 1));
    Hierarchy::new(&sockets(1), 64, 0).unwrap().access_planned(&plan);
}

#[test]
fn bringing_near_for_a_worker_that_is_not_there_does_no_harm_on_any_machine_but_one_s_own() {
    let general = Hierarchy::new(&machine(vec![core(2); 2]), 64, 0).unwrap();
    for worker in [1, 2, 1000] {
        let plan = general.prefetch(LineAccess { write: true, ..access(worker, 7) });
        assert_eq!(plan.line(), 7);
        general.prepare(&plan);
    }
    let mut plans = [PrefetchPlan::default(); 2];
    general.prefetch_all(WorkerId(0), [(1, false), (2, true), (3, true)].into_iter(), &mut plans);
    assert_eq!(plans.map(|plan| plan.line()), [1, 2]);
}
