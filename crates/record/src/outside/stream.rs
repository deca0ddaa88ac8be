//! Takes the recorded process's stream apart into touches and events. README.md, "The stream",
//! specifies the words.

use std::io::{ErrorKind, Read};

use befit_program::RawTouch;

use super::StreamError;

/// `b"befitrec"` as a word.
pub(super) const MAGIC: u64 = u64::from_le_bytes(*b"befitrec");
/// Of the stream's layout.
pub const VERSION: u8 = 11;
/// `b"befitwrk"` as a word: the stream of a work run.
pub(super) const WORK_MAGIC: u64 = u64::from_le_bytes(*b"befitwrk");

pub(super) const EVENT: u64 = 1 << 63;
pub(super) const KIND_SHIFT: u32 = 56;
const ARGUMENT: u64 = (1 << KIND_SHIFT) - 1;

// The kinds of events.
pub(super) const HELLO: u64 = 0;
pub(super) const FORK: u64 = 1;
pub(super) const END: u64 = 2;
pub(super) const SYNC: u64 = 3;
pub(super) const WORK: u64 = 4;
pub(super) const SKIPPED: u64 = 5;
/// The bits of its argument that count regions; above them, whether a region ran on another thread.
pub(super) const SKIPPED_BITS: u32 = 32;
pub(super) const FAILED: u64 = 6;
pub(super) const SITE: u64 = 7;
pub(super) const FAULTS: u64 = 8;
pub(super) const REGION: u64 = 9;
pub(super) const ATOMIC: u64 = 10;
pub(super) const SPOT: u64 = 11;
pub(super) const BLOCK: u64 = 12;
pub(super) const PROCESS: u64 = 13;

/// Where the number of its spot stands in a touch that has one: lines end below.
const SPOT_SHIFT: u32 = 44;
const SPOT_MASK: u64 = 0xffff;

/// A touch that has a spot, without it, and the spot's number.
pub(super) fn apart(RawTouch(word): RawTouch) -> (RawTouch, u64) {
    (RawTouch(word & !(SPOT_MASK << SPOT_SHIFT)), word >> SPOT_SHIFT & SPOT_MASK)
}

/// So many bytes are asked of the pipe at once.
const CHUNK: usize = 1 << 20;

/// Reads words.
pub(super) struct Stream<R> {
    from: R,
    bytes: Box<[u8]>,
    /// The unread part of `bytes`.
    at: usize,
    end: usize,
    /// Words read so far: the number of the next one.
    pub(super) words: u64,
}

impl<R: Read> Stream<R> {
    pub(super) fn new(from: R) -> Self {
        Self { from, bytes: vec![0; CHUNK].into(), at: 0, end: 0, words: 0 }
    }

    /// Has at least one whole word in the buffer; `false` at the end of the stream.
    fn fill(&mut self) -> Result<bool, StreamError> {
        if self.end - self.at >= 8 {
            return Ok(true);
        }
        self.bytes.copy_within(self.at..self.end, 0);
        self.end -= self.at;
        self.at = 0;
        while self.end < 8 {
            match self.from.read(&mut self.bytes[self.end..]) {
                Ok(0) if self.end == 0 => return Ok(false),
                Ok(0) => return Err(StreamError::Truncated(self.words)),
                Ok(n) => self.end += n,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(StreamError::Io(e)),
            }
        }
        Ok(true)
    }

    /// The next word, which stays; `None` at the end of the stream.
    pub(super) fn peek(&mut self) -> Result<Option<u64>, StreamError> {
        self.fill()?;
        let word = self.bytes[self.at..self.end].first_chunk();
        Ok(word.map(|word| u64::from_ne_bytes(*word)))
    }

    pub(super) fn word(&mut self) -> Result<u64, StreamError> {
        let word = self.peek()?.ok_or(StreamError::Truncated(self.words))?;
        self.at += 8;
        self.words += 1;
        Ok(word)
    }

    /// Replaces what is in `touches` by the touches up to the next event, or as many of them as are
    /// at hand. `false` at the end of the stream.
    pub(super) fn touches(&mut self, touches: &mut Vec<RawTouch>) -> Result<bool, StreamError> {
        touches.clear();
        if !self.fill()? {
            return Ok(false);
        }
        let (words, _) = self.bytes[self.at..self.end].as_chunks::<8>();
        touches.extend(
            words
                .iter()
                .map(|w| u64::from_ne_bytes(*w))
                .take_while(|w| w & EVENT == 0)
                .map(RawTouch),
        );
        self.at += 8 * touches.len();
        self.words += touches.len() as u64;
        Ok(true)
    }

    /// The kind and the argument of the event that comes next; `None` where a touch does, or the
    /// stream ends.
    pub(super) fn event(&mut self) -> Result<Option<(u64, u64)>, StreamError> {
        if self.peek()?.is_none_or(|word| word & EVENT == 0) {
            return Ok(None);
        }
        let event = self.word()?;
        match (event & !EVENT) >> KIND_SHIFT {
            kind @ ..=PROCESS => Ok(Some((kind, event & ARGUMENT))),
            _ => Err(StreamError::UnknownEvent(self.words - 1, event)),
        }
    }
}
