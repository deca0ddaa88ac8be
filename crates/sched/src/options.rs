//! What a user may set on a policy.

use std::str::FromStr;

/// What a user may set on a policy. The defaults are the space-bounded study's.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Options {
    /// Dilation σ, 0 < σ ≤ 1: a task befits the smallest cache M with S ≤ σM.
    pub sigma: f64,
    /// μ, 0 < μ ≤ 1: the share of a cache that one passing strand may claim.
    pub mu: f64,
    /// How space-bounded policies count a strand that passes through a cache.
    pub counting: Counting,
    /// How many times likelier pws picks a victim under the same last-level cache.
    pub nearness: u32,
    /// How many children a task has, for cab.
    pub branching: u32,
    /// The depth at which hws begins its subtrees: forks from the root.
    pub boundary: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sigma: 0.5,
            mu: 0.2,
            counting: Counting::Capped,
            nearness: 10,
            branching: 2,
            boundary: 4,
        }
    }
}

/// How much of a cache M a strand claims that passes through it: that is anchored above and runs
/// below.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Counting {
    /// min(μM, strand size), let in while occupancy is at most (1−μ)M: the space-bounded study's.
    #[default]
    Capped,
    /// min(M, strand size), let in while that is free; μ does not matter. The definition before the
    /// study generalised it.
    Full,
}

impl Counting {
    /// As users type it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Capped => "capped",
            Self::Full => "full",
        }
    }
}

impl FromStr for Counting {
    type Err = UnknownCounting;
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let known = [Self::Capped, Self::Full].into_iter().find(|counting| counting.name() == name);
        known.ok_or_else(|| UnknownCounting(name.to_owned()))
    }
}

/// No way of counting strands has this name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownCounting(pub String);

impl std::fmt::Display for UnknownCounting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "unknown way of counting strands '{}'; known: capped, full", self.0)
    }
}

impl std::error::Error for UnknownCounting {}
