//! A strand's touches are kept as a *blob* of a few bytes per regular stretch, which is decoded
//! when a simulator runs the strand.
//!
//! Loops walk along arrays, so most touches are on the line after one that was touched a little
//! before, and the walks alternate: a map from A to B touches A's next line, B's next line, and so
//! on. The codec keeps the lines touched last in [slots](Slots); a touch on the line of a slot that
//! holds such a walk, or on a neighbour of it, is a one-byte *near* token that names the slot.
//! Other touches are *far* tokens: the distance from the last far touch, in two to four bytes
//! mostly. Where the tokens repeat with a period of up to 64, a *repeat* token says for how long.
//! FORMAT.md has the details.
//!
//! Every blob stands alone, as strands are simulated in any order; equal blobs are stored once.
//! Slots hold what the encoder, the decoder and the checker need: absolute lines, dense lines, or
//! lines with their span. A near token never leaves its span (see [`crate::lines`]), so that only
//! far tokens are looked up.

mod check;
mod code;
mod decode;
mod encode;

pub(crate) use check::check;
pub use decode::Touches;
pub(crate) use encode::Encoder;

#[cfg(test)]
mod tests;

const KEPT: usize = 16;
const RECENT: usize = 64;

/// The lines that the codec remembers: what the encoder, the decoder and the checker each know of a
/// line.
///
/// A line in a *kept* slot belongs to a stream and moves in place, so that the slots of streams
/// stand still and their tokens repeat. *Recent* slots hold the lines touched otherwise; the newest
/// replaces the oldest. A touch next to a recent line shows the beginning of a stream: the line
/// takes a kept slot, one after the other in turn, and the line that it drives out becomes a recent
/// one. So a gather's random lines push out each other, not the streams that run beside them.
#[derive(Clone, Debug)]
struct Slots<T> {
    kept: [T; KEPT],
    recent: [T; RECENT],
    next_kept: u8,
    next_recent: u8,
}

impl<T: Copy> Slots<T> {
    const fn new(empty: T) -> Self {
        Self { kept: [empty; KEPT], recent: [empty; RECENT], next_kept: 0, next_recent: 0 }
    }

    /// A line near none of the slots was touched. Says which recent slot it has now.
    #[inline]
    const fn enter(&mut self, line: T) -> usize {
        let slot = self.next_recent as usize % RECENT;
        self.next_recent = self.next_recent.wrapping_add(1);
        self.recent[slot] = line;
        slot
    }

    /// `line`, next to a recent one, was touched. Gives the line driven out, and which recent slot
    /// it has now.
    #[inline]
    const fn keep(&mut self, line: T) -> (T, usize) {
        let slot = self.next_kept as usize % KEPT;
        self.next_kept = self.next_kept.wrapping_add(1);
        let driven_out = self.kept[slot];
        self.kept[slot] = line;
        (driven_out, self.enter(driven_out))
    }
}
