//! Traces computed by hand, one per kind of inclusion and rule of coherence; and one per bug found.

use befit_machine::{
    ClusterId, Inclusion,
    Inclusion::{Exclusive, Inclusive, NonInclusive},
    Machine, Part, WorkerId,
};

use super::{Hierarchy, cache, core, machine};
use crate::Found::{self, Memory, Own, Remote, Sibling};

/// Found under the other of two sockets.
fn remote(from: u32, modified: bool) -> Found {
    Remote { from: ClusterId(from), modified }
}

const L1: ClusterId = ClusterId(2);
const L2: ClusterId = ClusterId(1);

/// One core: an L1 of two lines below an L2 of `lines`.
fn two_levels(lines: u64, inclusion: Inclusion) -> Machine {
    machine(vec![cache(2, lines, 0, inclusion, vec![core(2)])])
}

/// Two cores with an L1 of two lines each (clusters 2 and 3) below an L2 of eight.
fn siblings(inclusion: Inclusion) -> Machine {
    machine(vec![cache(2, 8, 0, inclusion, vec![core(2), core(2)])])
}

fn reads(caches: &mut Hierarchy, worker: u32, lines: &[u32]) -> Vec<Found> {
    let found = lines.iter().map(|l| caches.access(WorkerId(worker), *l, false).found).collect();
    caches.check();
    found
}

fn hierarchy(machine: &Machine) -> Hierarchy {
    Hierarchy::new(machine, 64, 0).unwrap()
}

#[test]
fn a_line_that_leaves_an_inclusive_cache_leaves_the_cache_below_and_else_stays() {
    for (inclusion, last) in [(Inclusive, Memory), (NonInclusive, Own(L1))] {
        let mut c = hierarchy(&two_levels(3, inclusion));
        // 1 stays the L1's most recent line, but the L2 does not see its uses and lets it go for 4.
        let found = [Memory, Memory, Own(L1), Memory, Own(L1), Memory, last];
        assert_eq!(reads(&mut c, 0, &[1, 2, 1, 3, 1, 4, 1]), found, "{inclusion:?}");
    }
}

#[test]
fn a_victim_cache_adds_its_lines_to_those_below() {
    // Two lines in L1 and two in L2 hold four lines; a non-inclusive L2 of two would hold two.
    let mut c = hierarchy(&two_levels(2, Exclusive));
    assert_eq!(reads(&mut c, 0, &[1, 2, 3, 4]), [Memory; 4]);
    assert_eq!(reads(&mut c, 0, &[1, 2, 3, 4]), [Own(L2); 4]);
    let mut c = hierarchy(&two_levels(2, NonInclusive));
    reads(&mut c, 0, &[1, 2, 3, 4]);
    assert_eq!(reads(&mut c, 0, &[1, 2, 3, 4]), [Memory; 4]);
}

#[test]
fn a_dirty_line_goes_up_level_by_level() {
    let mut c = hierarchy(&two_levels(2, NonInclusive));
    c.access(WorkerId(0), 1, true);
    // 1 leaves the L1 for 3; the L2 lets it go at the same time, and takes it back, dirty, in place
    // of 2; then it leaves that as well.
    let written: Vec<u8> = (2..7).map(|l| c.access(WorkerId(0), l, false).written_back).collect();
    assert_eq!(written.iter().sum::<u8>(), 1);
    let [l1, l2] = [L1, L2].map(|cache| c.counts(cache).writebacks.0);
    assert_eq!((l1, l2, c.memory_writes().0), (1, 1, 1));
    c.check();
}

#[test]
fn what_an_inclusive_cache_evicts_takes_the_newer_data_below_with_it() {
    let mut c = hierarchy(&two_levels(2, Inclusive));
    c.access(WorkerId(0), 1, true);
    c.access(WorkerId(0), 2, false);
    let access = c.access(WorkerId(0), 3, false);
    let [l1, l2] = [L1, L2].map(|cache| c.counts(cache).writebacks.0);
    assert_eq!((access.written_back, l1, l2), (1, 0, 1));
}

#[test]
fn a_write_takes_the_line_from_all_others_and_their_next_miss_is_counted_as_coherence() {
    let mut c = hierarchy(&siblings(Inclusive));
    reads(&mut c, 0, &[5]);
    reads(&mut c, 1, &[5]);
    let write = c.access(WorkerId(0), 5, true);
    assert_eq!((write.found, write.invalidated), (Own(L1), true));
    let again = c.access(WorkerId(0), 5, true);
    assert_eq!((again.found, again.invalidated), (Own(L1), false));
    // False sharing or true, the other core's next access misses because of it, and finds the line
    // in the common L2.
    assert_eq!(reads(&mut c, 1, &[5]), [Own(L2)]);
    let other = c.counts(ClusterId(3));
    let all = [other.accesses, other.misses, other.coherence_misses, other.invalidations];
    assert_eq!(all.map(|lines| lines.0), [2, 2, 1, 1]);
    assert_eq!(c.counts(L2).coherence_misses.0, 0);
    assert_eq!(c.memory_writes().0, 0);
}

