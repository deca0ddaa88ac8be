//! Words of a made-up dictionary.

use std::cmp::Ordering;

/// A word of so many letters, in upper case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Word<const LETTERS: usize>([u8; LETTERS]);

/// Letters that tell words apart; any further are all the same.
const TELLING: u32 = 12;

impl<const LETTERS: usize> Word<LETTERS> {
    /// The word of this rank among `n`, spread evenly over all words of twelve letters: the first four letters mostly
    /// decide which of two comes first.
    pub(super) fn of(rank: u32, n: u32) -> Self {
        let mut left = (u64::from(rank) + 1) * (26u64.pow(TELLING) / (u64::from(n) + 1));
        let mut letters = [b'A'; LETTERS];
        for letter in letters[..TELLING as usize].iter_mut().rev() {
            *letter += (left % 26) as u8;
            left /= 26;
        }
        Self(letters)
    }

    /// Which comes first, four letters at a time.
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let four = |word: &Self, at: usize| u32::from_be_bytes([0, 1, 2, 3].map(|i| word.0[4 * at + i]));
        for at in 0..LETTERS / 4 {
            match four(self, at).cmp(&four(other, at)) {
                Ordering::Equal => {}
                decided => return decided,
            }
        }
        Ordering::Equal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_in_the_order_of_their_ranks() {
        for n in [1, 7, 1000, (1 << 18) - 1] {
            let words: Vec<Word<12>> = (0..n).map(|rank| Word::of(rank, n)).collect();
            assert!(words.windows(2).all(|w| w[0].compare(&w[1]) == Ordering::Less && w[0].0 < w[1].0), "n = {n}");
        }
    }
}
