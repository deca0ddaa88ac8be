//! A model of caches: one cache, and a coherent hierarchy of them.

mod error;
mod hierarchy;
mod lanes;
mod outcome;
mod prefetch;
mod sets;

pub use error::CacheError;
pub use hierarchy::{Hierarchy, Touch};
pub use outcome::{Access, ClusterCounts, Found};
