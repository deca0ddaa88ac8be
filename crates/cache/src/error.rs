//! Why a machine cannot be modelled.

/// Why a machine's caches cannot be modelled.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// Two caches have different line lengths.
    #[error("cluster {cluster} has lines of {line}, cluster {other} lines of {other_line}: give all caches the same line length")]
    MixedLines {
        /// Index of the one.
        cluster: u32,
        /// Its line length.
        line: befit_machine::Bytes,
        /// Index of the other.
        other: u32,
        /// Its line length.
        other_line: befit_machine::Bytes,
    },
}
