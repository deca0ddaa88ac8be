//! Which lines of the program's own source made the touches, and which made the data.
//!
//! A *spot* is a line of the source. A recording that was asked for them has one for each touch,
//! and one for each *block*: memory that the program took in one piece.
//!
//! The spots of a blob stand beside it as pairs of numbers: how many touches come from the spots
//! that are expected, and the spot of the touch behind them. Expected is, after each two spots, the
//! one that came after them the last time. So a loop costs a few bytes, however often it runs.
//! FORMAT.md has the details.

use crate::{
    site::Source,
    varint::{self, Cursor},
};

/// Names a spot: an index into [`Program::spots`](crate::Program::spots). 0 is the unknown one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct SpotId(pub u32);

/// Memory that the program took from the allocator in one piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    /// Its first dense line.
    pub first: u32,
    /// Its lines that lie on touched pages; 1 at least.
    pub lines: u32,
    /// Where it was taken.
    pub spot: SpotId,
}

/// Spots that are told apart when the next one is expected.
const FOLLOWED: usize = 64;

/// What comes after each two spots.
#[derive(Clone, Debug)]
struct Expected {
    next: [u32; FOLLOWED],
    last: u32,
    before: u32,
}

impl Expected {
    const fn new() -> Self {
        Self { next: [0; FOLLOWED], last: 0, before: 0 }
    }

    #[inline]
    fn slot(&mut self) -> &mut u32 {
        &mut self.next[(self.last.wrapping_add(self.before << 3)) as usize % FOLLOWED]
    }

    #[inline]
    fn learn(&mut self, spot: u32) {
        *self.slot() = spot;
        (self.before, self.last) = (self.last, spot);
    }
}

/// Encodes the spots of one strand after another into a growing buffer.
#[derive(Debug)]
pub(crate) struct SpotEncoder {
    expected: Expected,
    run: u64,
    /// The spot of the largest number that was put.
    pub(crate) last: u32,
    /// All bytes written, those of ended strands first.
    pub(crate) out: Vec<u8>,
}

impl SpotEncoder {
    pub(crate) const fn new() -> Self {
        Self { expected: Expected::new(), run: 0, last: 0, out: Vec::new() }
    }

    /// The next touch is made at `spot`. A few operations.
    #[inline]
    pub(crate) fn put(&mut self, spot: SpotId) {
        if *self.expected.slot() == spot.0 {
            self.run += 1;
        } else {
            varint::put(&mut self.out, std::mem::take(&mut self.run));
            varint::put(&mut self.out, spot.0.into());
            self.last = self.last.max(spot.0);
        }
        self.expected.learn(spot.0);
    }

    /// Ends the strand.
    pub(crate) fn end(&mut self) {
        self.run = 0;
        self.expected = Expected::new();
    }
}

/// The spots of a strand's touches, in their order: one for each call of [`Spots::next_spot`], as
/// often as the strand has touches. Unknown ones in a program that was recorded without.
#[derive(Clone, Debug)]
pub struct Spots<'a> {
    cursor: Cursor<'a>,
    expected: Expected,
    /// So many come as expected, and then this one.
    run: u64,
    then: u32,
}

impl<'a> Spots<'a> {
    /// Of bytes that an encoder made, or that [`check`] found good.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let mut new =
            Self { cursor: Cursor::new(bytes), expected: Expected::new(), run: 0, then: 0 };
        new.fill();
        new
    }

    fn fill(&mut self) {
        let pair = self.cursor.varint().zip(self.cursor.varint());
        (self.run, self.then) = pair.map_or((u64::MAX, 0), |(run, then)| (run, then as u32));
    }

    /// The spot of the next touch. Constant time.
    #[inline]
    pub fn next_spot(&mut self) -> SpotId {
        let spot = if self.run > 0 {
            self.run -= 1;
            *self.expected.slot()
        } else {
            let then = self.then;
            self.fill();
            then
        };
        self.expected.learn(spot);
        SpotId(spot)
    }
}

/// Whether `bytes` are those of a blob's spots, of which there are `count`.
pub(crate) fn check(bytes: &[u8], count: usize) -> Result<(), &'static str> {
    let mut cursor = Cursor::new(bytes);
    while !cursor.is_empty() {
        let (Some(_), Some(spot)) = (cursor.varint(), cursor.varint()) else {
            return Err("the spots of a blob are cut off");
        };
        if spot >= count as u64 {
            return Err("a touch names a spot that there is not");
        }
    }
    Ok(())
}

/// What is known of the code and of the data of a program.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// By [`SpotId`]; the first is unknown.
    pub(crate) spots: Vec<Option<Source>>,
    /// Ascending, apart from one another.
    pub(crate) blocks: Vec<Block>,
}

impl Default for Seen {
    fn default() -> Self {
        Self { spots: vec![None], blocks: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encode(strands: &[Vec<u32>]) -> Vec<Vec<u8>> {
        let mut encoder = SpotEncoder::new();
        let of = |strand: &Vec<u32>| {
            let begin = encoder.out.len();
            strand.iter().for_each(|spot| encoder.put(SpotId(*spot)));
            encoder.end();
            encoder.out[begin..].to_vec()
        };
        strands.iter().map(of).collect()
    }

    proptest! {
        #[test]
        fn spots_come_back(strands in prop::collection::vec(
            prop::collection::vec(prop_oneof![0..4u32, 0..200u32], 0..300), 1..4)
        ) {
            for (bytes, strand) in encode(&strands).iter().zip(&strands) {
                prop_assert_eq!(check(bytes, 200), Ok(()));
                let mut spots = Spots::new(bytes);
                for spot in strand {
                    prop_assert_eq!(spots.next_spot(), SpotId(*spot));
                }
            }
        }
    }

    #[test]
    fn a_loop_takes_a_few_bytes_and_no_spots_take_none() {
        let turns: Vec<u32> = (0..100_000).map(|touch| 1 + touch % 5).collect();
        assert!(encode(&[turns])[0].len() < 20);
        assert!(encode(&[vec![0; 1000]])[0].is_empty());
    }

    #[test]
    fn spots_that_there_are_not_and_cut_off_ones_are_found() {
        let bytes = encode(&[vec![1, 2, 300]]).remove(0);
        assert_eq!(check(&bytes, 301), Ok(()));
        assert!(check(&bytes, 300).is_err());
        assert!(check(&bytes[..bytes.len() - 1], 301).is_err());
    }
}
