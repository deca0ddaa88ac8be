//! Tables in which equal values stand once.

use std::collections::HashMap;
use std::hash::Hash;

/// Gives equal values the same index, in the order in which they were first seen.
#[derive(Debug)]
pub(crate) struct Interner<T> {
    table: Vec<T>,
    index: HashMap<T, u32>,
    last: Option<(T, u32)>,
}

impl<T: Copy + Eq + Hash> Interner<T> {
    pub(crate) fn new() -> Self {
        Self { table: Vec::new(), index: HashMap::new(), last: None }
    }

    /// The index of `value`; none when 2^32 different values are in. Expected constant time.
    pub(crate) fn intern(&mut self, value: T) -> Option<u32> {
        if let Some((last, index)) = self.last
            && last == value
        {
            return Some(index);
        }
        let next = u32::try_from(self.table.len()).ok()?;
        let index = *self.index.entry(value).or_insert_with(|| {
            self.table.push(value);
            next
        });
        self.last = Some((value, index));
        Some(index)
    }

    pub(crate) fn into_table(self) -> Vec<T> {
        self.table
    }
}
