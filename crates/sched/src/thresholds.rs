//! Which cache a size befits.

use befit_machine::Bytes;

/// σM for each of a row of caches: a task befits a cache M if it is no larger than σM (Simhadri et
/// al. 2016, section 4).
///
/// ```
/// use befit_machine::Bytes;
/// use befit_sched::Thresholds;
///
/// let outwards = Thresholds::new([Bytes::kib(64), Bytes::kib(1024), Bytes(u64::MAX)], 0.5);
/// assert_eq!(outwards.too_small_for(Bytes::kib(32)), 0);
/// assert_eq!(outwards.too_small_for(Bytes::kib(33)), 1);
/// assert_eq!(outwards.too_small_for(Bytes::kib(4096)), 2);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Thresholds(Vec<Bytes>);

impl Thresholds {
    /// For caches of these sizes, in this order. Memory has [`u64::MAX`] bytes, which everything
    /// befits.
    pub fn new(caches: impl IntoIterator<Item = Bytes>, sigma: f64) -> Self {
        Self(caches.into_iter().map(|size| Self::share(size, sigma)).collect())
    }

    /// A share of a cache of `size`; all of memory.
    pub fn share(size: Bytes, share: f64) -> Bytes {
        if size.0 == u64::MAX { size } else { Bytes((size.0 as f64 * share) as u64) }
    }

    /// How many of the first caches are too small for `size`. In a row from the innermost cache out
    /// that is the index of the cache that it befits.
    pub fn too_small_for(&self, size: Bytes) -> usize {
        self.0.iter().take_while(|befits| size > **befits).count()
    }

    /// How many of the first caches `size` befits. In a row from the outermost cache in that is how
    /// far in it can go.
    pub fn befit_by(&self, size: Bytes) -> usize {
        self.0.iter().take_while(|befits| size <= **befits).count()
    }

    /// The most that befits any of the caches.
    pub fn largest(&self) -> Bytes {
        self.0.iter().copied().max().unwrap_or_default()
    }
}
