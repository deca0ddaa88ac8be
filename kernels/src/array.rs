//! Arrays as kernels make and check them, on one thread, outside the pool.

use crate::KernelError;

/// `n` elements made by `element` from their indices. Time O(n).
pub(crate) fn filled<T>(n: usize, element: impl FnMut(usize) -> T) -> Result<Vec<T>, KernelError> {
    let mut array = Vec::new();
    array.try_reserve_exact(n).map_err(|_| KernelError::TooLarge { n })?;
    array.extend((0..n).map(element));
    Ok(array)
}

/// Checks that each element of `found` equals, to the bit, `expected` of its index. Time O(n).
pub(crate) fn check(
    found: &[f64],
    mut expected: impl FnMut(usize) -> f64,
) -> Result<(), KernelError> {
    for (index, &found) in found.iter().enumerate() {
        let expected = expected(index);
        if found.to_bits() != expected.to_bits() {
            return Err(KernelError::WrongResult { index, found, expected });
        }
    }
    Ok(())
}

/// Checks a result that is one number; `index` says which one it is.
pub(crate) fn check_number(index: usize, found: f64, expected: f64) -> Result<(), KernelError> {
    if found == expected {
        return Ok(());
    }
    Err(KernelError::WrongResult { index, found, expected })
}

/// Mixes the bits of `x`, so that sums over elements tell sets of them apart. Sebastiano Vigna's
/// splitmix64 (public domain).
pub(crate) fn mixed(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Checks that no element is further than `tolerance` from `expected` of its index. Time O(n).
pub(crate) fn check_near(
    found: impl Iterator<Item = f64>,
    mut expected: impl FnMut(usize) -> f64,
    tolerance: f64,
) -> Result<(), KernelError> {
    for (index, found) in found.enumerate() {
        let expected = expected(index);
        // Written so that NaN is wrong.
        let near = (found - expected).abs() <= tolerance;
        if !near {
            return Err(KernelError::WrongResult { index, found, expected });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_element_is_named() {
        let mut array = filled(100, |i| i as f64).unwrap();
        assert_eq!(check(&array, |i| i as f64), Ok(()));
        array[42] = -1.0;
        assert_eq!(
            check(&array, |i| i as f64),
            Err(KernelError::WrongResult { index: 42, found: -1.0, expected: 42.0 })
        );
    }

    #[test]
    fn near_is_near_enough_and_no_number_is_wrong() {
        let check = |found: f64| check_near([found].into_iter(), |_| 1.0, 1e-9);
        assert_eq!(check(1.0 + 1e-12), Ok(()));
        assert!(check(1.0 + 1e-6).is_err());
        assert!(check(f64::NAN).is_err());
    }

    #[test]
    fn too_large_an_array_is_an_error() {
        assert_eq!(filled(usize::MAX, |_| 0.0), Err(KernelError::TooLarge { n: usize::MAX }));
    }
}
