//! The file format: programs written to, and read back from, files that may be damaged or hostile.
//!
//! FORMAT.md, beside the crate's manifest, specifies it. A file is a run of [chunks](chunk), each
//! compressed and checksummed; [`write()`] and [`read()`] turn their contents into a program's
//! tables.

mod chunk;
mod error;
mod read;
mod sections;
mod write;

pub use error::{ReadError, WriteError};
pub(crate) use read::{load, read};
pub(crate) use write::{save, write};

/// First bytes of every file. The byte above 127 and the line end show when a transfer took the
/// file for text.
const MAGIC: [u8; 8] = *b"\x89BEFIT\r\n";
/// The version that is written, and the only one that is read.
const VERSION: u32 = 1;
