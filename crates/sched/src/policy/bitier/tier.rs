//! What a policy notes on a task.

/// Which tier a task belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(in super::super) enum Tier {
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

/// A task's tier and its number in a table, packed into [`crate::Task::mark`]. A child inherits its
/// parent's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) struct Mark {
    pub(in super::super) tier: Tier,
    /// 0 for none.
    pub(in super::super) slot: u32,
}

impl Mark {
    pub(in super::super) fn new(tier: Tier, slot: u32) -> Self {
        Self { tier, slot }
    }

    pub(in super::super) fn of(word: u64) -> Self {
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
    pub(in super::super) fn is_counted(self) -> bool {
        match self.tier {
            Tier::Open => self.slot > 0,
            Tier::Leaf | Tier::Intra => true,
            Tier::Plain | Tier::Inter => false,
        }
    }

    pub(in super::super) fn word(self) -> u64 {
        (u64::from(self.slot) << 32) | self.tier as u64
    }
}
