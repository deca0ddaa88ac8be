//! One test per bug found.

use befit_machine::{
    Inclusion::{Exclusive, Inclusive, NonInclusive},
    Machine, Part, WorkerId,
};

use super::{
    super::Hierarchy,
    machines::{cache, machine},
};

/// A chain of two shared caches above two cores, one line a set throughout.
fn shared_chain(outer: befit_machine::Inclusion) -> Machine {
    let l1 = |ways| cache(1, 4, ways, Inclusive, vec![Part::worker(None)]);
    machine(vec![cache(3, 36, 1, outer, vec![cache(2, 24, 1, Exclusive, vec![l1(2), l1(1)])])])
}

fn replay(machine: &Machine, trace: &[(u32, u32, bool)]) {
    let mut caches = Hierarchy::new(machine, 48, 0).unwrap();
    for (worker, line, write) in trace {
        caches.access(WorkerId(*worker), *line, *write);
        caches.check();
    }
}

#[test]
fn a_line_in_flight_from_the_outer_cache_of_a_chain_is_not_taken_for_an_orphan() {
    let trace =
        [(0, 4, false), (0, 24, false), (0, 40, false), (0, 4, true), (0, 20, true), (1, 4, false)];
    replay(&shared_chain(NonInclusive), &trace);
}

#[test]
fn a_hit_in_the_outer_of_two_victim_caches_leaves_no_trace_of_the_line_in_their_chain() {
    replay(&shared_chain(Exclusive), &[41, 0, 17, 21, 41].map(|line| (1, line, false)));
}

#[test]
fn a_private_cache_that_is_the_last_level_too_is_clean_after_another_worker_read_its_line() {
    let core = || cache(1, 4, 0, Inclusive, vec![Part::worker(None)]);
    let machine = machine(vec![core(), core()]);
    let mut caches = Hierarchy::new(&machine, 8, 0).unwrap();
    caches.access(WorkerId(0), 1, true);
    caches.access(WorkerId(1), 1, false);
    assert!(caches.access(WorkerId(0), 1, true).invalidated);
}
