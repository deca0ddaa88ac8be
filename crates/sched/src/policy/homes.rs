//! Where tasks ran the last time: the memory of `sb-x`.
//!
//! A task's *identity* is made of its parent's and of its index, which begins anew at each sync. So the parts of a repeated loop have the same
//! identities each time round, as in CATS (Chen, Guo & Guan, section 3): a task with the identity of an earlier one
//! most likely works on the same data.

use std::sync::atomic::{AtomicU32, Ordering};

/// Tasks remembered per cluster; a newer one takes the place of an older one.
const SLOTS: usize = 1 << 14;

/// Which child of one cluster each identity was last let in to. Forgets; answers nothing that it was not told.
#[derive(Debug)]
pub(super) struct Homes(Vec<AtomicU32>);

/// Makes a child's identity, never 0.
pub(super) fn identity(parent: u32, index: u32) -> u32 {
    let mixed = (u64::from(parent) << 32 | u64::from(index)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed >> 32) as u32 | 1
}

impl Homes {
    /// Knows nothing. `used` is false for a cluster of which nobody will ask.
    pub(super) fn new(used: bool) -> Self {
        Self((0..if used { SLOTS } else { 0 }).map(|_| AtomicU32::new(0)).collect())
    }

    /// The child that `identity` was last let in to.
    pub(super) fn of(&self, identity: u32) -> Option<u8> {
        // Slot by the lower bits; the upper ones are kept, so that another's entry is not taken for it.
        let slot = self.0.get(identity as usize % SLOTS)?.load(Ordering::Relaxed);
        (slot & !0xff == identity & !0xff && slot & 0xff != 0).then(|| (slot & 0xff) as u8 - 1)
    }

    /// `identity` was let in to `child`. Children beyond the 254th are not remembered.
    pub(super) fn note(&self, identity: u32, child: usize) {
        if let (Some(slot), Ok(child @ 0..=253)) = (self.0.get(identity as usize % SLOTS), u8::try_from(child)) {
            slot.store(identity & !0xff | u32::from(child + 1), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_is_remembered_until_another_takes_its_place() {
        let homes = Homes::new(true);
        let task = identity(identity(0, 1), 3);
        assert_eq!(homes.of(task), None);
        homes.note(task, 2);
        assert_eq!(homes.of(task), Some(2));
        homes.note(task, 0);
        assert_eq!(homes.of(task), Some(0));
        homes.note(task ^ 0x8000_0000, 1);
        assert_eq!(homes.of(task), None);
        assert_eq!(Homes::new(false).of(task), None);
    }
}
