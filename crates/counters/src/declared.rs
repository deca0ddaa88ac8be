//! Sizes that the program declares, in the place of counted misses.

use befit_machine::{Bytes, Lines};

use crate::{CountersError, Counts, Event, Quantity, Source, SourceKind};

/// Takes a strand's declared size for its misses, as if every line of it were brought in once.
///
/// What a task declares includes all its descendants; declare it here only for tasks that fork
/// nothing, or the own part of those that do.
#[derive(Clone, Debug)]
pub struct Declared {
    line: Bytes,
    since: Option<Lines>,
}

const EVENTS: [Event; 1] =
    [Event { quantity: Quantity::PrivateMisses, level: None, name: "declared size" }];

impl Declared {
    /// A source that counts lines of `line` bytes (0 is taken for 1).
    pub fn new(line: Bytes) -> Self {
        Self { line: Bytes(line.0.max(1)), since: None }
    }

    /// The running strand touches `size` bytes; rounded up to lines. Several declarations before a
    /// read add up.
    pub fn declare(&mut self, size: Bytes) {
        let lines = size.0.div_ceil(self.line.0);
        self.since = Some(Lines(self.since.unwrap_or_default().0.saturating_add(lines)));
    }
}

impl Source for Declared {
    fn kind(&self) -> SourceKind {
        SourceKind::Declared
    }

    fn events(&self) -> &[Event] {
        &EVENTS
    }

    /// What was declared since the last read; `None` if nothing was, which is not the same as a
    /// size of 0. Never fails.
    fn read(&mut self) -> Result<Counts, CountersError> {
        Ok(Counts { private_misses: self.since.take(), ..Counts::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_sizes_are_rounded_up_to_lines_and_add_up_until_read() {
        let mut source = Declared::new(Bytes(64));
        source.declare(Bytes(65));
        source.declare(Bytes(64));
        assert_eq!(source.read().unwrap().private_misses, Some(Lines(3)));
        assert_eq!(source.read().unwrap().private_misses, None);
    }

    #[test]
    fn a_declared_size_of_nothing_is_known() {
        let mut source = Declared::new(Bytes(0));
        source.declare(Bytes(0));
        assert_eq!(source.read().unwrap().private_misses, Some(Lines(0)));
    }

    #[test]
    fn absurd_sizes_saturate() {
        let mut source = Declared::new(Bytes(1));
        source.declare(Bytes(u64::MAX));
        source.declare(Bytes(u64::MAX));
        let counts = source.read().unwrap();
        assert_eq!(counts.private_misses, Some(Lines(u64::MAX)));
        assert_eq!(counts.moved(Bytes(64)), Some(Bytes(u64::MAX)));
    }
}
