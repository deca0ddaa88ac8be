//! The stretches of the address space that were touched, and their dense numbers.

/// One stretch of touched pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Span {
    /// Its first line in the recorded process.
    pub(crate) first: u64,
    /// How many lines it has.
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
    table: Vec<Span>,
    lines: u32,
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

    /// Lines in all spans.
    pub(crate) fn lines(&self) -> u32 {
        self.lines
    }

    pub(crate) fn table(&self) -> &[Span] {
        &self.table
    }

    /// The span that holds `line`. `hint` is where the last answer stood: constant time when the
    /// line is there again, else logarithmic in the number of spans.
    #[inline]
    pub(crate) fn find(&self, line: u64, hint: &mut u32) -> Option<&Span> {
        match self.table.get(*hint as usize) {
            Some(span) if line.wrapping_sub(span.first) < span.lines => Some(span),
            _ => self.search(line, hint),
        }
    }

    #[inline(never)]
    fn search(&self, line: u64, hint: &mut u32) -> Option<&Span> {
        let after = self.table.partition_point(|span| span.first <= line);
        let span = self.table.get(after.checked_sub(1)?)?;
        *hint = after as u32 - 1;
        (line - span.first < span.lines).then_some(span)
    }
}

#[cfg(test)]
mod tests {
    use super::super::PageSet;
    use super::*;

    #[test]
    fn touched_pages_become_dense_and_keep_order_neighbours_and_place_in_page() {
        let mut pages = PageSet::new();
        let lines =
            [5, 63, 64, 130, 1 << 40, (1 << 40) + 64, 1 << 57, 64 * 32767, 64 * 32768, 1000];
        lines.iter().for_each(|&line| pages.insert_line(line));
        let spans = Spans::number(pages.stretches()).unwrap();
        assert_eq!(spans.table().len(), 5, "{spans:?}");
        assert_eq!(u64::from(spans.lines()), 64 * (3 + 1 + 2 + 2 + 1));
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
    fn more_lines_than_numbers_are_refused() {
        let span = |first| Span { first, lines: 1 << 31, dense: 0 };
        assert!(Spans::number(vec![span(0)]).is_some());
        assert!(Spans::number(vec![span(0), span(1 << 40)]).is_none());
    }
}
