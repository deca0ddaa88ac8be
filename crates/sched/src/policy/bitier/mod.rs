//! What bi-tier policies share: an upper tier of tasks that are spread over the sockets, and below
//! it subtrees that each stay on one.
//!
//! *Socket* means the workers under one last-level cache. A task is *inter-socket*; or *leaf
//! inter-socket*, the root of an *intra-socket subtree*; or a task of such a subtree ([`Tier`]).
//! Policies differ in how they tell them apart (`cab` and `hws` by depth, `cats` by measuring).
//! They agree in where tasks wait and which workers may take them:
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

pub(crate) use by_depth::ByDepth;
pub(super) use pools::Pools;
pub(super) use sockets::{Sockets, private_cache};

/// Which tier a task belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(in crate::policy) enum Tier {
    /// Not decided by the note: a root, or a task that a table knows.
    Open = 0,
    /// Of a computation that is not cut in tiers.
    Plain = 1,
    /// Larger than a shared cache.
    Inter = 2,
    /// The root of an intra-socket subtree.
    Leaf = 3,
    /// A task of an intra-socket subtree.
    Intra = 4,
}

/// A task's tier and its number in a table, packed into [`crate::TaskInfo::mark`]. A child inherits
/// its parent's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::policy) struct Mark {
    pub(in crate::policy) tier: Tier,
    /// 0 for none.
    pub(in crate::policy) slot: u32,
}

impl Mark {
    pub(in crate::policy) fn new(tier: Tier, slot: u32) -> Self {
        Self { tier, slot }
    }

    pub(in crate::policy) fn of(word: u64) -> Self {
        let tier = match word as u8 {
            1 => Tier::Plain,
            2 => Tier::Inter,
            3 => Tier::Leaf,
            4 => Tier::Intra,
            _ => Tier::Open,
        };
        Self { tier, slot: (word >> 32) as u32 }
    }

    /// Whether what the task moves is of interest to a policy that measures: of a task that is
    /// being measured, and of subtrees, which tell whether they have grown.
    pub(in crate::policy) fn is_counted(self) -> bool {
        match self.tier {
            Tier::Open => self.slot > 0,
            Tier::Leaf | Tier::Intra => true,
            Tier::Plain | Tier::Inter => false,
        }
    }

    pub(in crate::policy) fn word(self) -> u64 {
        (u64::from(self.slot) << 32) | self.tier as u64
    }
}
