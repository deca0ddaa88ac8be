//! What an engine counts of its workers, for policies that measure.

/// What one worker has done in some time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WorkerCounts {
    /// Lines brought into its last private cache.
    pub private_misses: u64,
    /// Those of them that the last-level cache did not have either.
    pub llc_misses: u64,
    /// Instructions (in the simulator: operations). 0 where they are not counted.
    pub instructions: u64,
}

impl WorkerCounts {
    /// What was counted from `earlier` to here.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            private_misses: self.private_misses.saturating_sub(earlier.private_misses),
            llc_misses: self.llc_misses.saturating_sub(earlier.llc_misses),
            instructions: self.instructions.saturating_sub(earlier.instructions),
        }
    }
}

/// Where sizes that a policy measures come from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CountSource {
    /// The processor's counters.
    Hardware,
    /// What the program has the engine count with.
    Given,
    /// The simulated caches.
    Simulated,
    /// Nothing counts: the program declares its tasks' sizes.
    Declared,
}

impl std::fmt::Display for CountSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Hardware => "hardware counters",
            Self::Given => "the program's own counts",
            Self::Simulated => "simulated caches",
            Self::Declared => "declared sizes",
        })
    }
}
