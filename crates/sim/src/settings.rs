//! The settings of a simulation, and why one fails.

use befit_sched::{Options, SchedulerKind};

/// The settings of a simulation.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings<P = SchedulerKind> {
    /// The policy: a built-in one, or any other [`Policy`](befit_sched::Policy).
    pub scheduler: P,
    /// The policy's options.
    pub options: Options,
    /// Seeds every generator of the run; the same seed gives the same outcome.
    pub seed: u64,
    /// What scheduling costs.
    pub costs: Costs,
}

impl<P> Settings<P> {
    /// `scheduler` with its defaults.
    pub fn new(scheduler: P, seed: u64) -> Self {
        Self { scheduler, options: Options::default(), seed, costs: Costs::default() }
    }
}

/// What scheduling costs, in cycles of virtual time. `cargo run --release -p befit-sched --example
/// costs` measures it on the machine at hand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Costs {
    /// One call of the policy, without its locks and steals.
    pub call: u64,
    /// Taking and giving back a lock that is free.
    pub lock: u64,
    /// Looking into a queue of a worker under the same last-level cache.
    pub near_steal: u64,
    /// Looking into a queue of any other worker.
    pub far_steal: u64,
    /// How often an idle worker looks for work: one for which there is some again finds it at a
    /// random point of this period.
    pub poll: u64,
}

impl Default for Costs {
    fn default() -> Self {
        Self { call: 50, lock: 50, near_steal: 100, far_steal: 300, poll: 200 }
    }
}

impl Costs {
    /// For a model `factor` times smaller than what it stands for: its strands are as many times
    /// shorter, and so must be what scheduling them costs, or it would weigh more than it does.
    #[must_use]
    pub fn shrunk(self, factor: u32) -> Self {
        let part = |cycles: u64| (cycles + u64::from(factor) / 2) / u64::from(factor.max(1));
        let costs = [self.call, self.lock, self.near_steal, self.far_steal, self.poll];
        let [call, lock, near_steal, far_steal, poll] = costs.map(part);
        Self { call, lock, near_steal, far_steal, poll }
    }
}

/// Why a program cannot be simulated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// The machine has a parameter that cannot be modelled.
    #[error("cannot simulate this machine: {0}")]
    Machine(String),
    /// A time that no schedule can reach: a defect of the simulator.
    #[error("simulated {time} cycles, and work and span allow no fewer than {least}")]
    TooFast {
        /// The simulated time.
        time: u64,
        /// The larger of T₁ / P and T∞.
        least: u64,
    },
    /// No worker can run what is ready: a defect of the policy.
    #[error(
        "scheduler {scheduler} left {ready} ready strands that no worker takes, at cycle {cycle}"
    )]
    Stuck {
        /// The policy.
        scheduler: &'static str,
        /// How many strands.
        ready: u64,
        /// When.
        cycle: u64,
    },
}
