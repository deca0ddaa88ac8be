//! What a space-bounded policy did with each cache.

use befit_machine::{Bytes, ClusterId, Level, Machine};
use befit_sim::{Occupancy, Outcome};

use super::Spread;

/// One cache under a space-bounded policy, over the seeds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CacheUse {
    /// Which cluster of the machine it is.
    pub cluster: ClusterId,
    /// The cache's level.
    pub level: Level,
    /// The first of the workers under it.
    pub first_worker: u32,
    /// The last of them.
    pub last_worker: u32,
    /// Its size M.
    pub size: Bytes,
    /// Maximal tasks anchored there.
    pub anchors: Spread<u64>,
    /// The most of it that was given out at any time.
    pub occupancy_max: Spread<Bytes>,
    /// How much of it was given out on average over the running time.
    pub occupancy_mean: Spread<Bytes>,
}

impl CacheUse {
    /// Of every cache; of none where the policy gives none out.
    pub(super) fn of(machine: &Machine, outcomes: &[Outcome]) -> Vec<Self> {
        let of = |id: usize| {
            let cluster = &machine.clusters()[id];
            let cache = cluster.cache?;
            let bytes = |get: fn(&Occupancy) -> Bytes| {
                let found: Option<Vec<_>> =
                    outcomes.iter().map(|o| o.occupancy.get(id).map(get)).collect();
                Spread::of(found?)
            };
            Some(Self {
                cluster: ClusterId(id as u32),
                level: cache.level,
                first_worker: cluster.workers.start,
                last_worker: cluster.workers.end - 1,
                size: cache.size,
                anchors: Spread::of(outcomes.iter().map(|o| o.anchors[id]))?,
                occupancy_max: bytes(|o| o.max)?,
                occupancy_mean: bytes(|o| o.mean)?,
            })
        };
        (0..machine.clusters().len()).filter_map(of).collect()
    }
}
