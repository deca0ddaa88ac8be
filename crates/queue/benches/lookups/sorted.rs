//! A sorted array, searched by halving.

use befit_queue::{Walk, WalkStep};

use crate::{Index, value};

pub(crate) struct Sorted(Vec<u64>);

/// A search under way: the key is in `base..base + size`, if anywhere.
pub(crate) struct Search<'a> {
    keys: &'a [u64],
    key: u64,
    base: usize,
    size: usize,
}

impl Walk for Search<'_> {
    type Output = Option<u64>;

    #[inline(always)]
    fn step(&mut self) -> WalkStep<Option<u64>> {
        if self.size > 1 {
            let half = self.size / 2;
            if self.keys[self.base + half] <= self.key {
                self.base += half;
            }
            self.size -= half;
            return WalkStep::to(&self.keys[self.base + self.size / 2]);
        }
        let found = self.keys[self.base];
        WalkStep::Done((found == self.key).then(|| value(found)))
    }
}

impl Index for Sorted {
    const NAME: &str = "sorted array";
    type Search<'a> = Search<'a>;

    fn build(bytes: usize) -> Self {
        // Halving a power of two lands on few sets of a cache, which is another matter.
        let len = (bytes / 8 - bytes / 300).max(1);
        Self((0..len as u64).map(|rank| 2 * rank + 1).collect())
    }

    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.0)
    }

    fn get(&self, key: u64) -> Option<u64> {
        self.0.binary_search(&key).is_ok().then(|| value(key))
    }

    fn search(&self, key: u64) -> Search<'_> {
        Search { keys: &self.0, key, base: 0, size: self.0.len() }
    }
}
