//! A touch as it is recorded.

/// One touch as the recorder sees it, packed into a word: the line's number times 4, plus 2 for a
/// stack line, plus 1 for a store.
///
/// The number is absolute (an address divided by 64) or, for the stack, how many lines below the
/// stack's top it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(transparent)]
pub struct RawTouch(pub u64);

impl RawTouch {
    /// A touch of `line`, which must be below 2^58.
    #[inline]
    pub const fn new(line: u64, write: bool, stack: bool) -> Self {
        Self(line << 2 | (stack as u64) << 1 | write as u64)
    }

    /// The line's number.
    #[inline]
    pub const fn line(self) -> u64 {
        self.0 >> 2
    }

    /// Whether it is a store.
    #[inline]
    pub const fn write(self) -> bool {
        self.0 & 1 != 0
    }

    /// Whether the line is on the stack.
    #[inline]
    pub const fn stack(self) -> bool {
        self.0 & 2 != 0
    }
}
