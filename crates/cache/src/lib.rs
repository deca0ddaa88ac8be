//! A model of caches: one cache, and a coherent hierarchy of them.

mod error;
mod hierarchy;
mod hint;
mod lanes;
mod outcome;
mod sets;

pub use error::CacheError;
pub use hierarchy::{Hierarchy, Touch};
pub use outcome::{Access, ClusterCounts, Found};
