//! What bi-tier policies share: an upper tier of tasks that are spread over the sockets, and below
//! it subtrees that each stay on one.
//!
//! *Socket* means the workers under one last-level cache. A task is *inter-socket*; or *leaf
//! inter-socket*, the root of an *intra-socket subtree*; or a task of such a subtree ([`Tier`]).
//! Policies differ in how they tell (by depth: `by_depth`; by measuring: [`super::cats`]); where
//! tasks wait and who may take them is the same:
//!
//! - children of inter-socket tasks wait in the *inter-socket pool* of the socket where they were
//!   forked;
//! - children of leaf inter-socket and intra-socket tasks wait in the *intra-socket pool* of the
//!   worker that forked them; only workers of its socket take from it.
//!
//! Sources: Q. Chen, Z. Huang, M. Guo, J. Zhou, "CAB: cache aware bi-tier task-stealing in
//! multi-socket multi-core architecture", ICPP 2011; Q. Chen, M. Guo, Z. Huang, "CATS: cache aware
//! task-stealing based on online profiling in multi-socket multi-core architectures", ICS 2012.

mod by_depth;
mod pools;
mod sockets;
#[cfg(test)]
mod tests;
mod tier;

pub use by_depth::ByDepth;
pub(super) use pools::Pools;
pub(super) use sockets::Sockets;
pub(super) use tier::{Mark, Tier};
