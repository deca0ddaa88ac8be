//! Why a machine's caches cannot be modelled.

use befit_machine::Bytes;

/// Why a machine's caches cannot be modelled.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// A cache has a shape that cannot be modelled.
    #[error("{what} {problem}")]
    Shape {
        /// Which cache.
        what: String,
        /// The fault, and the remedy.
        problem: String,
    },
    /// Two caches have different line lengths.
    #[error(
        "{what} has lines of {line}, {other} lines of {other_line}: give all caches the same line \
         length"
    )]
    MixedLines {
        /// The one.
        what: String,
        /// Its line length.
        line: Bytes,
        /// The other.
        other: String,
        /// Its line length.
        other_line: Bytes,
    },
    /// A cluster that is not the root has no cache.
    #[error(
        "cluster {cluster} has no cache: only the root may have none; leave it out and attach its \
         children to its parent"
    )]
    NoCache {
        /// Its index.
        cluster: u32,
    },
    /// Too many levels.
    #[error(
        "worker {worker} has {levels} caches on its way to memory, more than the {most} that \
         can be modelled"
    )]
    TooDeep {
        /// The worker.
        worker: u32,
        /// How many caches.
        levels: usize,
        /// How many can be modelled.
        most: usize,
    },
    /// Too many caches for the directory.
    #[error(
        "the machine has {units} private caches and shared caches, more than the {most} that \
         can be modelled"
    )]
    TooMany {
        /// How many chains of caches.
        units: usize,
        /// How many can be modelled.
        most: usize,
    },
    /// Too many lines.
    #[error("{lines} lines of memory are more than the {most} that can be modelled")]
    TooManyLines {
        /// How many.
        lines: u32,
        /// How many can be modelled.
        most: u32,
    },
}
