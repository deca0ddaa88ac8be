//! The byte that begins each token of a blob; FORMAT.md has the table of them.

use crate::varint::{Cursor, unzigzag};

/// First byte that is no near token.
pub(super) const NEAR_END: u8 = 96;
/// Far with two bytes.
pub(super) const FAR2: u8 = 96;
/// Far with one byte.
pub(super) const FAR1: u8 = 224;
/// Far with three bytes.
pub(super) const FAR3: u8 = 240;
/// Far with a varint; in a history it stands for any far token.
pub(super) const FAR: u8 = 248;
/// A stack line by its number.
pub(super) const STACK: u8 = 250;
/// The last p tokens again, until k touches are made.
pub(super) const REPEAT: u8 = 252;

/// Marks the touch of the token behind it as dependent.
pub(super) const DEPENDENT: u8 = 253;
/// A recent slot's line or a neighbour.
pub(super) const RECENTLY: u8 = 254;

/// Longest period of a repeat, and how many tokens a history remembers.
pub(super) const HISTORY: usize = 64;

/// Most touches of a repeat that is not plain. A plain one (near tokens only) is checked in time
/// proportional to its period, any other in time proportional to its touches; this keeps the time
/// to check a file proportional to its size.
pub(super) const STEPPED_LIMIT: u64 = 1024;

/// The numbers that a near token's step adds to its slot's line.
pub(super) const STEPS: [u64; 4] = [0, 1, u64::MAX, 0];

/// The token that begins with `code`, which is neither near nor a repeat: its code, reduced to
/// [`FAR`] if it is far, and its number. None if it is cut off, or if there is no such token.
#[inline(always)]
pub(super) fn read(cursor: &mut Cursor<'_>, code: u8) -> Option<(u8, u64)> {
    let high = |from: u8, bits: u32| u64::from((code - from) >> 1) << bits;
    let number = match code {
        FAR2..FAR1 => cursor.little::<2>()? | high(FAR2, 16),
        FAR1..FAR3 => cursor.little::<1>()? | high(FAR1, 8),
        FAR3..FAR => cursor.little::<3>()? | high(FAR3, 24),
        FAR..REPEAT => cursor.varint()?,
        RECENTLY.. => cursor.byte()?.into(),
        _ => return None,
    };
    Some(if code < STACK { (FAR | code & 1, unzigzag(number) as u64) } else { (code, number) })
}

/// The slot of a near token.
#[inline]
pub(super) const fn slot(code: u8) -> usize {
    (code >> 1 & 15) as usize
}

/// The number that a near token adds (wrapping) to its slot's line.
#[inline]
pub(super) const fn step(code: u8) -> u64 {
    STEPS[(code >> 5 & 3) as usize]
}

/// The slot of a recent token's number.
#[inline]
pub(super) const fn recent_slot(number: u64) -> usize {
    (number & 63) as usize
}

/// The number that a recent token adds (wrapping) to its slot's line.
#[inline]
pub(super) const fn recent_step(number: u64) -> u64 {
    STEPS[(number >> 6 & 3) as usize]
}

/// The last tokens: for each its code, far ones reduced to [`FAR`], and the number that came with
/// it.
#[derive(Clone, Debug)]
pub(super) struct History {
    codes: [u8; HISTORY],
    numbers: [u64; HISTORY],
}

impl History {
    pub(super) const fn new() -> Self {
        Self { codes: [0; HISTORY], numbers: [0; HISTORY] }
    }

    /// Code of the `at`-th token, one of the last [`HISTORY`].
    #[inline]
    pub(super) const fn code(&self, at: u64) -> u8 {
        self.codes[at as usize % HISTORY]
    }

    #[inline]
    pub(super) const fn number(&self, at: u64) -> u64 {
        self.numbers[at as usize % HISTORY]
    }

    #[inline]
    pub(super) const fn put(&mut self, at: u64, code: u8) {
        self.codes[at as usize % HISTORY] = code;
    }

    #[inline]
    pub(super) const fn put_far(&mut self, at: u64, code: u8, number: u64) {
        self.codes[at as usize % HISTORY] = code;
        self.numbers[at as usize % HISTORY] = number;
    }

    /// True if the `period` tokens before `at` are near tokens.
    pub(super) fn is_plain(&self, at: u64, period: u64) -> bool {
        (1..=period).all(|back| self.code(at - back) < NEAR_END)
    }

    /// As if the `period` tokens before `at` had come again, one by one, `count` times in all.
    pub(super) fn repeat(&mut self, at: u64, period: u64, count: u64) {
        // Only the last of them are remembered. Starting a whole number of periods later changes
        // nothing but the place.
        let skipped = count.saturating_sub(HISTORY as u64 + period) / period * period;
        let mut tokens = [0; HISTORY];
        for (i, token) in tokens[..period as usize].iter_mut().enumerate() {
            *token = self.code(at - period + i as u64);
        }
        for i in 0..count - skipped {
            self.put(at + skipped + i, tokens[(i % period) as usize]);
        }
    }
}
