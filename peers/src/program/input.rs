//! The input of the programs. The C++ programs make the same.

use crate::error::Error;

/// `n` elements made by `element` from their indices. Time O(n).
///
/// # Errors
/// [`Error::Memory`].
pub(crate) fn filled<T>(n: usize, element: impl FnMut(usize) -> T) -> Result<Vec<T>, Error> {
    let mut array = Vec::new();
    array.try_reserve_exact(n).map_err(|_| Error::Memory(n))?;
    array.extend((0..n).map(element));
    Ok(array)
}

/// The `i`-th of a fixed sequence of random numbers (SplitMix64: Steele, Lea, Flood, "Fast
/// splittable pseudorandom number generators", OOPSLA 2014, section 5, figure 14 with the constants
/// of mix64variant13).
#[inline]
pub(crate) fn random(i: u64) -> u64 {
    let mut x = i.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_random_numbers_are_splitmixs() {
        // The first two of the reference implementation with seed 0.
        assert_eq!([random(0), random(1)], [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]);
    }

    #[test]
    fn too_large_an_array_is_an_error() {
        assert!(matches!(filled(usize::MAX, |_| 0.0), Err(Error::Memory(usize::MAX))));
    }
}
