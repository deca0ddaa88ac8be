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

pub use kernel::Kernel;
pub use settings::{Setting, Settings, Variant};

/// A name or a setting that is not known.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogError {
    /// No kernel has this name.
    #[error("unknown kernel '{0}'; known: {known}", known = Kernel::ALL.map(|k| k.name).join(", "))]
    Unknown(String),
    /// A kernel has no such setting, or the setting no such value.
    #[error("kernel {kernel} has no setting '{given}'; known: {known}")]
    Setting {
        /// The kernel.
        kernel: &'static str,
        /// The setting asked for.
        given: String,
        /// Its settings and their values.
        known: String,
    },
}
