//! The benchmark programs of befit by name: what each does and where it comes from, the size of its
//! input, and what may be set on it.
//!
//! The programs themselves are in `befit-kernels`. They are apart because the `befit` command knows
//! them by name only: it has them built with instrumentation when it records one, and need not wait
//! for them, and for the runtime below them, when it is built itself.
//!
//! ```
//! use befit_catalog::Variant;
//!
//! let tree = Variant::find("bst:node=24")?;
//! assert_eq!((tree.kernel.name, tree.settings.get("node"), tree.settings.get("layout")), ("bst", "24", "random"));
//! # Ok::<(), befit_catalog::CatalogError>(())
//! ```

mod error;
mod kernel;
mod settings;
mod variant;

pub use error::CatalogError;
pub use kernel::Kernel;
pub use settings::{Setting, Settings};
pub use variant::Variant;
