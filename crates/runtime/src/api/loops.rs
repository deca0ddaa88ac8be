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

use std::ops::Range;

use super::{current_num_threads, fit, join};

/// The most bytes that a piece of several elements has. Of a half that is smaller the size tells
/// nobody anything.
pub(crate) const LEAF_BYTES: usize = 16 << 10;

/// There are at least so many pieces for each thread, if there are enough elements.
const LEAVES_PER_THREAD: usize = 16;

/// An input that can be halved.
trait Piece: Send + Sized {
    /// The number of elements.
    fn len(&self) -> usize;

    /// What they take; 0 where that is not known.
    fn bytes(&self) -> usize;

    /// The most that one of them takes, or more; 0 where that is not known.
    fn element_bytes(&self) -> usize;

    /// The first half and the rest. Of at least two elements each half has at least one.
    fn halve(self) -> (Self, Self);
}

/// Calls `leaf` with small pieces of `input`, and `merge` with the results of neighbours.
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
    let strand = input.element_bytes().saturating_mul(grain);
    Division { grain, strand, leaf, merge }.run(input)
}

/// The number of elements of a piece that is not halved further, of `len` elements with `bytes`
/// bytes.
pub(crate) fn grain(len: usize, bytes: usize, threads: usize) -> usize {
    let by_size = match bytes / len {
        0 => LEAF_BYTES,
        bytes => LEAF_BYTES / bytes,
    };
    by_size.min(len / (LEAVES_PER_THREAD * threads)).max(1)
}

/// How an input is divided.
struct Division<L, M> {
    grain: usize,
    /// The most bytes that a piece of `grain` elements has, or more than there are.
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
            let strand = |bytes: usize| self.strand.min(bytes);
            join(
                fit(bytes.0, left).strand(strand(bytes.0)),
                fit(bytes.1, right).strand(strand(bytes.1)),
            )
        } else {
            join(left, right)
        };
        (self.merge)(a, b)
    }
}

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

    fn element_bytes(&self) -> usize {
        0
    }

    fn halve(self) -> (Self, Self) {
        let middle = self.start + Piece::len(&self) / 2;
        (self.start..middle, middle..self.end)
    }
}

/// Calls `body` with each element of `slice`, maybe in parallel, in no order.
///
/// ```
/// let mut v: Vec<u64> = (0..10_000).collect();
/// befit::par_for_each_mut(&mut v, |x| *x *= *x);
/// assert_eq!(v[100], 10_000);
/// ```
///
/// # Panics
/// If `body` does: then not all elements have had their call.
pub fn par_for_each_mut<T: Send>(slice: &mut [T], body: impl Fn(&mut T) + Sync) {
    let leaf = |piece: Chunks<'_, T>| piece.elements.iter_mut().for_each(&body);
    divide(Chunks { first: 0, chunk_len: 1, elements: slice }, leaf, |(), ()| ());
}

/// Cuts `slice` into chunks of `chunk_len` elements, the last of which may be shorter, and calls
/// `body` with the index and the elements of each, maybe in parallel, in no order.
///
/// ```
/// // Rows of a matrix.
/// let mut matrix = vec![0; 6 * 100];
/// befit::par_chunks_mut(&mut matrix, 100, |row, elements| elements.fill(row));
/// assert_eq!((matrix[99], matrix[100], matrix[599]), (0, 1, 5));
/// ```
///
/// # Panics
/// If `chunk_len` is 0, or `body` panics: then not all chunks have had their call.
pub fn par_chunks_mut<T: Send>(
    slice: &mut [T],
    chunk_len: usize,
    body: impl Fn(usize, &mut [T]) + Sync,
) {
    assert!(
        chunk_len > 0,
        "par_chunks_mut: chunk_len is 0; a chunk must have at least one element"
    );
    let leaf = |piece: Chunks<'_, T>| {
        for (i, chunk) in piece.elements.chunks_mut(chunk_len).enumerate() {
            body(piece.first + i, chunk);
        }
    };
    divide(Chunks { first: 0, chunk_len, elements: slice }, leaf, |(), ()| ());
}

/// Neighbouring chunks.
struct Chunks<'a, T> {
    /// Index of the first.
    first: usize,
    chunk_len: usize,
    elements: &'a mut [T],
}

impl<T: Send> Piece for Chunks<'_, T> {
    fn len(&self) -> usize {
        self.elements.len().div_ceil(self.chunk_len)
    }

    fn bytes(&self) -> usize {
        size_of_val(self.elements)
    }

    fn element_bytes(&self) -> usize {
        self.chunk_len.saturating_mul(size_of::<T>())
    }

    fn halve(self) -> (Self, Self) {
        let chunks = Piece::len(&self) / 2;
        let Self { first, chunk_len, elements } = self;
        let (left, right) = elements.split_at_mut(chunks * chunk_len);
        (
            Self { first, chunk_len, elements: left },
            Self { first: first + chunks, chunk_len, elements: right },
        )
    }
}

/// Calls `map` with each element of `slice`, maybe in parallel, and combines the results by
/// `reduce`; returns `identity()` where there is none.
///
/// Neighbours are combined, left with right, so `reduce` must be associative, but need not be
/// commutative. `identity` is called for each piece, so its answer must not matter to `reduce`.
/// Sums of floats differ with how they are grouped, that is with the number of threads, but not
/// from run to run.
///
/// ```
/// let words = ["a", "cache", "befits", "a", "task"];
/// let longest = befit::par_map_reduce(&words, || 0, |word| word.len(), usize::max);
/// assert_eq!(longest, 6);
/// let text = befit::par_map_reduce(&words, String::new, |word| word.to_string(), |a, b| a + &b);
/// assert_eq!(text, "acachebefitsatask");
/// ```
///
/// # Panics
/// If one of the three does.
pub fn par_map_reduce<T, R>(
    slice: &[T],
    identity: impl Fn() -> R + Sync,
    map: impl Fn(&T) -> R + Sync,
    reduce: impl Fn(R, R) -> R + Sync,
) -> R
where
    T: Sync,
    R: Send,
{
    let leaf =
        |piece: &[T]| piece.iter().fold(identity(), |sum, element| reduce(sum, map(element)));
    divide(slice, leaf, &reduce)
}

impl<T: Sync> Piece for &[T] {
    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    fn bytes(&self) -> usize {
        size_of_val(*self)
    }

    fn element_bytes(&self) -> usize {
        size_of::<T>()
    }

    fn halve(self) -> (Self, Self) {
        self.split_at(<[T]>::len(self) / 2)
    }
}
