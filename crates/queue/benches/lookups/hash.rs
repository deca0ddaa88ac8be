//! A hash table with open addressing, half full: nearly always one cache line a look-up.

use befit_queue::{Walk, WalkStep};

use crate::{Index, value};

/// Key and value; the key 0 marks a free slot.
type Slot = (u64, u64);

pub(crate) struct Hash {
    slots: Vec<Slot>,
    /// 64 minus the number of bits of a slot's number.
    shift: u32,
    len: u64,
}

impl Hash {
    /// The first slot to look at for `key`: Fibonacci hashing (Knuth, "The Art of Computer
    /// Programming", vol. 3, 6.4).
    #[inline(always)]
    fn first(&self, key: u64) -> usize {
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    #[inline(always)]
    fn probe(&self, mut at: usize, key: u64) -> Option<u64> {
        loop {
            match self.slots[at] {
                (found, value) if found == key => return Some(value),
                (0, _) => return None,
                _ => at = (at + 1) & (self.slots.len() - 1),
            }
        }
    }
}

/// A search under way.
pub(crate) struct Search<'a> {
    table: &'a Hash,
    key: u64,
    at: usize,
    asked: bool,
}

impl Walk for Search<'_> {
    type Output = Option<u64>;

    #[inline(always)]
    fn step(&mut self) -> WalkStep<Option<u64>> {
        if !std::mem::replace(&mut self.asked, true) {
            self.at = self.table.first(self.key);
            return WalkStep::to(&self.table.slots[self.at]);
        }
        // Further slots are on the same line mostly.
        WalkStep::Done(self.table.probe(self.at, self.key))
    }
}

impl Index for Hash {
    const NAME: &str = "hash table";
    type Search<'a> = Search<'a>;

    fn build(bytes: usize) -> Self {
        let slots = ((bytes / size_of::<Slot>() + 1).next_power_of_two() >> 1).max(4);
        let len = slots as u64 / 2;
        let mut table =
            Self { slots: vec![(0, 0); slots], shift: 64 - slots.trailing_zeros(), len };
        for rank in 0..len {
            let key = 2 * rank + 1;
            let mut at = table.first(key);
            while table.slots[at].0 != 0 {
                at = (at + 1) & (slots - 1);
            }
            table.slots[at] = (key, value(key));
        }
        table
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.slots)
    }

    fn get(&self, key: u64) -> Option<u64> {
        self.probe(self.first(key), key)
    }

    fn search(&self, key: u64) -> Search<'_> {
        Search { table: self, key, at: 0, asked: false }
    }

    /// The slot: neighbours in the order of keys are far apart.
    fn order(&self, key: u64) -> u64 {
        self.first(key) as u64
    }
}
