//! Chunks: pieces of at most 1 MiB, compressed, each with checksums of its header, of what is
//! stored and of what that means.
//!
//! A reader trusts no length. It compares the header's checksum before it looks at the lengths, and
//! the stored bytes' checksum before it unpacks them. Unpacked bytes are at most [`RATIO`] times as
//! long as stored ones; the writer pads to keep to that.

use std::io::{self, Read, Write};

use lz4_flex::block::{compress_into, decompress_into, get_maximum_output_size};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::{ReadError, Section};

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

pub(super) struct ChunkReader<R> {
    from: R,
    read: u64,
    pub(super) offset: u64,
    /// Section of the last chunk.
    section: Section,
}

impl<R: Read> ChunkReader<R> {
    /// From just after the file's first `offset` bytes.
    pub(super) fn new(from: R, offset: u64) -> Self {
        Self { from, read: 0, offset, section: Section::Meta }
    }

    /// The next chunk's section and raw bytes.
    pub(super) fn next(&mut self) -> Result<(Section, Vec<u8>), ReadError> {
        let offset = self.offset;
        let before = self.section;
        let header = self.take(HEADER, before, offset)?;
        let word = |at: usize| {
            header[at..at + 8].iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
        };
        let half = |at: usize| word(at) as u32 as usize;
        if xxh3_64_with_seed(&header[..28], self.read) != word(28) {
            let what = "the header that follows it does not match its checksum";
            return Err(before.fault("damaged", offset, what));
        }
        let section = Section::of(&header[..4]).ok_or_else(|| {
            before.fault("invalid", offset, "a section of unknown name follows it")
        })?;
        let invalid = |what| Err(section.fault("invalid", offset, what));
        let (raw_len, stored_len) = (half(4), half(8));
        if section < before {
            return invalid("it stands after a section that it must precede");
        }
        if raw_len == 0 || raw_len > RAW_LIMIT || stored_len > STORED_LIMIT {
            return invalid("its length is out of bounds");
        }
        if raw_len > RATIO.saturating_mul(stored_len) {
            return invalid("it claims to unpack to more than 64 times its length");
        }
        self.section = section;
        let stored = self.take(stored_len, section, offset)?;
        let damaged = |what| Err(section.fault("damaged", offset, what));
        if xxh3_64(&stored) != word(12) {
            return damaged("its stored bytes do not match their checksum");
        }
        let mut raw = vec![0; raw_len];
        let block = stored
            .split_first_chunk()
            .and_then(|(len, rest)| rest.get(..u32::from_le_bytes(*len) as usize));
        match block.map(|block| decompress_into(block, &mut raw)) {
            Some(Ok(len)) if len == raw_len => {}
            _ => return damaged("it does not unpack to its length"),
        }
        if xxh3_64(&raw) != word(20) {
            return damaged("its unpacked bytes do not match their checksum");
        }
        self.read += 1;
        Ok((section, raw))
    }

    /// True if nothing follows.
    pub(super) fn at_end(&mut self) -> Result<bool, ReadError> {
        Ok(self.read_to(1)?.is_empty())
    }

    /// The next `len` bytes, of a section's chunk that begins at `offset`.
    fn take(&mut self, len: usize, section: Section, offset: u64) -> Result<Vec<u8>, ReadError> {
        let bytes = self.read_to(len)?;
        self.offset += bytes.len() as u64;
        if bytes.len() < len {
            return Err(ReadError::Truncated { section: section.name(), offset });
        }
        Ok(bytes)
    }

    /// At most `len` bytes; memory grows only as they arrive.
    fn read_to(&mut self, len: usize) -> Result<Vec<u8>, ReadError> {
        let mut bytes = Vec::new();
        let read = (&mut self.from).take(len as u64).read_to_end(&mut bytes);
        read.map(|_| bytes).map_err(|error| ReadError::Io(self.offset, error))
    }
}
