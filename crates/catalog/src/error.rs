//! What can go wrong with a name.

use crate::Kernel;

/// What can go wrong with a name.
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
        /// What was asked for.
        given: String,
        /// Its settings and their values.
        known: String,
    },
}