#[test]
fn false_sharing_costs_each_writer_a_coherence_miss_per_turn() {
    let mut c = hierarchy(&siblings(Inclusive));
    for turn in 0..20 {
        c.access(WorkerId(turn % 2), 5, true);
    }
    // All but the first access of each.
    let misses = [ClusterId(2), ClusterId(3)].map(|l1| c.counts(l1).coherence_misses.0);
    assert_eq!(misses, [9, 9]);
    assert_eq!((c.memory_reads().0, c.memory_writes().0), (1, 0));
    c.check();
}

#[test]
fn a_line_that_only_a_sibling_has_is_told_from_a_miss() {
    // A victim cache does not have what the other core's L1 has.
    let mut c = hierarchy(&siblings(Exclusive));
    reads(&mut c, 0, &[5]);
    assert_eq!(reads(&mut c, 1, &[5]), [Sibling(L2)]);
    assert_eq!((c.sibling_hits().0, c.memory_reads().0, c.counts(L2).misses.0), (1, 1, 2));
}

#[test]
fn a_line_under_another_child_of_the_root_is_remote_and_a_dirty_one_is_written_back() {
    let m = machine((0..2).map(|_| cache(2, 8, 0, Inclusive, vec![core(2)])).collect());
    let mut c = hierarchy(&m);
    c.access(WorkerId(0), 5, true);
    let read = c.access(WorkerId(1), 5, false);
    assert_eq!((read.found, read.written_back, read.invalidated), (remote(1, true), 1, false));
    // Both are clean now; a write takes it over without another write-back.
    let write = c.access(WorkerId(0), 5, true);
    assert_eq!((write.found, write.written_back, write.invalidated), (Own(L1), 0, true));
    let take = c.access(WorkerId(1), 5, true);
    assert_eq!((take.found, take.written_back, take.invalidated), (remote(1, true), 0, true));
    assert_eq!((c.remote_hits().0, c.memory_reads().0, c.memory_writes().0), (2, 1, 1));
    c.check();
}

#[test]
fn a_dirty_line_that_a_sibling_reads_becomes_dirty_in_the_common_cache() {
    for inclusion in [Inclusive, NonInclusive, Exclusive] {
        let mut c = hierarchy(&siblings(inclusion));
        c.access(WorkerId(0), 5, true);
        assert_eq!(c.access(WorkerId(1), 5, false).written_back, 0);
        c.check();
        // Pushed out of everything, it is written to memory once.
        reads(&mut c, 0, &(20..40).collect::<Vec<_>>());
        reads(&mut c, 1, &(20..40).collect::<Vec<_>>());
        assert_eq!(c.memory_writes().0, 1, "{inclusion:?}");
    }
}

#[test]
fn a_worker_without_caches_reads_and_writes_memory_and_still_takes_lines_from_others() {
    let mut c = hierarchy(&machine(vec![core(2), Part::worker(None)]));
    reads(&mut c, 0, &[5]);
    let write = c.access(WorkerId(1), 5, true);
    assert_eq!((write.found, write.invalidated, write.written_back), (remote(1, false), true, 1));
    assert_eq!(reads(&mut c, 0, &[5]), [Memory]);
}

/// Worker 0 reads the first `lines` lines twice.
fn walk(caches: &mut Hierarchy, lines: u32) {
    for line in (0..lines).chain(0..lines) {
        caches.access(WorkerId(0), line, false);
    }
}

#[test]
fn misses_on_xeon_7560_are_as_by_hand() {
    let m = Machine::find("xeon-7560").unwrap();
    let mut c = Hierarchy::new(&m, 1 << 20, 0).unwrap();
    let l3 = m.last_level(WorkerId(0));
    // Twice over 16 MiB by one core: the second time everything is in L3 and nothing in L2.
    let lines = (16 << 20) / 64;
    walk(&mut c, lines);
    let (accesses, misses) = (c.counts(l3).accesses.0, c.counts(l3).misses.0);
    assert_eq!((accesses, misses), (2 * u64::from(lines), u64::from(lines)));
    // Twice over 48 MiB: LRU keeps nothing of use.
    let mut c = Hierarchy::new(&m, 1 << 20, 0).unwrap();
    walk(&mut c, 3 * lines);
    assert_eq!(c.counts(l3).misses.0, 6 * u64::from(lines));
}

/// A chain of two shared caches above two cores, one line a set throughout.
fn shared_chain(outer: Inclusion) -> Machine {
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
    let reads = [4, 24, 40].map(|line| (0, line, false));
    let trace = [&reads[..], &[(0, 4, true), (0, 20, true), (1, 4, false)]].concat();
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
