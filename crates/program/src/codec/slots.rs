//! The lines that the codec remembers.
//!
//! Sixteen *kept* slots hold streams: a line in one moves in place, so that the slots of streams
//! stand still and their tokens repeat. Sixty-four *recent* slots hold the lines touched otherwise,
//! the oldest leaving for the newest. A touch next to a recent line shows the beginning of a
//! stream: it takes a kept slot, one after the other in turn, and the line that it drives out
//! becomes a recent one. So a gather's random lines push out each other, not the streams that run
//! beside them.

/// Kept slots.
pub(super) const KEPT: usize = 16;
/// Recent slots.
pub(super) const RECENT: usize = 64;

/// The slots, with what the encoder, the decoder and the checker each know of a line.
#[derive(Clone, Debug)]
pub(super) struct Slots<T> {
    pub(super) kept: [T; KEPT],
    pub(super) recent: [T; RECENT],
    next_kept: u8,
    next_recent: u8,
}

impl<T: Copy> Slots<T> {
    pub(super) const fn new(empty: T) -> Self {
        Self { kept: [empty; KEPT], recent: [empty; RECENT], next_kept: 0, next_recent: 0 }
    }

    /// A line near none of the slots was touched. Says which recent slot it has now.
    #[inline]
    pub(super) const fn enter(&mut self, line: T) -> usize {
        let slot = self.next_recent as usize % RECENT;
        self.next_recent = self.next_recent.wrapping_add(1);
        self.recent[slot] = line;
        slot
    }

    /// `line`, next to a recent one, was touched. Gives the line driven out, and which recent slot
    /// it has now.
    #[inline]
    pub(super) const fn keep(&mut self, line: T) -> (T, usize) {
        let slot = self.next_kept as usize % KEPT;
        self.next_kept = self.next_kept.wrapping_add(1);
        let driven_out = self.kept[slot];
        self.kept[slot] = line;
        (driven_out, self.enter(driven_out))
    }
}
