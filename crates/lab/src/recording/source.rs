//! The program to record.

use std::path::PathBuf;

use super::kernels;
use crate::LabError;

/// A program to record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// A kernel of befit's own, or a small model of a large run of it.
    Kernel {
        /// Its name, one of [`crate::kernels`].
        name: String,
        /// Its size; without one, the kernel's default, divided too.
        n: Option<u64>,
        /// By how much the cut-offs, and a default size, are divided; 1 for the kernel itself.
        shrink: u32,
    },
    /// A crate of the user's that uses befit, or rayon.
    Crate {
        /// Its Cargo.toml.
        manifest: PathBuf,
        /// The package, where the manifest is a workspace's.
        package: Option<String>,
        /// The binary to run, where the package has several.
        bin: Option<String>,
        /// An example to run instead of a binary.
        example: Option<String>,
        /// The arguments to start it with.
        arguments: Vec<String>,
    },
}

impl Source {
    /// Does the checks that need no build.
    ///
    /// # Errors
    /// Those for which [`LabError::is_usage`] holds: an unknown kernel, a size that it cannot have,
    /// a manifest that is not there.
    pub fn check(&self) -> Result<(), LabError> {
        match self {
            Self::Kernel { name, n, shrink } => kernels::find(name, *n, *shrink).map(drop),
            Self::Crate { manifest, .. } if !manifest.is_file() => {
                let path = manifest.display();
                Err(LabError::Usage(format!(
                    "{path}: no such manifest; --manifest-path names a Cargo.toml"
                )))
            }
            Self::Crate { .. } => Ok(()),
        }
    }
}
