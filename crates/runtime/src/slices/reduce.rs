//! A loop that answers something.

use super::{Piece, divide};

/// Calls `map` with each element of `slice`, maybe in parallel, and combines the answers by
/// `reduce`; answers `identity()` where there is none.
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

    fn halve(self) -> (Self, Self) {
        self.split_at(<[T]>::len(self) / 2)
    }
}
