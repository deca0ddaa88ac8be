//! Whom a worker has stolen from: counted by victim, and told apart by distance when somebody reads
//! it. So counting does not need to know the caches.

use std::sync::OnceLock;

use befit_machine::{ClusterId, Machine, WorkerId};

use super::{counters::Counter, most_levels, place_of};

/// One worker's steals. Only its thread counts.
#[derive(Debug)]
pub(super) struct Steals {
    workers: usize,
    /// By victim; there from the first steal on.
    from: OnceLock<Box<[Counter]>>,
}

/// Steals by what thief and victim share.
#[derive(Default)]
pub(super) struct ByDistance {
    /// From workers under the same last-level cache.
    pub(super) near: u64,
    pub(super) far: u64,
    /// By the level of the smallest common cache, at [`place_of`] it.
    pub(super) levels: [u64; most_levels() + 1],
}

impl Steals {
    /// None yet, in a pool of so many workers.
    pub(super) fn new(workers: usize) -> Self {
        Self { workers, from: OnceLock::new() }
    }

    /// One from `victim`.
    pub(super) fn count(&self, victim: WorkerId) {
        let none = || (0..self.workers).map(|_| Counter::default()).collect();
        self.from.get_or_init(none)[victim.index()].bump();
    }

    /// Those of `thief`, a worker of `machine`.
    pub(super) fn by_distance(&self, machine: &Machine, thief: WorkerId) -> ByDistance {
        let mut sums = ByDistance::default();
        let last_level = machine.last_level(thief);
        // Where there is no cache at all, everyone is far.
        let is_near =
            |victim| last_level != ClusterId::ROOT && machine.cluster(last_level).has(victim);
        for (victim, count) in self.from.get().into_iter().flatten().enumerate() {
            let victim = WorkerId(victim as u32);
            *(if is_near(victim) { &mut sums.near } else { &mut sums.far }) += count.get();
            let common = machine
                .path(thief)
                .map(|id| machine.cluster(id))
                .find(|c| c.cache.is_some() && c.has(victim));
            sums.levels[place_of(common.and_then(|c| c.cache).map(|cache| cache.level))] +=
                count.get();
        }
        sums
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use befit_machine::Level;

    use super::*;

    #[test]
    fn a_steal_is_counted_at_the_smallest_cache_that_thief_and_victim_share() {
        let machine: Machine =
            "pack:2 l3:1(size=8MiB) l2:2(size=1MiB) core:2 pu:1".parse().unwrap();
        let steals = Steals::new(8);
        for victim in [4, 6, 7, 0] {
            steals.count(WorkerId(victim));
        }
        let sums = steals.by_distance(&machine, WorkerId(5));
        let at = |level: u8| sums.levels[place_of(Some(Level(level)))];
        assert_eq!((at(1), at(2), at(3), sums.levels[place_of(None)]), (0, 1, 2, 1));
        assert_eq!((sums.near, sums.far), (3, 1));
    }

    #[test]
    fn without_caches_everyone_is_far() {
        let steals = Steals::new(2);
        steals.count(WorkerId(1));
        let sums = steals.by_distance(&"pu:2".parse().unwrap(), WorkerId(0));
        assert_eq!((sums.near, sums.far, sums.levels[place_of(None)]), (0, 1, 1));
    }
}
