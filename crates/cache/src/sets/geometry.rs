//! Where the entries of a line's set are.

use befit_machine::{Bytes, Cache, Replacement};

use crate::{
    CacheError,
    lanes::{LINE, WIDTH},
};

/// The shape of one cache, and where its entries start in the store of all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Geometry {
    /// ⌈2⁶⁴ / sets⌉, modulo 2⁶⁴.
    inverse: u64,
    pub(crate) sets: u32,
    /// Where its first set starts.
    pub(crate) first: u32,
    /// From one set to the next: the ways, rounded up.
    pub(crate) stride: u32,
    pub(crate) ways: u32,
    /// The order of the entries is the order of recency.
    pub(crate) lru: bool,
}

impl Geometry {
    /// Of `cache`, which is `what` (for error messages), with its entries from `first` on.
    pub(crate) fn new(cache: &Cache, what: &str, first: u32) -> Result<Self, CacheError> {
        let bad = |problem: String| CacheError(format!("{what} {problem}"));
        let Bytes(line) = cache.line;
        if line == 0 {
            return Err(bad("has lines of 0 bytes: give it a line length".into()));
        }
        let lines = cache.size.0 / line;
        if lines == 0 || lines * line != cache.size.0 {
            let Cache { size, line, .. } = cache;
            return Err(bad(format!("has {size}, not a multiple of its line of {line}")));
        }
        let lines = u32::try_from(lines).ok().filter(|l| *l <= LINE).ok_or_else(|| {
            bad(format!("has {lines} lines, more than the {LINE} that can be modelled"))
        })?;
        let ways = if cache.ways == 0 { lines } else { cache.ways };
        if !lines.is_multiple_of(ways) {
            return Err(bad(format!(
                "has {lines} lines, which {ways} ways do not divide: change its size or its ways"
            )));
        }
        if cache.replacement == Replacement::TreePlru && !(ways.is_power_of_two() && ways <= 64) {
            let needs = "tree-PLRU needs a power of two, at most 64";
            return Err(bad(format!("has {ways} ways: {needs}")));
        }
        let sets = lines / ways;
        let geometry = Self {
            inverse: (u64::MAX / u64::from(sets)).wrapping_add(1),
            sets,
            first,
            stride: ways.next_multiple_of(WIDTH as u32),
            ways,
            lru: cache.replacement == Replacement::Lru,
        };
        if geometry.end() > u64::from(u32::MAX - 64) {
            let what = "makes the machine's caches too large together to be modelled";
            return Err(bad(format!("{what}: more than 2³² entries")));
        }
        Ok(geometry)
    }

    /// Where its last set ends.
    pub(crate) fn end(&self) -> u64 {
        u64::from(self.first) + u64::from(self.sets) * u64::from(self.stride)
    }

    /// The set of `line`: the line number modulo the number of sets, by two multiplications
    /// (Lemire, Kaser, Kurz: Faster remainder by direct computation, 2019, section 3: exact for all
    /// 32-bit operands).
    #[inline(always)]
    pub(crate) fn set_of(&self, line: u32) -> u32 {
        let fraction = self.inverse.wrapping_mul(u64::from(line));
        ((u128::from(fraction) * u128::from(self.sets)) >> 64) as u32
    }

    /// Where the set of `line` starts.
    #[inline(always)]
    pub(crate) fn start(&self, line: u32) -> usize {
        self.first as usize + self.set_of(line) as usize * self.stride as usize
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sets::tests::shape;

    proptest! {
        #[test]
        fn the_set_is_the_line_number_modulo_the_sets(sets in 1u32..=LINE / 8, line: u32) {
            let cache = shape(u64::from(sets) * 64, 1, Replacement::Lru);
            let geometry = Geometry::new(&cache, "cache", 0).unwrap();
            prop_assert_eq!(geometry.set_of(line), line % sets);
        }
    }
}
