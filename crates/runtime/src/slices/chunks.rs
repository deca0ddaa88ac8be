//! Loops that change a slice.

use super::{Piece, divide};

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
    divide(slice, |piece| piece.iter_mut().for_each(&body), |(), ()| ());
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

impl<T: Send> Piece for &mut [T] {
    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    fn bytes(&self) -> usize {
        size_of_val(&**self)
    }

    fn halve(self) -> (Self, Self) {
        self.split_at_mut(<[T]>::len(self) / 2)
    }
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
