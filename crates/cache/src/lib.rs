//! A model of caches: one cache, and a coherent hierarchy of them.

mod error;
mod hierarchy;
mod outcome;

pub use error::CacheError;
pub use hierarchy::Hierarchy;
pub use outcome::{Access, ClusterCounts, Found};
