//! The interface of the indexes.

use befit_queue::Walk;

/// Pairs of a key and a value. All are built from the keys 1, 3, 5, …, so that even keys are
/// missing.
pub(crate) trait Index: Sync + Sized {
    /// As shown.
    const NAME: &str;

    /// A search, node by node.
    type Search<'a>: Walk<Output = Option<u64>>
    where
        Self: 'a;

    /// An index of about `bytes` bytes.
    fn build(bytes: usize) -> Self;

    /// The number of pairs.
    fn len(&self) -> u64;

    /// Bytes of the nodes.
    fn bytes(&self) -> usize;

    /// The value of `key`, found by a plain loop.
    fn get(&self, key: u64) -> Option<u64>;

    /// The same, in steps.
    fn search(&self, key: u64) -> Self::Search<'_>;

    /// Keys that are near in this order are found near to each other in memory, or on common paths.
    fn order(&self, key: u64) -> u64 {
        key
    }
}

/// The value that goes with a key.
pub(crate) fn value(key: u64) -> u64 {
    key.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Random numbers: splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", OOPSLA 2014).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `n`.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }
}
