//! The file format: programs written to, and read back from, files that may be damaged or hostile.
//!
//! FORMAT.md, beside the crate's manifest, specifies it. A file is a run of [chunks](chunk), each
//! compressed and checksummed; [`write()`] and [`read()`] turn their contents into a program's
//! tables.

mod chunk;
mod read;
mod write;

use std::{io, path::PathBuf};

pub(crate) use read::{load, read};
pub(crate) use write::{save, write};

/// First bytes of every file. The byte above 127 and the line end show when a transfer took the
/// file for text.
const MAGIC: [u8; 8] = *b"\x89BEFIT\r\n";
/// The version that is written, and the only one that is read.
const VERSION: u32 = 1;

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
        "this is not a recorded program: it does not begin with befit's mark; \
         record one with `befit record`"
    )]
    NotAProgram,
    /// It is of another version.
    #[error(
        "the program is in version {found} of the file format; this befit reads version \
         {VERSION}: record it again, or use a newer befit"
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
        /// The sign of the damage.
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
        /// The fault.
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

/// The section that a chunk belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Section {
    /// Name, line size, filter, what the root declares, counts.
    Meta,
    /// The touched stretches of the address space.
    Spans,
    /// The sizes that tasks declare, each different pair once.
    Declared,
    /// The strands' costs, each different triple once.
    Costs,
    /// Length and touches of each blob.
    Index,
    /// The blobs' bytes, without regard to where one ends.
    Blobs,
    /// The steps of the serial execution.
    Tree,
    /// Totals.
    End,
}

impl Section {
    const ALL: [Self; 8] = [
        Self::Meta,
        Self::Spans,
        Self::Declared,
        Self::Costs,
        Self::Index,
        Self::Blobs,
        Self::Tree,
        Self::End,
    ];

    /// Its name in a chunk's header.
    const fn tag(self) -> [u8; 4] {
        match self {
            Self::Meta => *b"META",
            Self::Spans => *b"SPAN",
            Self::Declared => *b"DECL",
            Self::Costs => *b"COST",
            Self::Index => *b"INDX",
            Self::Blobs => *b"BLOB",
            Self::Tree => *b"TREE",
            Self::End => *b"END\0",
        }
    }

    /// Its name in messages.
    const fn name(self) -> &'static str {
        match self {
            Self::Meta => "meta",
            Self::Spans => "spans",
            Self::Declared => "declared",
            Self::Costs => "costs",
            Self::Index => "index",
            Self::Blobs => "blobs",
            Self::Tree => "tree",
            Self::End => "end",
        }
    }

    fn of(tag: [u8; 4]) -> Option<Self> {
        Self::ALL.into_iter().find(|section| section.tag() == tag)
    }
}
