//! The inner loops in plain Rust: for hosts without AVX2, and to test the other against.

use super::{LINE, Lanes, WIDTH};

/// Plain Rust; the compiler vectorises what it can for the baseline of the target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Portable;

impl Lanes for Portable {
    #[inline(always)]
    fn find(self, set: &[u32], line: u32) -> usize {
        let (steps, _) = set.as_chunks::<WIDTH>();
        for (i, step) in steps.iter().enumerate() {
            // No early exit within a step: the comparison of all eight is one or two vector
            // instructions.
            let mut hits = 0u32;
            for (lane, entry) in step.iter().enumerate() {
                hits |= u32::from(entry & LINE == line) << lane;
            }
            if hits != 0 {
                return i * WIDTH + hits.trailing_zeros() as usize;
            }
        }
        set.len()
    }

    #[inline(always)]
    fn rotate(self, set: &mut [u32], way: usize, front: u32) {
        set.copy_within(..way, 1);
        set[0] = front;
    }
}
