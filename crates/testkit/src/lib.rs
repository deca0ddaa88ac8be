//! Tests that every scheduling policy must pass: the built-in ones, and yours.
//!
//! A policy promises an engine that every task is handed out once, that the program comes to its
//! end, that no task runs outside the cluster that it is anchored to (the *anchored property*), and
//! whatever its own [`check`](befit_sched::Scheduler::check) asserts between calls. Each function
//! here holds a policy to this on random computations, and panics where it breaks a promise:
//!
//! - [`in_small_engine`] plays an engine in one thread, a strand of a random worker at a time. It
//!   also asks for work in every way that the protocol knows;
//! - [`in_simulator`] runs programs under the simulator, where every touch must be made once;
//! - [`on_threads`] runs forks, scopes and spawned tasks on pools of real threads, and looks that
//!   nothing is handed out more often than it was added;
//! - [`on_both_engines`] runs one series-parallel program, whose sizes lie, in the simulator and on
//!   threads, and looks that each strand runs once, after what it waits for, and nothing is left.
//!
//! ```
//! use befit_sched::SchedulerKind;
//!
//! befit_testkit::in_small_engine(&SchedulerKind::Pws, 0..5);
//! befit_testkit::in_simulator(&SchedulerKind::Pws, 0..5);
//! befit_testkit::on_threads(&SchedulerKind::Pws, 0..5);
//! befit_testkit::on_both_engines(&SchedulerKind::Pws, 0..5);
//! ```
//!
//! Cases are numbered: each range of seeds gives the same cases again. A failure prints its seed
//! *n*, and `n..n + 1` plays it again. `docs/your-own-scheduler.md` shows the way to a policy
//! of your own.

mod series_parallel;
mod simulated;
mod small_engine;
#[cfg(test)]
mod tests;
mod threads;
mod watch;

use std::{fmt, time::Duration};

use befit_machine::Machine;
use befit_sched::{Counting, Options};

pub use self::{
    series_parallel::on_both_engines, simulated::in_simulator, small_engine::in_small_engine,
    threads::on_threads,
};

/// A computation on threads takes milliseconds. One that takes so long hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// One random case: a machine, options, and what else its seed gives.
struct Case {
    seed: u64,
    machine: Machine,
    options: Options,
    random: fastrand::Rng,
}

impl Case {
    fn new(seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let machines = [
            "core:1 l1:1(size=32768) pu:1",
            "core:3 l1:1(size=16384) pu:2",
            "pack:2 l3:1(size=1048576) core:2 l2:1(size=65536) l1:1(size=8192) pu:1",
            "pack:3 l3:1(size=262144) l2:2(size=65536) core:1 l1:1(size=16384) pu:2",
            "pack:4 l3:1(size=25165824) core:8 l2:1(size=262144) l1:1(size=32768) pu:1",
        ];
        let machine = machines[random.usize(..machines.len())].parse().expect("a valid topology");
        let sigma = 0.1 + 0.9 * random.f64();
        let mu = 0.01 + 0.99 * random.f64();
        let options = Options {
            sigma,
            mu,
            counting: if random.bool() { Counting::Full } else { Counting::Capped },
            nearness: random.u32(1..20),
            branching: random.u32(2..6),
            boundary: random.u32(0..6),
        };
        Self { seed, machine, options, random }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seed, machine, options) = (self.seed, &self.machine.name, self.options);
        write!(f, "seed {seed}, on {machine}, {options:?}")
    }
}

impl Drop for Case {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the case that failed: {self}");
        }
    }
}
