//! stub
use crate::Touch;

/// One touch as the recorder sees it, packed into a word: the absolute line number times 4, plus 2 for the stack, plus 1 for a store.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(transparent)]
pub struct RawTouch(pub u64);

impl RawTouch {
    /// A touch of `line` (an address / 64; for the stack, lines below its top).
    #[inline]
    pub const fn new(line: u64, write: bool, stack: bool) -> Self {
        Self(line << 2 | (stack as u64) << 1 | write as u64)
    }
}

/// stub
#[derive(Debug)]
pub struct Touches<'a>(std::marker::PhantomData<&'a ()>);
impl Touches<'_> {
    /// stub
    pub fn next_batch(&mut self, out: &mut [Touch]) -> usize {
        let _ = out;
        todo!()
    }
}
impl Iterator for Touches<'_> {
    type Item = Touch;
    fn next(&mut self) -> Option<Touch> {
        todo!()
    }
}
