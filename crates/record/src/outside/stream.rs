//! Takes the recorded process's stream apart into touches and events. README.md, "The stream",
//! specifies the words.

use std::io::{ErrorKind, Read};

use befit_program::RawTouch;

use super::StreamError;

/// `b"befitrec"` as a word.
pub(super) const MAGIC: u64 = u64::from_le_bytes(*b"befitrec");
/// Of the stream's layout.
pub(super) const VERSION: u8 = 1;

pub(super) const EVENT: u64 = 1 << 63;
pub(super) const KIND_SHIFT: u32 = 56;
const ARGUMENT: u64 = (1 << KIND_SHIFT) - 1;

/// An event, with the words that belong to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Event {
    Hello { version: u8, filter: u8, line_bits: u8, magic: u64 },
    Fork { scope: u64, size: u64, strand: u64 },
    End,
    Sync { scope: u64 },
    Work { loads: u64, stores: u64, blocks: u64 },
    Skipped { regions: u64 },
    Failed { reason: u64 },
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
    /// Words read so far.
    words: u64,
}

impl<R: Read> Stream<R> {
    pub(super) fn new(from: R) -> Self {
        Self { from, bytes: vec![0; CHUNK].into(), at: 0, end: 0, words: 0 }
    }

    /// The number of the next word, from 0.
    pub(super) const fn position(&self) -> u64 {
        self.words
    }

    /// True if nothing is left.
    pub(super) fn is_at_end(&mut self) -> Result<bool, StreamError> {
        Ok(!self.fill()?)
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
                Ok(0) => return Err(StreamError::Truncated { word: self.words }),
                Ok(n) => self.end += n,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(StreamError::Io(e)),
            }
        }
        Ok(true)
    }

    fn word(&mut self) -> Result<u64, StreamError> {
        if !self.fill()? {
            return Err(StreamError::Truncated { word: self.words });
        }
        let (word, _) = self.bytes[self.at..self.end]
            .split_first_chunk()
            .ok_or(StreamError::Truncated { word: self.words })?;
        self.at += 8;
        self.words += 1;
        Ok(u64::from_ne_bytes(*word))
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

    /// The event that comes next; `None` where a touch does, or the stream ends.
    pub(super) fn event(&mut self) -> Result<Option<Event>, StreamError> {
        if !self.fill()?
            || self.bytes[self.at..self.end]
                .first_chunk()
                .is_none_or(|w| u64::from_ne_bytes(*w) & EVENT == 0)
        {
            return Ok(None);
        }
        let at = self.words;
        let word = self.word()?;
        let argument = word & ARGUMENT;
        let byte = |shift: u32| (argument >> shift) as u8;
        Ok(Some(match (word & !EVENT) >> KIND_SHIFT {
            0 => Event::Hello {
                version: byte(0),
                filter: byte(8),
                line_bits: byte(16),
                magic: self.word()?,
            },
            1 => Event::Fork { scope: argument, size: self.word()?, strand: self.word()? },
            2 => Event::End,
            3 => Event::Sync { scope: argument },
            4 => Event::Work { loads: self.word()?, stores: self.word()?, blocks: self.word()? },
            5 => Event::Skipped { regions: argument },
            6 => Event::Failed { reason: argument },
            _ => return Err(StreamError::UnknownEvent { word: at, found: word }),
        }))
    }
}
