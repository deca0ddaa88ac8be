//! The directory: two words per line, found by the line's number, that name its sharers.
//!
//! | first word | |
//! |---|---|
//! | 0 to 31 | the core's private pair has the line, in one cache or both |
//! | 32 to 46 | the socket's last-level cache has it |
//! | 48 to 62 | the socket's last-level cache had it until another socket's write took it away |
//! | 63 | modified: memory is older. Exactly one socket has it then |
//!
//! | second word | |
//! |---|---|
//! | 0 to 31, 32 to 63 | the core's inner, outer cache had the line until another worker's write took it away |
//!
//! All bits are exact. A last-level cache needs no dirty flags: *modified* is its dirty flag.

use crate::hint::zeros_on_huge_pages;

/// Cores and sockets that a row has bits for.
pub(super) const MOST_CORES: usize = 32;
pub(super) const MOST_SOCKETS: usize = 15;
/// Workers: a power of two.
pub(super) const MOST_WORKERS: usize = 64;

/// Memory is older.
pub(super) const MODIFIED: u64 = 1 << 63;
pub(super) const CORES: u64 = (1 << 32) - 1;
pub(super) const SOCKETS: u64 = ((1 << 15) - 1) << 32;
/// From a socket's bit to that of its having lost the line.
pub(super) const TO_LOST: u32 = 16;

pub(super) const fn core_bit(core: u32) -> u64 {
    1 << core
}

pub(super) const fn socket_bit(socket: u32) -> u64 {
    1 << (32 + socket)
}

/// The rows of all lines, and behind them one of no line, which stays 0.
#[derive(Clone, Debug)]
pub(super) struct Rows(Vec<[u64; 2]>);

impl Rows {
    pub(super) fn new(lines: u32) -> Self {
        Self(zeros_on_huge_pages(place(u64::from(lines)) + 1))
    }

    /// Where the row of `line` is; of a line beyond the last, that of no line.
    #[inline(always)]
    pub(super) fn place(&self, line: u64) -> usize {
        place(line).min(self.0.len() - 1)
    }

    /// The row of `line`, which is one of the machine's.
    #[inline(always)]
    pub(super) fn of(&mut self, line: u32) -> &mut [u64; 2] {
        &mut self.0[place(u64::from(line))]
    }

    /// The row at this place.
    #[inline(always)]
    pub(super) fn at(&mut self, place: u32) -> &mut [u64; 2] {
        &mut self.0[place as usize]
    }

    /// The row at this place, if it is of a line of the machine, or of none.
    #[inline(always)]
    pub(super) fn get(&mut self, place: usize) -> Option<&mut [u64; 2]> {
        self.0.get_mut(place)
    }

    /// Like [`Self::of`], to look at only.
    pub(super) fn look(&self, line: u32) -> &[u64; 2] {
        &self.0[place(u64::from(line))]
    }

    /// The rows at all places.
    #[inline(always)]
    pub(super) fn all(&self) -> &[[u64; 2]] {
        &self.0
    }
}

/// Where the row of `line` is; of a line beyond the last, somewhere beyond all rows. One row is
/// skipped every 1,024, so that rows a power of two apart (workers that walk equal parts of an
/// array) do not all fall into the same set of the host's caches.
#[inline(always)]
pub(super) fn place(line: u64) -> usize {
    // On a host of 32 bits, too, what is beyond all rows stays there.
    usize::try_from(line + (line >> 10)).unwrap_or(usize::MAX)
}
