//! Tree-PLRU: one bit per inner node of a binary tree over the ways of a set.
//!
//! Bit n (nodes numbered as in a heap, the root 1) says in which half the next victim is: 0 left, 1
//! right. A use makes the bits on its way down point to the other half.

/// The way that makes room.
pub(crate) fn victim(bits: u64, ways: usize) -> usize {
    let mut node = 1;
    while node < ways {
        node = 2 * node + (bits >> node & 1) as usize;
    }
    node - ways
}

/// The bits after a use of `way`.
pub(crate) fn used(mut bits: u64, ways: usize, way: usize) -> u64 {
    let mut node = way + ways;
    while node > 1 {
        let right = node & 1;
        node /= 2;
        bits = bits & !(1 << node) | u64::from(right == 0) << node;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_victim_is_in_the_half_not_used_last() {
        let mut bits = 0;
        for way in 0..4 {
            bits = used(bits, 4, way);
        }
        assert_eq!(victim(bits, 4), 0);
        bits = used(bits, 4, 0);
        assert_eq!(victim(bits, 4), 2);
        bits = used(bits, 4, 2);
        assert_eq!(victim(bits, 4), 1);
    }

    #[test]
    fn the_way_just_used_is_never_the_victim() {
        let mut bits = 0;
        for i in 0..1000usize {
            let way = i * 7 % 64;
            bits = used(bits, 64, way);
            assert_ne!(victim(bits, 64), way);
        }
    }
}
