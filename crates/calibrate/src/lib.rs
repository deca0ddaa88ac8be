//! Measures the machine at hand: its clock, caches, memory, and what scheduling costs on it.
//!
//! ```no_run
//! use befit_calibrate::{Effort, calibrate};
//!
//! let found = calibrate(Effort::Quick, &mut |share| eprintln!("{:.0} %", 100.0 * share))?;
//! println!("{}", found.table());
//! std::fs::write("host.machine", found.file()?)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Every figure is measured in rounds, one after the other, so that a disturbance of some seconds
//! spoils a few samples of each figure and not all of one. `docs/calibrate.md` says how each is
//! measured.

mod chase;
mod claims;
mod core;
mod error;
pub mod fit;
mod pin;
mod prices;
mod rounds;
mod samples;
mod text;

use befit_machine::{Host, Machine, WorkerId};
use serde::Serialize;

pub use crate::{
    claims::{Contradiction, TOLERANCE},
    error::CalibrateError,
    samples::{Figure, NOISY},
};

/// How long to measure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effort {
    /// A few seconds, for a first look.
    Quick,
    /// Up to 50 seconds.
    Full,
}

/// One cache level as the system describes it and as it was found.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct LevelFound {
    /// 1 is nearest to the core.
    pub level: u8,
    /// Bytes, as the system claims.
    pub claimed: u64,
    /// Bytes that random accesses find.
    pub capacity: Figure,
    /// Nanoseconds from load to use.
    pub latency: Figure,
    /// Nanoseconds a line of a stream that is read and hits here.
    pub read: Figure,
    /// Nanoseconds a line, of those read and those written, of a copy that hits here.
    pub copy: Figure,
}

/// What was found. Times are in nanoseconds.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Calibration {
    /// What the system claims.
    #[serde(skip)]
    pub claimed: Machine,
    /// How often each figure was measured.
    pub rounds: usize,
    /// MHz of one busy core.
    pub mhz: Figure,
    /// MHz of each core while all are busy.
    pub mhz_all: Figure,
    /// From the innermost.
    pub levels: Vec<LevelFound>,
    /// Load to use from memory, on ordinary pages.
    pub memory: Figure,
    /// The same on huge pages, where the system has them.
    pub memory_huge: Figure,
    /// A line of a stream from memory that one core reads.
    pub read: Figure,
    /// A line of a stream that one core reads and writes.
    pub update: Figure,
    /// A line, of those read and those written, of a copy that one core makes.
    pub copy: Figure,
    /// Bytes a nanosecond that streams read together, by number of threads.
    pub bandwidth: Vec<(usize, Figure)>,
    /// The same, read and written; both directions are counted.
    pub bandwidth_update: Figure,
    /// The same of the threads under one last-level cache, where there are several.
    pub link_update: Option<Figure>,
    /// A load of a gather from memory.
    pub gather: Figure,
    /// Instructions between two misses that still overlap.
    pub window: Figure,
    /// A simple operation of a mixed loop.
    pub operation: Figure,
    /// An inlined fork.
    pub inlined: Figure,
    /// A pending fork that nobody takes.
    pub pending: Figure,
    /// A spawned task of thousands that wait, where as many have waited before.
    pub spawn: Figure,
    /// What it takes beyond that where none has.
    pub job: Figure,
    /// A call of the policy.
    pub call: Figure,
    /// A free lock.
    pub lock: Figure,
    /// A line that a core under the same last-level cache has just written.
    pub steal: Option<Figure>,
    /// A line that a core under another last-level cache has just written.
    pub far_steal: Option<Figure>,
    /// A load of a line that a core under the same last-level cache has written.
    pub near_modified: Option<Figure>,
    /// A load of a line that such a core has read.
    pub near_clean: Option<Figure>,
    /// A load of a line that a core under another last-level cache has written.
    pub far_modified: Option<Figure>,
    /// A load of a line that such a core has read.
    pub far_clean: Option<Figure>,
    /// From waking a thread until it runs.
    pub wake: Option<Figure>,
    /// The first touch of a page.
    pub fault: Figure,
}

impl Calibration {
    /// The names of the figures whose samples differ too much.
    pub fn noisy(&self) -> Vec<String> {
        self.figures().into_iter().filter(|(_, f)| f.is_noisy()).map(|(name, _)| name).collect()
    }

    /// The relative width of a core: 1 for one that issues 4 simple operations a cycle, and
    /// √(4/width) for others, since programs have less parallelism than wide cores could use.
    pub fn cycles_per_operation(&self) -> f64 {
        (4.0 * self.operation.median * self.mhz.median / 1e3).sqrt()
    }

    /// Misses in flight of a gather.
    pub fn parallelism(&self) -> f64 {
        (self.memory.median / self.gather.median).max(1.0)
    }

    /// Bytes a nanosecond of all threads together: the larger of streams that are read, and of
    /// those that are updated.
    pub fn bandwidth_of_all(&self) -> Figure {
        let read = self.bandwidth.last().map(|(_, figure)| *figure);
        read.filter(|read| read.median > self.bandwidth_update.median)
            .unwrap_or(self.bandwidth_update)
    }

    /// Lines in flight of the streams that a copy reads and writes: most programs do both.
    pub fn streams(&self) -> f64 {
        (self.memory.median / self.copy.median).max(1.0)
    }
}

/// Nanoseconds until the first core has a line that the nearest other one under its last-level
/// cache has just written: a moment's look. `machine` says which cores these are; none where there
/// is no such core.
///
/// The host of a virtual machine may move its processors at any time, and then two that shared a
/// cache do not.
pub fn hand_over(machine: &Machine) -> Option<f64> {
    const LOOKS: usize = 5;
    let (here, there) = neighbours(machine)?;
    let before = pin::affinity();
    let mut looks: Vec<f64> = (0..LOOKS).map(|_| prices::handed(here, there)).collect();
    pin::restore(&before);
    looks.sort_by(f64::total_cmp);
    Some(looks[LOOKS / 2])
}

/// Has the two cores of [`hand_over`] wake one another in turn until a line takes at most `usual`
/// nanoseconds between them, for a second at most; returns whether it does. True where there are no
/// two such cores.
///
/// A host that runs a virtual processor where there is room prefers, when another one has woken it,
/// a place near that one.
pub fn bring_near(machine: &Machine, usual: f64) -> bool {
    const TURNS: u32 = 50;
    let is_near = || hand_over(machine).is_none_or(|found| found <= usual);
    (0..TURNS).any(|_| {
        is_near() || {
            let before = pin::affinity();
            neighbours(machine).map(|(here, there)| prices::wake(here, there));
            pin::restore(&before);
            false
        }
    })
}

/// The first CPU, and the nearest one of another core under its last-level cache.
fn neighbours(machine: &Machine) -> Option<(u32, u32)> {
    let cluster = machine.cluster(machine.last_level(WorkerId(0)));
    let workers = &machine.workers()[cluster.workers.start as usize..cluster.workers.end as usize];
    let here = machine.workers().first()?;
    let there = workers.iter().find(|worker| worker.core != here.core)?;
    Some((here.os_index?, there.os_index?))
}

/// Measures this machine. `progress` is told the share that is done.
///
/// # Errors
/// Where the machine cannot be read, or memory or threads cannot be had.
pub fn calibrate(
    effort: Effort,
    progress: &mut dyn FnMut(f64),
) -> Result<Calibration, CalibrateError> {
    let machine = Host::here().detect()?;
    let before = pin::affinity();
    let found = rounds::Rounds::new(machine)?.measure(effort, progress);
    pin::restore(&before);
    found
}
