//! What a user may set on a policy, and the way from a name to an object.

use std::{fmt::Debug, str::FromStr};

use befit_machine::Machine;

use crate::{Scheduler, SchedulerKind, policy};

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

/// No policy has this name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownScheduler(pub String);

impl std::fmt::Display for UnknownScheduler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "unknown scheduler '{}'; known: {}", self.0, SchedulerKind::names().join(", "))
    }
}

impl std::error::Error for UnknownScheduler {}

impl SchedulerKind {
    /// Every policy.
    pub const ALL: [Self; 10] = [
        Self::Ws,
        Self::Pws,
        Self::Sb,
        Self::SbD,
        Self::CilkA,
        Self::Cats,
        Self::CatsS,
        Self::Cab,
        Self::Hws,
        Self::Mts,
    ];

    /// Whether it minds which workers share a cache. What does not has nothing from threads that
    /// stay on their CPUs.
    pub const fn minds_places(self) -> bool {
        !matches!(self, Self::Ws | Self::CilkA)
    }

    /// As users type it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ws => "ws",
            Self::Pws => "pws",
            Self::Sb => "sb",
            Self::SbD => "sb-d",
            Self::CilkA => "cilk-a",
            Self::Cats => "cats",
            Self::CatsS => "cats-s",
            Self::Cab => "cab",
            Self::Hws => "hws",
            Self::Mts => "mts",
        }
    }

    /// One line on what it does and where it comes from.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Ws => "work stealing, victims uniformly at random (Blumofe & Leiserson 1999)",
            Self::Pws => {
                "work stealing, victims under the same last-level cache likelier (Quintin & Wagner 2010)"
            }
            Self::Sb => {
                "space-bounded: each task anchored to the cache that it befits (Simhadri et al. 2014)"
            }
            Self::SbD => {
                "space-bounded, each cluster's top bucket split by child cluster (Simhadri et al. 2014)"
            }
            Self::CilkA => "work stealing child-first, CATS's baseline (Frigo et al. 1998)",
            Self::Cats => {
                "bi-tier: measures tasks, spreads large ones over sockets, keeps small ones on one (Chen et al. 2012)"
            }
            Self::CatsS => "cats, with subtrees that stay on the socket that holds their data",
            Self::Cab => {
                "bi-tier, cut at a depth computed from the declared size and --branching (Chen et al. 2011)"
            }
            Self::Hws => "bi-tier, cut at the depth --boundary (Quintin & Wagner 2010)",
            Self::Mts => "a shared stack per socket, refilled in batches (Olivier et al. 2012)",
        }
    }

    /// All names, in the order of [`Self::ALL`].
    pub fn names() -> Vec<&'static str> {
        Self::ALL.iter().map(|k| k.name()).collect()
    }

    /// Builds the policy for `machine`.
    pub fn build<T: Copy + Send + Debug + 'static>(
        self,
        machine: &Machine,
        options: Options,
    ) -> Box<dyn Scheduler<T>> {
        match self {
            Self::Ws => Box::new(policy::WorkStealing::uniform(machine)),
            Self::Pws => Box::new(policy::WorkStealing::priority(machine, options.nearness)),
            Self::Sb => Box::new(policy::SpaceBounded::central(machine, options)),
            Self::SbD => Box::new(policy::SpaceBounded::distributed(machine, options)),
            Self::CilkA => Box::new(policy::WorkStealing::cilk(machine)),
            Self::Cats => Box::new(policy::Cats::literal(machine)),
            Self::CatsS => Box::new(policy::Cats::sticky(machine)),
            Self::Cab => Box::new(policy::ByDepth::cab(machine, options)),
            Self::Hws => Box::new(policy::ByDepth::hws(machine, options)),
            Self::Mts => Box::new(policy::Mts::new(machine)),
        }
    }
}

impl std::fmt::Display for SchedulerKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for SchedulerKind {
    type Err = UnknownScheduler;
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|k| k.name() == name)
            .ok_or_else(|| UnknownScheduler(name.to_owned()))
    }
}
