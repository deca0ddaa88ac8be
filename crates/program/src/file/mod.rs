//! The file format: programs written to, and read back from, files that may be damaged or hostile.
//!
//! FORMAT.md, beside the crate's manifest, specifies it. A file is a run of [chunks](chunk), each
//! compressed and checksummed; `write` and `read` turn their contents into a program's tables.

mod check;
mod chunk;
mod read;
mod whole;
mod write;

pub use whole::{can_be_written, write_whole};

use std::{io, path::PathBuf};

/// First bytes of every file. The byte above 127 and the line end show when a transfer took the
/// file for text.
const MAGIC: [u8; 8] = *b"\x89BEFIT\r\n";
/// The version that is written.
const VERSION: u32 = 7;
/// The last one whose origins have eight words, none behind references.
const WITH_EIGHT_WORDS: u32 = 6;
/// The version without spots, which is read, too.
const WITHOUT_SPOTS: u32 = 4;
/// The version without lines of atomics, which is read, too.
const WITHOUT_ATOMICS: u32 = 3;
/// The version without sites, which is read, too.
const WITHOUT_SITES: u32 = 2;
/// The version without places, which is read, too.
const WITHOUT_PLACES: u32 = 1;

/// Why a program cannot be read. Offsets are in bytes from the beginning of the file, to the
/// beginning of a chunk.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file cannot be opened.
    #[error("cannot open {path}: {1}", path = .0.display())]
    Open(PathBuf, #[source] io::Error),
    /// The system cannot read it after so many bytes.
    #[error("cannot read the program at byte {0}: {1}")]
    Io(u64, #[source] io::Error),
    /// It does not begin as a program does.
    #[error(
        "this is not a recorded program: it does not begin with befit's mark; \
         record one with `befit record`"
    )]
    NotAProgram,
    /// It is of another version.
    #[error(
        "the program is in version {0} of the file format; this befit reads versions \
         {WITHOUT_PLACES} to {VERSION}: record it again, or use a newer befit"
    )]
    Version(u32),
    /// It ends too early.
    #[error("the program is cut off in its {section} section, in the chunk at byte {offset}")]
    Truncated {
        /// The section that the file ends in, or the last that it has.
        section: &'static str,
        /// Where its last chunk begins.
        offset: u64,
    },
    /// Bytes are not those that were written, or mean nothing.
    #[error(
        "the program is {fault} in its {section} section, in the chunk at byte {offset}: {what}"
    )]
    Chunk {
        /// "damaged" or "invalid".
        fault: &'static str,
        /// The section.
        section: &'static str,
        /// Where the chunk begins.
        offset: u64,
        /// The sign of the fault.
        what: String,
    },
    /// Something follows its end, which is at this byte.
    #[error("bytes follow the program's end at byte {0}")]
    Trailing(u64),
}

/// Why a program cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The system cannot write it.
    #[error("cannot write the program: {0}")]
    Io(#[from] io::Error),
    /// The system cannot write the file.
    #[error("cannot write {path}: {1}", path = .0.display())]
    Save(PathBuf, #[source] io::Error),
}

/// The section that a chunk belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Section {
    /// Name, line size, filter, what the root declares, counts.
    Meta,
    /// The touched stretches of the address space.
    Spans,
    /// The lines of atomics.
    Atomics,
    /// The sizes that tasks declare, each different pair once.
    Declared,
    /// The names of places.
    Places,
    /// Where tasks are forked.
    Sites,
    /// What is known of tasks where they are forked.
    Origins,
    /// The lines of the source that touches are made at.
    Spots,
    /// Large blocks of memory, and where they were taken.
    Blocks,
    /// The classes of strands.
    Classes,
    /// How long the operations of each class take.
    Work,
    /// The strands' costs, each different one once.
    Costs,
    /// Length and touches of each blob.
    Index,
    /// The blobs' bytes, without regard to where one ends.
    Blobs,
    /// Length of each blob's spots.
    SpotIndex,
    /// The bytes of the blobs' spots, without regard to where one ends.
    TouchSpots,
    /// The steps of the serial execution.
    Tree,
    /// Totals.
    End,
}

impl Section {
    /// All in order, each with its tag in a chunk's header and its name in messages.
    const ALL: [(Self, [u8; 4], &'static str); 18] = [
        (Self::Meta, *b"META", "meta"),
        (Self::Spans, *b"SPAN", "spans"),
        (Self::Atomics, *b"ATOM", "atomics"),
        (Self::Declared, *b"DECL", "declared"),
        (Self::Places, *b"PLAC", "places"),
        (Self::Sites, *b"SITE", "sites"),
        (Self::Origins, *b"ORIG", "origins"),
        (Self::Spots, *b"SPOT", "spots"),
        (Self::Blocks, *b"BLCK", "blocks"),
        (Self::Classes, *b"CLAS", "classes"),
        (Self::Work, *b"WORK", "work"),
        (Self::Costs, *b"COST", "costs"),
        (Self::Index, *b"INDX", "index"),
        (Self::Blobs, *b"BLOB", "blobs"),
        (Self::SpotIndex, *b"SPIX", "spot index"),
        (Self::TouchSpots, *b"SPTS", "touch spots"),
        (Self::Tree, *b"TREE", "tree"),
        (Self::End, *b"END\0", "end"),
    ];

    const fn tag(self) -> [u8; 4] {
        Self::ALL[self as usize].1
    }

    const fn name(self) -> &'static str {
        Self::ALL[self as usize].2
    }

    fn of(tag: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|section| section.1 == tag).map(|section| section.0)
    }

    /// The error of a chunk of this section that begins at `offset`.
    fn fault(self, fault: &'static str, offset: u64, what: impl Into<String>) -> ReadError {
        ReadError::Chunk { fault, section: self.name(), offset, what: what.into() }
    }
}
