//! The benchmark programs of befit by name: their purpose and source, the size of their input, and
//! their settings.
//!
//! The programs themselves are in `befit-kernels`. The `befit` command knows them by name only, so
//! that its own build need not wait for them and the runtime: it has them built when it records
//! one.
//!
//! ```
//! use befit_catalog::Variant;
//!
//! let tree = Variant::find("bst:node=24")?;
//! assert_eq!((tree.settings.get("node"), tree.settings.get("layout")), ("24", "random"));
//! # Ok::<(), befit_catalog::CatalogError>(())
//! ```

mod kernel;
mod settings;

use std::{error::Error, fmt};

pub use kernel::Kernel;
pub use settings::{Setting, Settings, Variant};

/// A name or a setting that is not known.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CatalogError {
    /// No kernel has this name.
    Unknown(String),
    /// A kernel has no such setting, or the setting no such value.
    Setting {
        /// The kernel.
        kernel: &'static str,
        /// The setting asked for.
        given: String,
        /// Its settings and their values.
        known: String,
    },
}

impl fmt::Display for CatalogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => {
                let known = Kernel::ALL.map(|kernel| kernel.name).join(", ");
                write!(f, "unknown kernel '{name}'; known: {known}")
            }
            Self::Setting { kernel, given, known } => {
                write!(
                    f,
                    "kernel {kernel} has no setting '{given}', or not with this value; known: \
                     {known}"
                )
            }
        }
    }
}

impl Error for CatalogError {}
