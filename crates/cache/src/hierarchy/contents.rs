//! What the caches hold, for those who look without using.

use befit_machine::ClusterId;

use super::Hierarchy;

impl Hierarchy {
    /// Whether the cache of `cluster` holds `line`; not a use. False for the root. O(ways).
    pub fn holds(&self, cluster: ClusterId, line: u32) -> bool {
        let cache = cluster.0.wrapping_sub(1) as usize;
        cache < self.layout.caches.len() && line < self.lines && self.entry(cache, line).is_some()
    }

    /// Sets of the cache of `cluster`, and ways of each; none for the root.
    pub fn sets_and_ways(&self, cluster: ClusterId) -> Option<(u32, u32)> {
        let info = self.layout.caches.get(cluster.0.wrapping_sub(1) as usize)?;
        Some((info.geometry.sets, info.geometry.ways))
    }

    /// The set that `line` falls into in the cache of `cluster`; 0 for the root.
    pub fn set_of(&self, cluster: ClusterId, line: u32) -> u32 {
        self.layout
            .caches
            .get(cluster.0.wrapping_sub(1) as usize)
            .map_or(0, |info| info.geometry.set_of(line))
    }
}
