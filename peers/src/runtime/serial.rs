//! No runtime at all: plain calls.

use super::Runtime;

/// Plain calls, which the compiler may inline and reorder as it likes.
pub(crate) struct Serial;

impl Runtime for Serial {
    type Context<'c> = ();

    fn install<T: Send>(&self, _: Option<usize>, work: impl FnOnce(&mut ()) -> T + Send) -> T {
        work(&mut ())
    }

    #[inline(always)]
    fn join<X: Send, Y: Send>(
        _: &mut (),
        a: impl FnOnce(&mut ()) -> X + Send,
        b: impl FnOnce(&mut ()) -> Y + Send,
    ) -> (X, Y) {
        (a(&mut ()), b(&mut ()))
    }

    #[inline(always)]
    fn sum<F: Fn(&mut (), usize) -> u64 + Sync>(_: &mut (), n: usize, term: &F) -> u64 {
        (0..n).map(|i| term(&mut (), i)).sum()
    }
}
