//! Mistakes in the name or the description of a machine.

use std::path::PathBuf;

/// Why there is no machine. Each message is one line that says where and what.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MachineError {
    /// The text is neither a preset's name, nor a file, nor a synthetic string.
    #[error(
        "unknown machine `{name}`; known are {known}, any file that `lstopo machine.xml` wrote, \
         and hwloc synthetic strings such as `pack:2 l3:1 core:4 pu:1`"
    )]
    Unknown {
        /// The name asked for.
        name: String,
        /// The presets' names, comma-separated.
        known: String,
    },
    /// A synthetic string has a mistake.
    #[error("synthetic string, at byte {at} (`{token}`): {what}")]
    Synthetic {
        /// Offset of the token.
        at: usize,
        /// The token, shortened.
        token: String,
        /// The mistake, and what to write instead.
        what: String,
    },
    /// An object of the tree cannot be.
    #[error("{object}: {what}")]
    Object {
        /// Which object, in the words of its source: `L2 #3`, `cpu7`.
        object: String,
        /// The mistake in it.
        what: String,
    },
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// An XML file has a mistake.
    #[error("{place}, at byte {at}: {what}")]
    Xml {
        /// The file's path, or `XML` where it came as text.
        place: String,
        /// Offset of the place where reading stopped.
        at: u64,
        /// The mistake.
        what: String,
    },
    /// This build cannot do it.
    #[error("{what} needs befit-machine's feature `{feature}`, which this build lacks")]
    Feature {
        /// The feature's use.
        what: String,
        /// The Cargo feature to turn on.
        feature: &'static str,
    },
}

impl MachineError {
    /// An error about one object of the tree.
    pub(crate) fn object(object: impl Into<String>, what: impl Into<String>) -> Self {
        Self::Object { object: object.into(), what: what.into() }
    }
}
