//! Words of a made-up dictionary.

use std::cmp::Ordering;

/// A word of four letters in each of `FOURS` numbers, the first letter in the highest byte: numbers
/// compare as their letters do, and a comparison loads four letters at once, as it would from text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Word<const FOURS: usize>([u32; FOURS]);

/// Fours of letters that tell words apart; further letters are all the same.
const TELLING: u32 = 3;

/// Words of four letters.
const OF_FOUR: u64 = 26u64.pow(4);

/// The word of four letters of this rank, as a number.
fn four(rank: u64) -> u32 {
    let letter = |place: u32| (u64::from(b'A') + rank / 26u64.pow(place) % 26) << (8 * place);
    (letter(0) | letter(1) | letter(2) | letter(3)) as u32
}

impl<const FOURS: usize> Word<FOURS> {
    /// The word of this rank among `n`, spread evenly over all words of twelve letters: the first
    /// four letters mostly decide which of two comes first.
    pub(super) fn of(rank: u32, n: u32) -> Self {
        let spread = (u64::from(rank) + 1) * (OF_FOUR.pow(TELLING) / (u64::from(n) + 1));
        let mut word = [four(0); FOURS];
        word[0] = four(spread / OF_FOUR.pow(2));
        word[1] = four(spread / OF_FOUR % OF_FOUR);
        word[2] = four(spread % OF_FOUR);
        Self(word)
    }

    /// Which comes first, four letters at a time.
    // By index, not by iterators: the instrumented build may call an iterator's functions instead
    // of inlining them. It then touches memory several times more for each node.
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        for four in 0..FOURS {
            match self.0[four].cmp(&other.0[four]) {
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
            let words: Vec<Word<3>> = (0..n).map(|rank| Word::of(rank, n)).collect();
            let letters = |word: &Word<3>| word.0.map(u32::to_be_bytes).concat();
            assert!(words.windows(2).all(|w| w[0].compare(&w[1]) == Ordering::Less), "n = {n}");
            assert!(words.windows(2).all(|w| letters(&w[0]) < letters(&w[1])), "n = {n}");
            assert!(words.iter().flat_map(letters).all(|letter| letter.is_ascii_uppercase()));
        }
    }
}
