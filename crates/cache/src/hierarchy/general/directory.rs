//! The directory: what is known of each line, found by the line's number, and above all its
//! sharers.
//!
//! A row starts with one bit per chain of caches (*held*: some cache of the chain has the line),
//! then the bit *modified*, then one bit per cache (*lost*: the cache had the line until another
//! worker's write took it away). On machines of more than 511 chains rows would be long and nearly
//! empty; there a line has two lists instead, of the chains and of the caches whose bit would be
//! set.
//!
//! What is held is exact. *Modified* set means that some cache may be newer than memory; clear,
//! that none is. Where the last-level cache is inclusive, the bit is exact too and stands for that
//! cache's own dirty flag (the cache is `tracked`): a line that is modified below such a cache is
//! always also in it, so a write-back into it need not search it.

use super::lists::Lists;
use crate::{
    hierarchy::layout::Layout,
    hint::{on_huge_pages, prefetch, prefetch_two, zeros_on_huge_pages},
};

/// Lines whose lists are made together (128 MiB): a power of two.
const TOGETHER: usize = 1 << 20;

/// The lists of a line that no cache has had.
static NONE: Lists = Lists::NONE;

#[derive(Clone, Debug)]
pub(in crate::hierarchy) struct Directory {
    words: Vec<u64>,
    row: usize,
    modified: u32,
    /// By line, in place of rows; each [`TOGETHER`] of them, empty until one is entered.
    lists: Vec<Vec<Lists>>,
    lines: usize,
}

impl Directory {
    pub(super) fn new(layout: &Layout, lines: u32) -> Self {
        let listed = if layout.words == 0 { lines as usize } else { 0 };
        let mut new = Self {
            words: Vec::new(),
            row: layout.row,
            modified: layout.modified,
            lists: vec![Vec::new(); listed.div_ceil(TOGETHER)],
            lines: listed,
        };
        new.words = zeros_on_huge_pages(new.start(lines));
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
    pub(super) fn lists(&self, line: u32) -> &Lists {
        let line = line as usize;
        self.lists[line / TOGETHER].get(line % TOGETHER).unwrap_or(&NONE)
    }

    #[inline(always)]
    pub(super) fn lists_mut(&mut self, line: u32) -> &mut Lists {
        let (at, line) = (line as usize / TOGETHER, line as usize % TOGETHER);
        let lists = &mut self.lists[at];
        if lists.is_empty() {
            make(lists, self.lines - at * TOGETHER);
        }
        &mut lists[line]
    }

    #[inline(always)]
    fn has_lists(&self) -> bool {
        self.row == 0
    }

    #[inline(always)]
    fn word_mut(&mut self, line: u32, bit: u32) -> &mut u64 {
        let start = self.start(line);
        &mut self.words[start + (bit / 64) as usize]
    }

    /// Whether some cache of `chain` has `line`.
    #[inline(always)]
    pub(in crate::hierarchy) fn held(&self, line: u32, chain: u32) -> bool {
        if self.has_lists() {
            return self.lists(line).holds(chain);
        }
        self.words[self.start(line) + (chain / 64) as usize] >> (chain % 64) & 1 != 0
    }

    #[inline(always)]
    pub(super) fn hold(&mut self, line: u32, chain: u32) {
        if self.has_lists() {
            return self.lists_mut(line).hold(chain);
        }
        *self.word_mut(line, chain) |= 1 << (chain % 64);
    }

    #[inline(always)]
    pub(super) fn release(&mut self, line: u32, chain: u32) {
        if self.has_lists() {
            return self.lists_mut(line).release(chain);
        }
        *self.word_mut(line, chain) &= !(1 << (chain % 64));
    }

    /// A cache loses the line; `lost` is its bit.
    #[inline(always)]
    pub(super) fn lose(&mut self, line: u32, lost: u32) {
        if self.has_lists() {
            return self.lists_mut(line).lose(lost);
        }
        *self.word_mut(line, lost) |= 1 << (lost % 64);
    }

    /// Whether some cache may be newer than memory.
    #[inline(always)]
    pub(in crate::hierarchy) fn modified(&self, line: u32) -> bool {
        if self.has_lists() { self.lists(line).modified } else { self.held(line, self.modified) }
    }

    #[inline(always)]
    pub(super) fn set_modified(&mut self, line: u32, to: bool) {
        if self.has_lists() {
            self.lists_mut(line).modified = to;
            return;
        }
        let bit = self.modified;
        assign(self.word_mut(line, bit), bit, to);
    }

    /// Clears *modified*; returns whether it was set.
    #[inline(always)]
    pub(super) fn take_modified(&mut self, line: u32) -> bool {
        if self.has_lists() {
            return std::mem::take(&mut self.lists_mut(line).modified);
        }
        let bit = self.modified;
        take(self.word_mut(line, bit), bit)
    }

    /// Like [`Self::held`], as far as a short look tells: a line of very many sharers may be said
    /// to be held where it is not. False for a line beyond the last.
    #[inline(always)]
    pub(super) fn glance(&self, line: u32, chain: u32) -> bool {
        if self.has_lists() {
            let line = line as usize;
            let lists = self.lists.get(line / TOGETHER).and_then(|all| all.get(line % TOGETHER));
            return lists.is_some_and(|lists| lists.may_hold(chain));
        }
        let word = self.words.get(self.start(line) + (chain / 64) as usize);
        word.is_some_and(|w| w >> (chain % 64) & 1 != 0)
    }

    /// Asks the host to bring the row of `line` near.
    #[inline(always)]
    pub(super) fn prefetch(&self, line: u32) {
        if self.has_lists() {
            let line = line as usize;
            if let Some(lists) = self.lists.get(line / TOGETHER) {
                prefetch_two(lists, line % TOGETHER);
            }
            return;
        }
        prefetch(&self.words, self.start(line));
    }
}

/// Makes the lists of so many lines, or of as many as are made together.
#[cold]
#[inline(never)]
fn make(lists: &mut Vec<Lists>, lines: usize) {
    *lists = on_huge_pages(Lists::NONE, lines.min(TOGETHER));
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
