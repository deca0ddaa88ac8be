use super::*;
use crate::{Cycles, Level, Placement, WorkerId, invariants};

fn pu() -> Part {
    Part::worker(None)
}

fn kib(level: u8, kib: u64, parts: Vec<Part>) -> Part {
    Part::cache(level, Bytes::kib(kib), 8, parts)
}

fn build(parts: Vec<Part>) -> Result<Machine, MachineError> {
    MachineSpec::new("test", parts).build()
}

fn message(parts: Vec<Part>) -> String {
    build(parts).unwrap_err().to_string()
}

#[test]
fn an_irregular_tree_is_numbered_from_left_to_right() {
    // A big core, two little cores that share an L2, and a core outside of the L3.
    let big = kib(2, 1024, vec![Part::core(100, vec![kib(1, 32, vec![pu(), pu()])])]);
    let little = || Part::core(60, vec![kib(1, 32, vec![pu()])]);
    let cluster = kib(2, 2048, vec![little(), little()]);
    let lone = kib(2, 512, vec![pu()]);
    let m = build(vec![Part::Group(vec![kib(3, 4096, vec![big, cluster])]), lone]).unwrap();
    invariants::check(&m);
    let cores: Vec<_> = m.workers().iter().map(|w| (w.core, w.speed)).collect();
    assert_eq!(cores, [(0, 100), (0, 100), (1, 60), (2, 60), (3, 100)]);
    let workers: Vec<_> = m.clusters().iter().map(|c| c.workers.clone()).collect();
    assert_eq!(workers, [0..5, 0..4, 0..2, 0..2, 2..4, 2..3, 3..4, 4..5]);
    assert_eq!(m.levels(), [Level(1), Level(2), Level(3)]);
    assert_eq!(m.last_level(WorkerId(3)), ClusterId(1));
    assert_eq!(m.cluster(m.last_level(WorkerId(4))).cache.unwrap().level, Level(2));
}

#[test]
fn a_worker_without_any_cache_stands_under_memory() {
    let m = build(vec![pu(), kib(1, 32, vec![pu()]), pu()]).unwrap();
    invariants::check(&m);
    assert_eq!(m.last_level(WorkerId(2)), ClusterId::ROOT);
    assert_eq!(m.cluster(ClusterId::ROOT).children, [ClusterId(1)]);
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let odd_line = {
        let mut cache = assumed::cache(Level(1), Bytes(480), None, Some(1));
        cache.line = Bytes(48);
        Part::Cache { label: "L1 of cpu0".to_owned(), cache, parts: vec![pu()] }
    };
    let nested = Part::core(9, vec![Part::core(9, vec![pu()])]);
    let l1 = |bytes, ways| vec![Part::cache(1, Bytes(bytes), ways, vec![pu()])];
    for (parts, expected) in [
        (vec![], "machine: has no worker"),
        (vec![pu(), kib(1, 32, vec![])], "L1 #0: has no worker under it"),
        (vec![Part::core(100, vec![])], "core #0: has no hardware thread"),
        (
            vec![kib(2, 64, vec![kib(2, 32, vec![pu()])])],
            "L2 #1: stands under L2: levels must fall towards the cores",
        ),
        (
            vec![kib(2, 16, vec![kib(1, 32, vec![pu()])])],
            "L1 #0: its 32 KiB are more than the 16 KiB of the L2 above it",
        ),
        (vec![kib(0, 16, vec![pu()])], "L0 #0: levels count from 1"),
        (l1(1000, 2), "L1 #0: its size of 1000 bytes is no multiple of 2 ways of 64 bytes"),
        (l1(0, 0), "L1 #0: its size of 0 bytes is no multiple of 1 ways of 64 bytes"),
        (vec![odd_line], "L1 of cpu0: its line of 48 bytes is no power of two"),
        (vec![Part::core(101, vec![pu()])], "core #0: speed 101 % is not within 1 to 100"),
        (vec![nested], "core #0: stands inside another core"),
        (vec![Part::worker(Some(3)), Part::worker(Some(3))], "cpu3: is listed twice"),
    ] {
        assert_eq!(message(parts), expected);
    }
}

#[test]
fn figures_of_the_memory_must_make_sense() {
    let with = |change: fn(&mut MachineSpec)| {
        let mut spec = MachineSpec::new("test", vec![pu()]);
        change(&mut spec);
        spec.build().map(|_| ()).map_err(|e| e.to_string())
    };
    assert_eq!(with(|s| s.memory.latency = Cycles(0)), Ok(()));
    let wrong: [fn(&mut MachineSpec); 7] = [
        |s| s.mhz = 0,
        |s| s.memory.controllers = 0,
        |s| s.memory.bandwidth = f64::NAN,
        |s| s.memory.bandwidth = 0.0,
        |s| s.memory.parallelism = 0.5,
        |s| s.cycles_per_operation = -1.0,
        |s| s.memory.placement = Placement::Bound(2),
    ];
    assert!(wrong.into_iter().all(|change| with(change).is_err()));
}

#[test]
fn nesting_is_bounded() {
    let part = (0..600).fold(pu(), |part, _| Part::Group(vec![part]));
    assert_eq!(message(vec![part]), "machine: parts nest deeper than 512");
}

#[test]
fn the_largest_machine_builds_in_time_linear_in_its_size() {
    // 65,535 caches: a search for each one's number would take minutes.
    let m = build(vec![kib(1, 32, vec![pu()]); MOST_OBJECTS - 1]).unwrap();
    assert_eq!(m.workers().len(), MOST_OBJECTS - 1);
    assert!(message(vec![pu(); MOST_OBJECTS + 1]).contains("more than 65536 workers"));
}
