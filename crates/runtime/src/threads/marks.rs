//! Which of many have something, so that nobody needs to look into all of them: see [`Marks`].

use std::sync::{
    Arc,
    atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst},
};

use crossbeam_utils::CachePadded;

use crate::threads::primitive::{AtomicU64, fence};

const BITS: usize = u64::BITS as usize;

/// Which of many places may have something. The owner of a place [marks](Mark) it when it puts
/// something in. The mark stays when the place is empty again, until somebody looks there in vain.
/// So an owner that fills and empties its place again and again writes nothing here.
#[derive(Debug)]
pub(crate) struct Marks {
    words: Box<[Arc<CachePadded<AtomicU64>>]>,
}

/// The mark of one place.
#[derive(Debug)]
pub(crate) struct Mark {
    word: Arc<CachePadded<AtomicU64>>,
    bit: u64,
}

impl Mark {
    /// The owner has put something in: sees to it that the place is marked, and passes a
    /// sequentially consistent fence after that.
    #[inline(always)]
    pub(crate) fn put_in(&self) {
        fence(SeqCst);
        if self.word.load(Relaxed) & self.bit == 0 {
            mark(&self.word, self.bit);
        }
    }
}

impl Marks {
    /// No place is marked.
    pub(crate) fn new(places: usize) -> Self {
        let word = |_| Arc::new(CachePadded::new(AtomicU64::new(0)));
        Self { words: (0..places.div_ceil(BITS)).map(word).collect() }
    }

    /// The mark of a place, for its owner.
    pub(crate) fn of(&self, place: usize) -> Mark {
        Mark { word: Arc::clone(&self.words[place / BITS]), bit: 1 << (place % BITS) }
    }

    /// Calls `look` for each place that is marked, from `first` on, but not for `first` itself; it
    /// returns whether there was anything. Where there was nothing the mark is taken away, unless
    /// `is_empty` then finds that there is something: `look` is called again. Returns whether it
    /// was, as others may have overlooked something meanwhile.
    ///
    /// Nothing is overlooked by all. Suppose that something is put in while its mark is taken away.
    /// Both sides pass a fence after their write. If the owner's comes first, `is_empty` sees what
    /// was put in. If it comes second, the owner sees that there is no mark, and makes one.
    pub(crate) fn look_around(
        &self,
        first: usize,
        is_empty: impl Fn(usize) -> bool,
        mut look: impl FnMut(usize) -> bool,
    ) -> bool {
        let mut again = false;
        let count = self.words.len();
        let start = first / BITS;
        // The word of `first` is come by twice: for the places after it, and for those before it.
        for step in 0..=count {
            let at = (start + step) % count;
            let before = (1 << (first % BITS)) - 1;
            let among = match step {
                0 => !before & !(before + 1),
                step if step == count => before,
                _ => u64::MAX,
            };
            let mut left = self.words[at].load(Acquire) & among;
            while left != 0 {
                let place = at * BITS + left.trailing_zeros() as usize;
                left &= left - 1;
                if look(place) {
                    continue;
                }
                let (word, bit) = (&self.words[at], 1 << (place % BITS));
                word.fetch_and(!bit, AcqRel);
                fence(SeqCst);
                if !is_empty(place) {
                    mark(word, bit);
                    look(place);
                    again = true;
                }
            }
        }
        again
    }
}

/// Before somebody who marks a place goes on, others see that.
#[cold]
fn mark(word: &AtomicU64, bit: u64) {
    word.fetch_or(bit, AcqRel);
    fence(SeqCst);
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Marks;

    fn seen(marks: &Marks, first: usize, full: &[usize]) -> Vec<usize> {
        let mut seen = Vec::new();
        let is_empty = |place| !full.contains(&place);
        let again = marks.look_around(first, is_empty, |place| {
            seen.push(place);
            !is_empty(place)
        });
        assert!(!again);
        seen
    }

    #[test]
    fn each_marked_place_but_ones_own_is_seen_once_round() {
        let marks = Marks::new(200);
        let full = [0, 1, 63, 64, 65, 127, 128, 199];
        full.iter().for_each(|place| marks.of(*place).put_in());
        assert_eq!(seen(&marks, 64, &full), [65, 127, 128, 199, 0, 1, 63]);
        assert_eq!(seen(&marks, 0, &full), [1, 63, 64, 65, 127, 128, 199]);
        assert_eq!(seen(&marks, 199, &full), [0, 1, 63, 64, 65, 127, 128]);
        assert_eq!(seen(&marks, 100, &full), [127, 128, 199, 0, 1, 63, 64, 65]);
    }

    #[test]
    fn a_place_stays_marked_until_it_is_seen_to_be_empty() {
        let marks = Marks::new(3);
        [0, 1, 2].iter().for_each(|place| marks.of(*place).put_in());
        assert_eq!(seen(&marks, 0, &[1]), [1, 2]);
        assert_eq!(seen(&marks, 0, &[1]), [1]);
        marks.of(2).put_in();
        assert_eq!(seen(&marks, 1, &[2]), [2, 0]);
    }

    #[test]
    fn what_is_put_in_while_the_mark_is_taken_away_is_seen() {
        let marks = Marks::new(2);
        marks.of(1).put_in();
        let mut looks = 0;
        // Empty when it is looked at, and not any more afterwards.
        marks.look_around(
            0,
            |_| false,
            |_| {
                looks += 1;
                looks > 1
            },
        );
        assert_eq!(looks, 2);
        assert_eq!(seen(&marks, 0, &[1]), [1]);
    }
}
