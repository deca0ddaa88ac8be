//! How a strand's touches are kept: a *blob* of a few bytes per regular stretch, decoded when a
//! simulator runs the strand.
//!
//! Loops walk along arrays, so most touches are on the line after one that was touched a little
//! before, and the walks alternate: a map from A to B touches A's next line, B's next line, and so
//! on. The codec keeps the lines touched last in [slots](slots); a touch on the line of a slot that
//! holds such a walk, or on a neighbour of it, is a one-byte *near* token that names the slot.
//! Other touches are *far* tokens: the distance from the last far touch, in two to four bytes
//! mostly. Where the tokens repeat with a period of up to 64, a *repeat* token says for how long.
//! The [table of tokens](code) and FORMAT.md have the details.
//!
//! Every blob stands alone, as strands are simulated in any order; equal blobs are stored once.
//! Slots hold what the encoder, the decoder and the checker need: absolute lines, dense lines, or
//! lines with their span. A near token never leaves its span (see [`crate::lines`]), so that only
//! far tokens are looked up.

mod check;
mod code;
mod decode;
mod encode;
mod raw;
mod slots;

pub(crate) use check::check;
pub use decode::Touches;
pub(crate) use encode::{Encoded, Encoder};
pub use raw::RawTouch;

#[cfg(test)]
mod tests;
