//! Small machines to compute by hand, and machines that cannot be modelled.

mod random;
mod reference;
mod traces;

use befit_machine::{Bytes, Cache, ClusterId, Inclusion, Machine, MachineSpec, Part, WorkerId};

use super::Hierarchy;

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
