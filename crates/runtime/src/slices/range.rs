//! A loop over numbers.

use std::ops::Range;

use super::{Piece, divide};

/// Calls `body` with each number of `range`, maybe in parallel, in no order.
///
/// What the calls touch is not known: where that matters to the scheduler, use a function that
/// takes the slice.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
///
/// let sum = AtomicUsize::new(0);
/// befit::par_for(0..1000, |i| {
///     sum.fetch_add(i, Relaxed);
/// });
/// assert_eq!(sum.into_inner(), 499_500);
/// ```
///
/// # Panics
/// If `body` does: then not all numbers have had their call, but none has had two.
pub fn par_for(range: Range<usize>, body: impl Fn(usize) + Sync) {
    divide(range, |piece| piece.for_each(&body), |(), ()| ());
}

impl Piece for Range<usize> {
    fn len(&self) -> usize {
        // A range may end before it starts.
        self.end.saturating_sub(self.start)
    }

    fn bytes(&self) -> usize {
        0
    }

    fn halve(self) -> (Self, Self) {
        let middle = self.start + Piece::len(&self) / 2;
        (self.start..middle, middle..self.end)
    }
}
