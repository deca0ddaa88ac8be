//! Chunks: pieces of at most 1 MiB, compressed, each with checksums of its header, of what is
//! stored and of what that means.
//!
//! A reader trusts no length. It compares the header's checksum before it looks at the lengths, and
//! the stored bytes' checksum before it unpacks them. Unpacked bytes are at most [`RATIO`] times as
//! long as stored ones; the writer pads to keep to that.

use std::io::{self, Read, Write};

use lz4_flex::block::{compress_into, decompress_into, get_maximum_output_size};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::ReadError;
use super::Section;

/// Most bytes of a chunk before compression.
pub(super) const RAW_LIMIT: usize = 1 << 20;
/// A chunk's raw bytes are at most so many times its stored bytes.
pub(super) const RATIO: usize = 64;
/// Most stored bytes: what does not compress grows a little.
const STORED_LIMIT: usize = RAW_LIMIT + RAW_LIMIT / 64;
/// Bytes of a header: tag, raw length, stored length, checksums of the stored bytes, the raw bytes
/// and the header.
pub(super) const HEADER: usize = 36;
/// Stored bytes begin with the length of the LZ4 block; what follows the block is padding.
const BLOCK_LENGTH: usize = 4;

/// Writes chunks one after another.
pub(super) struct ChunkWriter<W> {
    to: W,
    stored: Vec<u8>,
    /// Chunks written. Each header's checksum is seeded with its chunk's number, so that none can
    /// be left out or moved.
    written: u64,
}

impl<W: Write> ChunkWriter<W> {
    pub(super) fn new(to: W) -> Self {
        Self { to, stored: Vec::new(), written: 0 }
    }

    /// Writes `raw`, at most [`RAW_LIMIT`] bytes; nothing when it is empty.
    pub(super) fn write(&mut self, section: Section, raw: &[u8]) -> io::Result<()> {
        if raw.is_empty() {
            return Ok(());
        }
        self.stored.clear();
        self.stored.resize(BLOCK_LENGTH + get_maximum_output_size(raw.len()), 0);
        let block =
            compress_into(raw, &mut self.stored[BLOCK_LENGTH..]).map_err(io::Error::other)?;
        self.stored[..BLOCK_LENGTH].copy_from_slice(&(block as u32).to_le_bytes());
        self.stored.truncate(BLOCK_LENGTH + block);
        let least = raw.len().div_ceil(RATIO);
        if self.stored.len() < least {
            self.stored.resize(least, 0);
        }
        let mut header = [0; HEADER];
        header[..4].copy_from_slice(&section.tag());
        header[4..8].copy_from_slice(&(raw.len() as u32).to_le_bytes());
        header[8..12].copy_from_slice(&(self.stored.len() as u32).to_le_bytes());
        header[12..20].copy_from_slice(&xxh3_64(&self.stored).to_le_bytes());
        header[20..28].copy_from_slice(&xxh3_64(raw).to_le_bytes());
        let check = xxh3_64_with_seed(&header[..28], self.written);
        header[28..].copy_from_slice(&check.to_le_bytes());
        self.to.write_all(&header)?;
        self.to.write_all(&self.stored)?;
        self.written += 1;
        Ok(())
    }

    pub(super) fn into_inner(self) -> W {
        self.to
    }
}

/// Reads chunks one after another.
pub(super) struct ChunkReader<R> {
    from: R,
    stored: Vec<u8>,
    raw: Vec<u8>,
    read: u64,
    /// Bytes read from the file.
    pub(super) offset: u64,
    /// Section of the last chunk.
    section: Section,
}

impl<R: Read> ChunkReader<R> {
    /// From just after the file's first `offset` bytes.
    pub(super) fn new(from: R, offset: u64) -> Self {
        Self { from, stored: Vec::new(), raw: Vec::new(), read: 0, offset, section: Section::Meta }
    }

    /// The next chunk's section and raw bytes.
    pub(super) fn next(&mut self) -> Result<(Section, &[u8]), ReadError> {
        let offset = self.offset;
        let mut header = Vec::with_capacity(HEADER);
        self.fill(&mut header, HEADER, self.section, offset)?;
        let word = |at: usize| {
            header[at..at + 8].iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
        };
        let half = |at: usize| word(at) as u32 as usize;
        let before = self.section.name();
        if xxh3_64_with_seed(&header[..28], self.read) != word(28) {
            let what = "the header that follows it does not match its checksum";
            return Err(ReadError::Damaged { section: before, offset, what });
        }
        let invalid =
            |section, what: &str| ReadError::Invalid { section, offset, what: what.into() };
        let tag = [header[0], header[1], header[2], header[3]];
        let section = Section::of(tag)
            .ok_or_else(|| invalid(before, "a section of unknown name follows it"))?;
        let (raw_len, stored_len) = (half(4), half(8));
        if section < self.section {
            return Err(invalid(section.name(), "it stands after a section that it must precede"));
        }
        if raw_len == 0 || raw_len > RAW_LIMIT || stored_len > STORED_LIMIT {
            return Err(invalid(section.name(), "its length is out of bounds"));
        }
        if raw_len > RATIO.saturating_mul(stored_len) {
            return Err(invalid(
                section.name(),
                "it claims to unpack to more than 64 times its length",
            ));
        }
        self.section = section;
        let mut stored = std::mem::take(&mut self.stored);
        stored.clear();
        self.fill(&mut stored, stored_len, section, offset)?;
        self.stored = stored;
        let damaged = |what| ReadError::Damaged { section: section.name(), offset, what };
        if xxh3_64(&self.stored) != word(12) {
            return Err(damaged("its stored bytes do not match their checksum"));
        }
        self.raw.clear();
        self.raw.resize(raw_len, 0);
        let block = self
            .stored
            .split_first_chunk()
            .and_then(|(len, rest)| rest.get(..u32::from_le_bytes(*len) as usize));
        match block.map(|block| decompress_into(block, &mut self.raw)) {
            Some(Ok(len)) if len == raw_len => {}
            _ => return Err(damaged("it does not unpack to its length")),
        }
        if xxh3_64(&self.raw) != word(20) {
            return Err(damaged("its unpacked bytes do not match their checksum"));
        }
        self.read += 1;
        Ok((section, &self.raw))
    }

    /// True if nothing follows.
    pub(super) fn at_end(&mut self) -> Result<bool, ReadError> {
        let mut one = Vec::new();
        let read = (&mut self.from).take(1).read_to_end(&mut one);
        Ok(read.map_err(|source| ReadError::Io { offset: self.offset, source })? == 0)
    }

    /// Appends the next `len` bytes to `to`, which grows only as they arrive.
    fn fill(
        &mut self,
        to: &mut Vec<u8>,
        len: usize,
        section: Section,
        offset: u64,
    ) -> Result<(), ReadError> {
        let read = (&mut self.from).take(len as u64).read_to_end(to);
        let read = read.map_err(|source| ReadError::Io { offset: self.offset, source })?;
        self.offset += read as u64;
        if read < len {
            Err(ReadError::Truncated { section: section.name(), offset })
        } else {
            Ok(())
        }
    }
}
