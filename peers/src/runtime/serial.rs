//! No runtime at all: plain calls.

use super::Runtime;

/// Plain calls, which the compiler may inline and reorder as it likes.
pub(crate) struct Serial;

impl Runtime for Serial {
    type Context<'c> = ();

    fn install<W, T>(&self, _: Option<usize>, work: W) -> T
    where
        W: FnOnce(&mut ()) -> T + Send,
        T: Send,
    {
        work(&mut ())
    }

    #[inline(always)]
    fn join<A, B, X, Y>(_: &mut (), a: A, b: B) -> (X, Y)
    where
        A: FnOnce(&mut ()) -> X + Send,
        B: FnOnce(&mut ()) -> Y + Send,
        X: Send,
        Y: Send,
    {
        (a(&mut ()), b(&mut ()))
    }

    #[inline(always)]
    fn sum<F>(_: &mut (), n: usize, term: &F) -> u64
    where
        F: Fn(&mut (), usize) -> u64 + Sync,
    {
        (0..n).map(|i| term(&mut (), i)).sum()
    }
}
