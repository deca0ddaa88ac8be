//! Small machines to compute by hand, and machines that cannot be modelled.

mod random;
mod reference;
mod traces;

use befit_machine::{
    Bytes, Cache, Cycles, Inclusion, Level, Machine, MachineSpec, Part, Replacement,
};

use super::Hierarchy;

/// A cache of `lines` lines of 64 bytes; fully associative where `ways` is 0.
pub(super) fn cache(
    level: u8,
    lines: u64,
    ways: u32,
    inclusion: Inclusion,
    parts: Vec<Part>,
) -> Part {
    let cache = Cache {
        level: Level(level),
        size: Bytes(64 * lines),
        line: Bytes(64),
        ways,
        replacement: Replacement::Lru,
        inclusion,
        latency: Cycles(1),
    };
    Part::Cache { label: String::new(), cache, parts }
}

pub(super) fn machine(parts: Vec<Part>) -> Machine {
    MachineSpec::new("by hand", parts).build().unwrap()
}

/// A worker below an L1 of `lines` lines.
pub(super) fn core(lines: u64) -> Part {
    cache(1, lines, 0, Inclusion::NonInclusive, vec![Part::worker(None)])
}

#[test]
fn a_core_for_each_bit_of_four_words_of_the_directory_can_be_modelled() {
    for cores in [63, 64, 200, 300, 500] {
        let machine = machine((0..cores).map(|_| core(2)).collect());
        let mut caches = Hierarchy::new(&machine, 8, 0).unwrap();
        for w in 0..cores {
            caches.access(befit_machine::WorkerId(w), 5, false);
        }
        caches.check();
        assert!(caches.access(befit_machine::WorkerId(7), 5, true).invalidated);
        caches.check();
        let lost = |c| caches.counts(befit_machine::ClusterId(c + 1)).invalidations.0;
        assert_eq!((0..cores).map(lost).sum::<u64>(), u64::from(cores) - 1);
    }
}

#[test]
fn machines_that_cannot_be_modelled_say_why() {
    let error = |machine: &Machine| Hierarchy::new(machine, 8, 0).unwrap_err().to_string();
    let many = machine((0..600).map(|_| core(2)).collect());
    assert_eq!(
        error(&many),
        "the machine has 600 private caches and shared caches, more than the 511 that can be \
         modelled"
    );
    let long = Part::Cache {
        label: String::new(),
        cache: Cache {
            level: Level(2),
            size: Bytes(1024),
            line: Bytes(128),
            ways: 1,
            replacement: Replacement::Lru,
            inclusion: Inclusion::NonInclusive,
            latency: Cycles(1),
        },
        parts: vec![core(2)],
    };
    assert_eq!(
        error(&machine(vec![long])),
        "the L1 cache of cluster 2 has lines of 64 B, the L2 cache of cluster 1 lines of 128 B: \
         give all caches the same line length"
    );
    let mut deep = core(2);
    for level in 2..=9 {
        deep = cache(level, 2, 0, Inclusion::NonInclusive, vec![deep]);
    }
    assert_eq!(
        error(&machine(vec![deep])),
        "worker 0 has 9 caches on its way to memory, more than the 8 that can be modelled"
    );
    let small = machine(vec![core(2)]);
    let lines = Hierarchy::new(&small, u32::MAX, 0).unwrap_err();
    assert_eq!(
        lines.to_string(),
        "4294967295 lines of memory are more than the 1073741823 that can be modelled"
    );
}

#[test]
fn every_preset_can_be_modelled() {
    for (name, _) in befit_machine::presets() {
        let machine = Machine::find(name).unwrap();
        assert!(Hierarchy::new(&machine, 1024, 0).is_ok(), "{name}");
    }
}
