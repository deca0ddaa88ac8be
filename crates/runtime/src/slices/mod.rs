//! Loops over ranges and slices: [`par_for`], [`par_for_each_mut`], [`par_chunks_mut`],
//! [`par_map_reduce`].
//!
//! They halve their input with [`join`] until a piece is small, and tell the scheduler of each half
//! how large it is ([`fit`](crate::fit())). So under `sb` and `sb-d` a half runs under the cache
//! that it befits, with nothing to declare:
//!
//! ```
//! use befit::{SchedulerKind, ThreadPoolBuilder, par_for_each_mut, par_map_reduce};
//!
//! let pool = ThreadPoolBuilder::new().scheduler(SchedulerKind::Sb).build().unwrap();
//! let mut v = vec![1.0f64; 1 << 20];
//! pool.install(|| par_for_each_mut(&mut v, |x| *x += 1.0));
//! let sum = pool.install(|| par_map_reduce(&v, || 0.0, |x| *x, |a, b| a + b));
//! assert_eq!(sum, 2097152.0);
//! ```
//!
//! # How small
//! A piece is not halved further once it has at most 16 KiB and at most a sixteenth of a thread's
//! share of the elements, or is a single one. The first bound gives a large input pieces that pass
//! through the innermost cache; they take hundreds of times longer than a fork. The second lets few
//! elements that take long spread over all threads. What elements point to is not counted: for a
//! slice of vectors, say, write the recursion yourself and declare sizes.
//!
//! # Panics
//! If the closure panics, the rest of its piece is left out; the other pieces are run; then the
//! first piece's panic, in order, goes on in the caller.

mod chunks;
mod range;
mod reduce;
#[cfg(all(test, not(befit_record), not(loom)))]
mod tests;

pub use self::{
    chunks::{par_chunks_mut, par_for_each_mut},
    range::par_for,
    reduce::par_map_reduce,
};
use crate::{current_num_threads, fit, join};

/// The most bytes that a piece of several elements has. Of a half that is smaller the size tells
/// nobody anything.
const LEAF_BYTES: usize = 16 << 10;

/// There are at least so many pieces for each thread, if there are enough elements.
const LEAVES_PER_THREAD: usize = 16;

/// An input that can be halved.
trait Piece: Send + Sized {
    /// The number of elements.
    fn len(&self) -> usize;

    /// What they take; 0 where that is not known.
    fn bytes(&self) -> usize;

    /// The first half and the rest. Of at least two elements each half has at least one.
    fn halve(self) -> (Self, Self);
}

/// Calls `leaf` with small pieces of `input`, and `merge` with the answers of neighbours.
fn divide<P, R>(input: P, leaf: impl Fn(P) -> R + Sync, merge: impl Fn(R, R) -> R + Sync) -> R
where
    P: Piece,
    R: Send,
{
    let (len, bytes) = (input.len(), input.bytes());
    if len <= 1 {
        return leaf(input);
    }
    let grain = grain(len, bytes, current_num_threads());
    Division { grain, strand: bytes / len * grain, leaf, merge }.run(input)
}

/// The number of elements of a piece that is not halved further, of `len` elements with `bytes`
/// bytes.
fn grain(len: usize, bytes: usize, threads: usize) -> usize {
    let by_size = match bytes / len {
        0 => LEAF_BYTES,
        bytes => LEAF_BYTES / bytes,
    };
    by_size.min(len / (LEAVES_PER_THREAD * threads)).max(1)
}

/// How an input is divided.
struct Division<L, M> {
    grain: usize,
    /// The most bytes that a piece of `grain` elements has.
    strand: usize,
    leaf: L,
    merge: M,
}

impl<L, M> Division<L, M> {
    fn run<P, R>(&self, input: P) -> R
    where
        P: Piece,
        R: Send,
        L: Fn(P) -> R + Sync,
        M: Fn(R, R) -> R + Sync,
    {
        if input.len() <= self.grain {
            return (self.leaf)(input);
        }
        let (left, right) = input.halve();
        let bytes = (left.bytes(), right.bytes());
        let (left, right) = (|| self.run(left), || self.run(right));
        let (a, b) = if bytes.0.min(bytes.1) >= LEAF_BYTES {
            let strand = self.strand;
            join(fit(bytes.0, left).strand(strand), fit(bytes.1, right).strand(strand))
        } else {
            join(left, right)
        };
        (self.merge)(a, b)
    }
}
