//! The directory: one row of bits per line, found by the line's number, that names its sharers.
//!
//! A row starts with one bit per chain of caches (*held*: some cache of the chain has the line),
//! then the bit *modified*, then one bit per cache (*lost*: the cache had the line until another
//! worker's write took it away).
//!
//! Held bits are exact. *Modified* set means that some cache may be newer than memory; clear, that
//! none is. Where the last-level cache is inclusive, the bit is exact too and stands for that
//! cache's own dirty flag (the cache is `tracked`): a line that is modified below such a cache is
//! always also in it, so a write-back into it need not search it.

use crate::{
    hierarchy::layout::Layout,
    hint::{on_huge_pages, prefetch},
};

#[derive(Clone, Debug)]
pub(in crate::hierarchy) struct Directory {
    words: Vec<u64>,
    row: usize,
    modified: u32,
}

impl Directory {
    pub(super) fn new(layout: &Layout, lines: u32) -> Self {
        let mut new = Self { words: Vec::new(), row: layout.row, modified: layout.modified };
        new.words = on_huge_pages(0, new.start(lines));
        new
    }

    /// Where the row of `line` starts. Four rows are skipped every 4,096, so that rows a power of
    /// two apart (workers that walk equal parts of an array) do not all fall into the same set of
    /// the host's caches.
    #[inline(always)]
    fn start(&self, line: u32) -> usize {
        (line as usize + (line as usize >> 12) * 4) * self.row
    }

    #[inline(always)]
    pub(super) fn row(&self, line: u32) -> &[u64] {
        &self.words[self.start(line)..][..self.row]
    }

    #[inline(always)]
    pub(super) fn row_mut(&mut self, line: u32) -> &mut [u64] {
        let start = self.start(line);
        &mut self.words[start..][..self.row]
    }

    #[inline(always)]
    fn word_mut(&mut self, line: u32, bit: u32) -> &mut u64 {
        let start = self.start(line);
        &mut self.words[start + (bit / 64) as usize]
    }

    #[inline(always)]
    pub(in crate::hierarchy) fn bit(&self, line: u32, bit: u32) -> bool {
        self.words[self.start(line) + (bit / 64) as usize] >> (bit % 64) & 1 != 0
    }

    #[inline(always)]
    pub(super) fn set(&mut self, line: u32, bit: u32) {
        *self.word_mut(line, bit) |= 1 << (bit % 64);
    }

    #[inline(always)]
    pub(super) fn clear(&mut self, line: u32, bit: u32) {
        *self.word_mut(line, bit) &= !(1 << (bit % 64));
    }

    /// Whether some cache may be newer than memory.
    #[inline(always)]
    pub(in crate::hierarchy) fn modified(&self, line: u32) -> bool {
        self.bit(line, self.modified)
    }

    #[inline(always)]
    pub(super) fn set_modified(&mut self, line: u32, to: bool) {
        let bit = self.modified;
        assign(self.word_mut(line, bit), bit, to);
    }

    /// Clears *modified*; returns whether it was set.
    #[inline(always)]
    pub(super) fn take_modified(&mut self, line: u32) -> bool {
        let bit = self.modified;
        take(self.word_mut(line, bit), bit)
    }

    /// Like [`Self::bit`]; false for a line beyond the last.
    #[inline(always)]
    pub(super) fn glance(&self, line: u32, bit: u32) -> bool {
        let word = self.words.get(self.start(line) + (bit / 64) as usize);
        word.is_some_and(|w| w >> (bit % 64) & 1 != 0)
    }

    /// Asks the host to bring the row of `line` near.
    #[inline(always)]
    pub(super) fn prefetch(&self, line: u32) {
        prefetch(&self.words, self.start(line));
    }
}

/// Clears bit `bit` (modulo 64) of `word`; returns whether it was set.
#[inline(always)]
pub(super) fn take(word: &mut u64, bit: u32) -> bool {
    let was = *word >> (bit % 64) & 1 != 0;
    *word &= !(1 << (bit % 64));
    was
}

/// Sets bit `bit` (modulo 64) of `word` to `to`.
#[inline(always)]
pub(super) fn assign(word: &mut u64, bit: u32, to: bool) {
    *word = *word & !(1 << (bit % 64)) | u64::from(to) << (bit % 64);
}
