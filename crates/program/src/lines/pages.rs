//! The set of pages touched so far.

use std::collections::HashMap;

use super::{PAGE_LINES, Span};

/// Pages in one leaf of the set: 128 MiB of the address space in 4 KiB of bits.
const LEAF_PAGES: u64 = 1 << 15;
const WORDS: usize = LEAF_PAGES as usize / 64;
/// Leaves remembered without a look into the map. A kernel has a few arrays.
const CACHED: usize = 8;

/// A set of page numbers: leaves of bits, found through a map, the latest few remembered.
#[derive(Debug)]
pub(crate) struct PageSet {
    leaves: Vec<Box<[u64; WORDS]>>,
    index: HashMap<u64, u32>,
    cached: [(u64, u32); CACHED],
}

impl PageSet {
    pub(crate) fn new() -> Self {
        Self { leaves: Vec::new(), index: HashMap::new(), cached: [(u64::MAX, 0); CACHED] }
    }

    /// Adds the page of `line`. Constant time.
    #[inline]
    pub(crate) fn insert_line(&mut self, line: u64) {
        let page = line / PAGE_LINES;
        let number = page / LEAF_PAGES;
        let (known, leaf) = self.cached[number as usize % CACHED];
        let leaf = if known == number { leaf } else { self.find(number) };
        let bit = (page % LEAF_PAGES) as usize;
        self.leaves[leaf as usize][bit / 64] |= 1 << (bit % 64);
    }

    #[inline(never)]
    fn find(&mut self, number: u64) -> u32 {
        let leaf = *self.index.entry(number).or_insert_with(|| {
            self.leaves.push(Box::new([0; WORDS]));
            self.leaves.len() as u32 - 1
        });
        self.cached[number as usize % CACHED] = (number, leaf);
        leaf
    }

    /// The touched stretches, ascending, each as long as it can be. `dense` is left 0.
    pub(crate) fn stretches(&self) -> Vec<Span> {
        let mut numbers: Vec<(u64, u32)> = self.index.iter().map(|(&n, &leaf)| (n, leaf)).collect();
        numbers.sort_unstable();
        let mut spans: Vec<Span> = Vec::new();
        for (number, leaf) in numbers {
            for (w, &word) in self.leaves[leaf as usize].iter().enumerate() {
                let mut left = word;
                while left != 0 {
                    let page =
                        number * LEAF_PAGES + w as u64 * 64 + u64::from(left.trailing_zeros());
                    left &= left - 1;
                    match spans.last_mut() {
                        Some(last) if last.first + last.lines == page * PAGE_LINES => {
                            last.lines += PAGE_LINES
                        }
                        _ => spans.push(Span {
                            first: page * PAGE_LINES,
                            lines: PAGE_LINES,
                            dense: 0,
                        }),
                    }
                }
            }
        }
        spans
    }
}
