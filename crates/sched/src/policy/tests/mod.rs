//! The policies, without threads and without simulation: one test plays the engine.

mod promises;
mod space_bounded;
mod stealing;

use befit_machine::{Bytes, Machine, WorkerId};

use crate::{QuietEnv, Ready, Stage, TaskInfo};

/// Two sockets of two cores; L3 1 MiB, L2 64 KiB.
fn two_sockets() -> Machine {
    "pack:2 l3:1(size=1048576) core:2 l2:1(size=65536) pu:1".parse().expect("a valid topology")
}

fn env() -> QuietEnv {
    QuietEnv(fastrand::Rng::with_seed(7))
}

fn task(job: u32, size: Bytes) -> Ready<u32> {
    Ready { job, task: TaskInfo::root(Some(size), None), stage: Stage::Start }
}

const W: [WorkerId; 4] = [WorkerId(0), WorkerId(1), WorkerId(2), WorkerId(3)];
