//! The settings of a simulation, and why one fails.

use befit_machine::Prices;
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
    /// Caches begin as a serial thread leaves them that has made the program's data; else empty.
    /// What that thread misses is counted with the rest, and takes no time.
    pub prepared: bool,
    /// An account is kept of what time went on ([`Outcome::account`](crate::Outcome::account)). The
    /// rest of the outcome is the same without it, and is there in less time.
    pub accounted: bool,
}

impl<P> Settings<P> {
    /// `scheduler` with its default options, and fixed costs. [`Costs::of`] has those of a machine,
    /// which `befit compare` simulates with.
    pub fn new(scheduler: P, seed: u64) -> Self {
        Self {
            scheduler,
            options: Options::default(),
            seed,
            costs: Costs::default(),
            prepared: false,
            accounted: true,
        }
    }
}

/// What scheduling costs, in cycles of virtual time. `befit calibrate` measures it on the machine
/// at hand.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Costs {
    /// An inlined fork: two calls that the compiler did not merge.
    pub inlined: f64,
    /// A pending fork that nobody takes, made and popped.
    pub pending: f64,
    /// Beyond that, one that is timed, as a region may begin at it.
    pub region: f64,
    /// Publishing a fork, beyond the calls of the policy and their locks.
    pub published: f64,
    /// Running a fork of a worker under the same last-level cache, beyond the calls of the policy,
    /// and the lines that are priced one by one.
    pub stolen: f64,
    /// A spawned task, beyond the calls of the policy.
    pub spawn: f64,
    /// What it costs beyond that if more tasks wait than ever before.
    pub job: f64,
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
    /// How many times larger the run is that the model stands for: its tasks take as many times
    /// longer where a worker learns how long they take.
    pub scale: u32,
}

impl Default for Costs {
    fn default() -> Self {
        Self {
            inlined: 2.0,
            pending: 20.0,
            region: 0.0,
            published: 0.0,
            stolen: 0.0,
            spawn: 0.0,
            job: 0.0,
            call: 50,
            lock: 50,
            near_steal: 100,
            far_steal: 300,
            poll: 200,
            scale: 1,
        }
    }
}

impl Costs {
    /// Those of a machine with these prices, rounded to cycles where a policy is concerned.
    pub fn of(prices: &Prices) -> Self {
        let whole = |cycles: f64| cycles.round().max(0.0) as u64;
        let call = prices.call + prices.lock;
        let published = (prices.published - 2.0 * call).max(0.0);
        // What a join of two equal halves is charged elsewhere: a fork that is pending and
        // published; four calls, two of this and two of what comes after its end; and the lines of
        // the queue and its lock.
        let stolen = prices.pending + published + 4.0 * call + 3.0 * prices.steal;
        Self {
            inlined: prices.inlined,
            pending: prices.pending,
            region: prices.region,
            published,
            stolen: (prices.stolen - stolen).max(0.0),
            spawn: prices.spawn,
            job: prices.job,
            call: whole(prices.call),
            lock: whole(prices.lock),
            near_steal: whole(prices.steal),
            far_steal: whole(prices.far_steal),
            poll: whole(prices.poll),
            scale: 1,
        }
    }

    /// For a model `factor` times smaller than what it stands for: its strands are as many times
    /// shorter, and so must be what scheduling them costs, or it would weigh more than it does.
    #[must_use]
    pub fn shrunk(self, factor: u32) -> Self {
        let factor = factor.max(1);
        let whole_part = |cycles: u64| (cycles + u64::from(factor) / 2) / u64::from(factor);
        let costs = [self.call, self.lock, self.near_steal, self.far_steal, self.poll];
        let [call, lock, near_steal, far_steal, poll] = costs.map(whole_part);
        let part = |cycles: f64| cycles / f64::from(factor);
        Self {
            inlined: part(self.inlined),
            pending: part(self.pending),
            region: part(self.region),
            published: part(self.published),
            stolen: part(self.stolen),
            spawn: part(self.spawn),
            job: part(self.job),
            call,
            lock,
            near_steal,
            far_steal,
            poll,
            scale: self.scale * factor,
        }
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
    /// The recording says that its operations take longer than virtual time can hold.
    #[error(
        "the recording's operations take {work} cycles, and at most {most} are simulated: it is \
         damaged, or its times are wrong; record it again"
    )]
    TooLong {
        /// T₁.
        work: u64,
        /// The longest that is simulated.
        most: u64,
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Each figure another one.
    const COSTS: Costs = Costs {
        inlined: 2.0,
        pending: 20.0,
        region: 6.0,
        published: 10.0,
        stolen: 30.0,
        spawn: 14.0,
        job: 1.0,
        call: 50,
        lock: 49,
        near_steal: 101,
        far_steal: 302,
        poll: 200,
        scale: 3,
    };

    #[test]
    fn the_costs_of_a_smaller_model_are_divided_and_whole_ones_rounded_to_the_nearest() {
        let quarter = Costs {
            inlined: 0.5,
            pending: 5.0,
            region: 1.5,
            published: 2.5,
            stolen: 7.5,
            spawn: 3.5,
            job: 0.25,
            // 12.5, 12.25, 25.25, 75.5 and 50.
            call: 13,
            lock: 12,
            near_steal: 25,
            far_steal: 76,
            poll: 50,
            scale: 12,
        };
        assert_eq!(COSTS.shrunk(4), quarter);
        assert_eq!([COSTS.shrunk(1), COSTS.shrunk(0)], [COSTS; 2]);
    }

    #[test]
    fn costs_leave_out_of_a_price_what_is_charged_elsewhere() {
        let prices = Prices {
            inlined: 4.0,
            pending: 94.0,
            region: 214.0,
            published: 458.0,
            stolen: 2100.0,
            spawn: 31.0,
            job: 7.0,
            call: 22.4,
            lock: 15.6,
            steal: 115.5,
            far_steal: 300.2,
            poll: 201.0,
            wake: 5000.0,
            fault: 900.0,
        };
        let costs = Costs {
            inlined: 4.0,
            pending: 94.0,
            region: 214.0,
            // Less two calls with their locks: 2 × 38.
            published: 382.0,
            // Less a pending fork that is published, four such calls and three lines.
            stolen: 2100.0 - (94.0 + 382.0 + 4.0 * 38.0 + 3.0 * 115.5),
            spawn: 31.0,
            job: 7.0,
            call: 22,
            lock: 16,
            near_steal: 116,
            far_steal: 300,
            poll: 201,
            scale: 1,
        };
        assert_eq!(Costs::of(&prices), costs);
        // None is less than nothing.
        let cheap = Costs::of(&Prices { published: 1.0, stolen: 1.0, poll: -3.0, ..prices });
        assert_eq!(cheap, Costs { published: 0.0, stolen: 0.0, poll: 0, ..costs });
    }
}
