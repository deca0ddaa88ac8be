//! What can be wrong with a file.

use std::io;
use std::path::PathBuf;

use super::VERSION;

/// Why a program cannot be read. Offsets are in bytes from the beginning of the file, to the
/// beginning of a chunk.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file cannot be opened.
    #[error("cannot open {}: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The system cannot read it.
    #[error("cannot read the program at byte {offset}: {source}")]
    Io {
        /// After how many bytes.
        offset: u64,
        /// Why.
        source: io::Error,
    },
    /// It does not begin as a program does.
    #[error(
        "this is not a recorded program: it does not begin with befit's mark; record one with `befit record`"
    )]
    NotAProgram,
    /// It is of another version.
    #[error(
        "the program is in version {found} of the file format; this befit reads version {VERSION}: record it again, or use a newer befit"
    )]
    Version {
        /// Its version.
        found: u32,
    },
    /// It ends too early.
    #[error("the program is cut off in its {section} section, in the chunk at byte {offset}")]
    Truncated {
        /// The section that the file ends in, or the last that it has.
        section: &'static str,
        /// Where its last chunk begins.
        offset: u64,
    },
    /// Bytes are not those that were written.
    #[error(
        "the program is damaged in its {section} section, in the chunk at byte {offset}: {what}"
    )]
    Damaged {
        /// The section.
        section: &'static str,
        /// Where the chunk begins.
        offset: u64,
        /// What shows it.
        what: &'static str,
    },
    /// Bytes are as they were written, but mean nothing.
    #[error(
        "the program is invalid in its {section} section, in the chunk at byte {offset}: {what}"
    )]
    Invalid {
        /// The section.
        section: &'static str,
        /// Where the chunk begins.
        offset: u64,
        /// What is wrong.
        what: String,
    },
    /// Something follows its end.
    #[error("bytes follow the program's end at byte {offset}")]
    Trailing {
        /// Where the program ends.
        offset: u64,
    },
}

/// Why a program cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The system cannot write it.
    #[error("cannot write the program: {0}")]
    Io(#[from] io::Error),
    /// The system cannot write the file.
    #[error("cannot write {}: {source}", path.display())]
    Save {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}
