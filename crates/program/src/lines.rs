//! From the lines of the recorded process to dense numbers.
//!
//! A process touches a few stretches of a huge address space. The builder notes which pages were
//! touched ([`PageSet`]); when it is done, runs of touched pages become [`Spans`], numbered one
//! after another from 0. Order is kept, neighbours stay neighbours, and a line keeps its place
//! within its page, so that the low bits of a cache's set index are those of the recorded process.

use std::collections::HashMap;

/// Lines in a page: 4 KiB of 64 B lines.
pub(crate) const PAGE_LINES: u64 = 64;

/// Line numbers lie below this: a 64-bit address holds no more lines of 64 B.
pub(crate) const LINE_LIMIT: u64 = 1 << 58;

/// One stretch of touched pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Span {
    /// Its first line in the recorded process.
    pub(crate) first: u64,
    pub(crate) lines: u64,
    /// The dense number of its first line.
    pub(crate) dense: u32,
}

impl Span {
    /// The dense number of `line`, when the span holds it.
    #[inline]
    pub(crate) fn dense(&self, line: u64) -> Option<u32> {
        let offset = line.wrapping_sub(self.first);
        (offset < self.lines).then(|| self.dense + offset as u32)
    }
}

/// Spans, ascending, with at least a page between any two: the neighbour of a touched line, if
/// touched, is in the same span.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Spans {
    pub(crate) table: Vec<Span>,
    /// Lines in all spans.
    pub(crate) lines: u32,
}

impl Spans {
    /// Numbers `stretches`; none when they have more lines than numbers.
    pub(crate) fn number(mut stretches: Vec<Span>) -> Option<Self> {
        let mut lines = 0u32;
        for span in &mut stretches {
            span.dense = lines;
            lines = lines.checked_add(u32::try_from(span.lines).ok()?)?;
        }
        Some(Self { table: stretches, lines })
    }

    /// The span that holds `line`. `hint` is the place of the span found last: constant time when
    /// the line is there again, else logarithmic in the number of spans.
    #[inline]
    pub(crate) fn find(&self, line: u64, hint: &mut u32) -> Option<&Span> {
        match self.table.get(*hint as usize) {
            Some(span) if line.wrapping_sub(span.first) < span.lines => Some(span),
            _ => self.search(line, hint),
        }
    }

    /// How many lines of the spans lie below `line`. Logarithmic in the number of spans.
    pub(crate) fn below(&self, line: u64) -> u32 {
        let after = self.table.partition_point(|span| span.first < line);
        let last = after.checked_sub(1).map(|at| &self.table[at]);
        last.map_or(0, |span| span.dense + (line - span.first).min(span.lines) as u32)
    }

    #[inline(never)]
    fn search(&self, line: u64, hint: &mut u32) -> Option<&Span> {
        let after = self.table.partition_point(|span| span.first <= line);
        let span = self.table.get(after.checked_sub(1)?)?;
        *hint = after as u32 - 1;
        (line - span.first < span.lines).then_some(span)
    }
}

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
            let leaf = &self.leaves[leaf as usize];
            for page in
                (0..LEAF_PAGES).filter(|page| leaf[(page / 64) as usize] >> (page % 64) & 1 != 0)
            {
                let first = (number * LEAF_PAGES + page) * PAGE_LINES;
                match spans.last_mut().filter(|last| last.first + last.lines == first) {
                    Some(last) => last.lines += PAGE_LINES,
                    None => spans.push(Span { first, lines: PAGE_LINES, dense: 0 }),
                }
            }
        }
        spans
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touched_pages_become_dense_and_keep_order_neighbours_and_place_in_page() {
        let mut pages = PageSet::new();
        let lines =
            [5, 63, 64, 130, 1 << 40, (1 << 40) + 64, 1 << 57, 64 * 32767, 64 * 32768, 1000];
        lines.iter().for_each(|&line| pages.insert_line(line));
        let spans = Spans::number(pages.stretches()).unwrap();
        assert_eq!(spans.table.len(), 5, "{spans:?}");
        assert_eq!(u64::from(spans.lines), 64 * (3 + 1 + 2 + 2 + 1));
        let mut sorted = lines;
        sorted.sort_unstable();
        let mut hint = 0;
        let dense: Vec<u32> = sorted
            .iter()
            .map(|&line| spans.find(line, &mut hint).unwrap().dense(line).unwrap())
            .collect();
        assert!(dense.is_sorted_by(|a, b| a < b));
        for (line, dense) in sorted.iter().zip(dense) {
            assert_eq!(line % 64, u64::from(dense) % 64);
        }
        for line in [192, 999 + 64, (1 << 40) - 1, (1 << 57) + 64, u64::MAX] {
            assert_eq!(spans.find(line, &mut hint), None, "{line}");
        }
    }

    #[test]
    fn lines_below_a_line_are_those_of_the_stretches_before_it() {
        let span = |first, lines| Span { first, lines, dense: 0 };
        let spans = Spans::number(vec![span(128, 64), span(320, 128)]).unwrap();
        let below = [0, 127, 128, 130, 191, 192, 319, 320, 321, 447, 448, 9999];
        let expected = [0, 0, 0, 2, 63, 64, 64, 64, 65, 191, 192, 192];
        assert_eq!(below.map(|line| spans.below(line)), expected);
        let found = [127, 128, 192, 320, 448].map(|line| {
            let span = spans.find(line, &mut 0);
            span.map(|span| span.first)
        });
        assert_eq!(found, [None, Some(128), None, Some(320), None]);
    }

    #[test]
    fn more_lines_than_numbers_are_refused() {
        let span = |first| Span { first, lines: 1 << 31, dense: 0 };
        assert!(Spans::number(vec![span(0)]).is_some());
        assert!(Spans::number(vec![span(0), span(1 << 40)]).is_none());
    }
}
