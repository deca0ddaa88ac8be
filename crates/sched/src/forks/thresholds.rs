//! Sizes at which a fork is treated differently, from the caches above one worker.

use befit_machine::{Bytes, ClusterId, Machine, WorkerId};

use crate::Thresholds;

/// What befits which caches above one worker.
#[derive(Clone, PartialEq, Debug)]
pub struct ForkThresholds {
    /// The largest size that befits a cache that only this worker's thread uses.
    private: Bytes,
    /// For the caches that it shares, from the innermost out.
    shared: Thresholds,
}

impl ForkThresholds {
    /// For `worker`. `threads_under` returns how many threads of the pool stand under a cluster.
    pub fn new(
        machine: &Machine,
        worker: WorkerId,
        sigma: f64,
        threads_under: impl Fn(ClusterId) -> usize,
    ) -> Self {
        let caches = machine.path(worker).filter(|id| machine.cluster(*id).cache.is_some());
        let (private, shared): (Vec<_>, Vec<_>) = caches.partition(|id| threads_under(*id) <= 1);
        let thresholds = |caches: Vec<ClusterId>| {
            Thresholds::new(caches.into_iter().map(|id| machine.cluster(id).size()), sigma)
        };
        Self { private: thresholds(private).largest(), shared: thresholds(shared) }
    }

    /// Whether a task of `size` may run without forks if it takes little time: what does not befit
    /// a private cache may contain forks that the policy must see.
    #[inline]
    pub fn may_be_inlined(&self, size: Bytes) -> bool {
        size <= self.private
    }

    /// Whether a task of `size` is *maximal* below one of `parent` (befits a smaller cache than it
    /// does), and befits a cache that several threads share: a scheduler that places by size must
    /// then decide which threads run it.
    pub fn is_anchored_at_a_shared_cache(&self, size: Bytes, parent: Bytes) -> bool {
        size > self.private && self.shared.too_small_for(size) < self.shared.too_small_for(parent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_sockets() -> Machine {
        "pack:2 l3:1(size=8MiB) core:4 l2:1(size=1MiB) l1:1(size=64KiB) pu:1".parse().unwrap()
    }

    /// Those of a worker, with a thread of the pool for each worker.
    fn of_worker(machine: &Machine, worker: u32) -> ForkThresholds {
        let threads = |id| machine.cluster(id).worker_count() as usize;
        ForkThresholds::new(machine, WorkerId(worker), 0.5, threads)
    }

    #[test]
    fn the_private_threshold_comes_from_the_largest_unshared_cache() {
        let machine = two_sockets();
        let t = of_worker(&machine, 5);
        let second = machine.path(WorkerId(5)).nth(1).unwrap();
        assert_eq!(t.private.0, machine.cluster(second).size().0 / 2);
        let inlined = [1 << 19, (1 << 19) + 1].map(|bytes| t.may_be_inlined(Bytes(bytes)));
        assert_eq!(inlined, [true, false], "half of 1 MiB");
        // With one thread of the pool on each socket the L3 is private, too.
        let alone = ForkThresholds::new(&machine, WorkerId(5), 0.5, |_| 1);
        assert!(alone.private > t.private);
        assert!(!alone.is_anchored_at_a_shared_cache(Bytes(2_000_000), Bytes(u64::MAX)));
    }

    #[test]
    fn only_a_task_that_newly_befits_a_shared_cache_is_anchored_there() {
        let t = of_worker(&two_sockets(), 0);
        let (large, middle, small) = (Bytes(100_000_000), Bytes(3_000_000), Bytes(100_000));
        assert!(t.is_anchored_at_a_shared_cache(middle, large));
        assert!(!t.is_anchored_at_a_shared_cache(large, Bytes(u64::MAX)), "befits no cache");
        assert!(!t.is_anchored_at_a_shared_cache(middle, middle), "its parent befits it, too");
        assert!(!t.is_anchored_at_a_shared_cache(small, large), "befits a private cache");
    }
}
