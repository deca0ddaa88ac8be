//! A task's home: the part of the row of workers that its subtree is dealt out to.

use std::ops::Range;

/// The smallest home of a task that is kept together, in parts: what never becomes small enough for
/// a cache (its children declare no sizes) ends there.
const SMALLEST: u32 = 4;

/// A place in the row takes so many bits of a mark.
const BITS: u32 = 24;
/// The largest place.
pub(super) const PLACES: u32 = (1 << BITS) - 1;

/// What a home says of its task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::policy) enum Kind {
    /// Its children are dealt out to its home, each to a part.
    Dealt = 0,
    /// It is too large for its socket's cache: its children wait on the socket's stack, and all
    /// workers there run them.
    Together = 1,
    /// It fits, and holds its size of the cache until it ends. Its children are dealt out to the
    /// whole socket.
    Claims = 2,
    /// As `Dealt`, below one that claims.
    Kept = 3,
}

impl Kind {
    /// Whether all workers of its socket may run its task, which so waits on the socket's stack.
    pub(super) fn is_the_sockets(self) -> bool {
        matches!(self, Self::Together | Self::Claims)
    }
}

/// A half-open interval of the row of workers, and what it means. It is packed into
/// [`crate::TaskInfo::mark`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::policy) struct Home {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(in crate::policy) kind: Kind,
    /// In which of the machine's rows ([`Rows`](super::rows::Rows)).
    pub(super) row: u8,
}

impl Home {
    /// The same part of the row, for a task of this kind.
    pub(in crate::policy) fn with(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }

    /// `None` for a task that has no home yet.
    pub(in crate::policy) fn read(mark: u64) -> Option<Self> {
        let part = |shift: u32| (mark >> shift) as u32 & PLACES;
        let kind =
            [Kind::Dealt, Kind::Together, Kind::Claims, Kind::Kept][(mark >> 48 & 3) as usize];
        let row = (mark >> 50) as u8;
        Some(Self { from: part(0), to: part(BITS), kind, row }).filter(|home| home.to > 0)
    }

    pub(in crate::policy) fn word(self) -> u64 {
        debug_assert!(self.from < self.to && self.to <= PLACES, "{self:?} fits no mark");
        let rest = (self.kind as u64) << 48 | u64::from(self.row) << 50;
        u64::from(self.from) | u64::from(self.to) << BITS | rest
    }

    /// Whether what is kept together may be divided further.
    pub(in crate::policy) fn is_divisible(self) -> bool {
        self.to - self.from > SMALLEST
    }

    /// The part that lies between two of the shares 0, 1, …, `of`.
    pub(in crate::policy) fn part(self, shares: Range<u64>, of: u64) -> Self {
        let width = u128::from(self.to - self.from);
        let at = |share| self.from + (width * u128::from(share) / u128::from(of.max(1))) as u32;
        let from = at(shares.start).min(self.to - 1);
        Self { from, to: at(shares.end).clamp(from + 1, self.to), ..self }
    }

    /// Whether all of `other` lies in it.
    pub(in crate::policy) fn contains(self, other: Self) -> bool {
        self.from <= other.from && other.to <= self.to
    }

    /// Its middle, as a place in the row.
    pub(in crate::policy) fn place(self) -> u32 {
        self.from + (self.to - self.from) / 2
    }
}
