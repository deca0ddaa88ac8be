//! The strands, of which most are like others.

use crate::{StrandId, narrow::Narrow, tables::Interner};

/// A strand, by the index of what it shares with strands like it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Strand {
    pub(crate) blob: u32,
    pub(crate) cost: u32,
}

/// All strands; those that are alike stand once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Strands {
    different: Vec<Strand>,
    /// Per strand, which of `different`.
    numbers: Narrow,
}

impl Strands {
    #[inline]
    pub(crate) fn get(&self, strand: StrandId) -> Strand {
        self.different[self.numbers.get(strand.0 as usize) as usize]
    }
}

/// The same while a program is built.
#[derive(Debug, Default)]
pub(crate) struct StrandTable {
    different: Interner<Strand>,
    numbers: Narrow,
}

impl StrandTable {
    /// Adds the next strand. False when 2^32 different strands are in. Expected constant time.
    pub(crate) fn push(&mut self, strand: Strand) -> bool {
        let number = self.different.intern(strand);
        number.is_some_and(|number| {
            self.numbers.push(number);
            true
        })
    }

    pub(crate) fn finish(self) -> Strands {
        Strands { different: self.different.table, numbers: self.numbers }
    }
}
