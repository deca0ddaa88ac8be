//! Measures the machine at hand: its clock, caches, memory, and what scheduling costs on it.
//!
//! ```no_run
//! use befit_calibrate::{Effort, calibrate};
//! use befit_machine::Host;
//!
//! let found = calibrate(Effort::Quick, &mut |share| eprintln!("{:.0} %", 100.0 * share))?;
//! let claimed = Host::here().detect()?;
//! println!("{}", found.table(&claimed));
//! std::fs::write("host.machine", found.file(&claimed)?)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Every figure is measured in rounds, one after the other, so that a disturbance of some seconds
//! spoils a few samples of each figure and not all of one. `docs/calibrate.md` says how each is
//! measured.
//!
//! Without the feature `measure` there are only the figures, and what follows from them: the
//! command has them measured by the program `befit-calibrate`, which it builds when it first needs
//! it.

#[cfg(feature = "measure")]
mod at_once;
#[cfg(feature = "measure")]
mod chase;
mod claims;
#[cfg(feature = "measure")]
mod core;
mod error;
pub mod fit;
#[cfg(feature = "measure")]
mod forks;
#[cfg(feature = "measure")]
mod measure;
#[cfg(feature = "measure")]
mod memory;
#[cfg(feature = "measure")]
mod pages;
#[cfg(feature = "measure")]
mod pin;
#[cfg(feature = "measure")]
mod place;
#[cfg(feature = "measure")]
mod prices;
#[cfg(feature = "measure")]
mod rounds;
mod samples;
mod text;

use befit_machine::{Machine, WorkerId};
use serde::{Deserialize, Serialize};

#[cfg(feature = "measure")]
pub use crate::measure::{bring_near, calibrate, pace, written};
pub use crate::{
    claims::{Contradiction, TOLERANCE},
    error::CalibrateError,
    samples::{Figure, NOISY},
    text::is_regular,
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
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
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
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Calibration {
    /// How often each figure was measured.
    pub rounds: usize,
    /// The share of the rounds in which the first core and the next were where the system says: two
    /// cores under one cache. Only those count for what passes between cores, and for bandwidth.
    pub as_described: f64,
    /// MHz of one busy core.
    pub mhz: Figure,
    /// MHz of each core while all are busy.
    pub mhz_all: Figure,
    /// From the innermost.
    pub levels: Vec<LevelFound>,
    /// Load to use from memory, on ordinary pages: the walk to the page included.
    pub memory: Figure,
    /// The same on huge pages, where the system has them.
    pub memory_huge: Figure,
    /// Pages of the memory in which that was measured.
    pub memory_pages: usize,
    /// Pages that a core's TLB finds. `None` where no walk was seen.
    pub tlb: Option<Figure>,
    /// A walk through page tables that are in the second-level cache, beyond a page that the TLB
    /// finds.
    pub walk: Option<Figure>,
    /// The same of a load of a gather.
    pub walk_gather: Option<Figure>,
    /// Lines of page tables that a walk reads.
    pub tables: u32,
    /// Whether the system gives programs pages one by one, so that any of memory's frames may
    /// follow one another.
    pub random_frames: bool,
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
    /// A line that is written word by word, by turns with others that lie anywhere.
    pub scattered: Figure,
    /// The same where so many runs of neighbouring lines go on by turns.
    pub runs: Vec<(u32, Figure)>,
    /// A simple operation of a mixed loop.
    pub operation: Figure,
    /// An inlined fork.
    pub inlined: Figure,
    /// A pending fork that nobody takes.
    pub pending: Figure,
    /// What it takes beyond that if a region begins at it, as it is timed.
    pub region: Figure,
    /// What it takes beyond that if it is published, and comes back.
    pub published: Figure,
    /// What a fork takes beyond its longer half if a worker under the same last-level cache, which
    /// looked for work, runs the other.
    pub stolen: Option<Figure>,
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

/// Prefetchers follow runs if lines of these take no more of the time of lines anywhere.
const FOLLOWED: f64 = 0.75;

impl Calibration {
    /// The figures whose halves differ too much, and by what share.
    pub fn noisy(&self) -> Vec<(String, f64)> {
        let noisy = self.figures().into_iter().filter(|(_, f)| f.is_noisy());
        noisy.map(|(name, f)| (name, f.spread())).collect()
    }

    /// The relative width of a core: 1 for one that issues 4 simple operations a cycle, and
    /// √(4/width) for others, since programs have less parallelism than wide cores could use.
    pub fn cycles_per_operation(&self) -> f64 {
        (4.0 * self.operation.value * self.mhz.value / 1e3).sqrt()
    }

    /// Misses in flight of a gather.
    pub fn parallelism(&self) -> f64 {
        (self.memory.value / self.gather.value).max(1.0)
    }

    /// Runs of neighbouring lines that a core's prefetchers follow at once: those of which a line
    /// takes less than half of what it can take more. 0 where that is next to nothing.
    pub fn followed_runs(&self) -> u32 {
        let times = || self.runs.iter().map(|(_, figure)| figure.value);
        let (least, most) = (times().fold(f64::INFINITY, f64::min), self.scattered.value);
        if least > FOLLOWED * most {
            return 0;
        }
        let short = |(_, figure): &&(u32, Figure)| figure.value <= (least + most) / 2.0;
        self.runs.iter().take_while(short).last().map_or(0, |(runs, _)| *runs)
    }

    /// Walks through the page tables that a core makes at once.
    pub fn walks(&self) -> Option<f64> {
        Some((self.walk?.value / self.walk_gather?.value).max(1.0))
    }

    /// A walk whose tables are in the innermost cache. Where it was measured they were in the next.
    fn least_walk(&self) -> Option<f64> {
        let latency = |at: usize| self.levels.get(at).map(|level| level.latency.value);
        let table = latency(1).zip(latency(0)).map_or(0.0, |(second, first)| second - first);
        Some((self.walk?.value - f64::from(self.tables) * table).max(0.0))
    }

    /// Load to use from memory, without the walk to the page.
    ///
    /// A line of page tables has eight entries. So until the same one is read again, an eighth as
    /// many lines of data are loaded as there are pages, and as many of each table; the numbers in
    /// between are distributed exponentially. A cache has it as often as these fit there.
    pub fn memory_latency(&self) -> Figure {
        let Some(walk) = self.least_walk() else { return self.memory };
        let tables = f64::from(self.tables);
        let between = self.memory_pages as f64 * 8.0 * (1.0 + tables);
        let (mut here, mut near) = (0.0, 0.0);
        let first = self.levels.first().map_or(0.0, |level| level.latency.value);
        for level in &self.levels {
            let share = 1.0 - (-level.capacity.value / between).exp();
            near += (share - here).max(0.0) * (level.latency.value - first);
            here = share.max(here);
        }
        // The rest of the tables' lines comes from memory, too.
        let from_memory = tables * (1.0 - here);
        let latency =
            |all: f64| (all - walk - tables * near + from_memory * first) / (1.0 + from_memory);
        self.memory.map(|all| latency(all).max(0.1 * all))
    }

    /// Bytes a nanosecond of all threads together: the larger of streams that are read, and of
    /// those that are updated.
    pub fn bandwidth_of_all(&self) -> Figure {
        let read = self.bandwidth.last().map(|(_, figure)| *figure);
        read.filter(|read| read.value > self.bandwidth_update.value)
            .unwrap_or(self.bandwidth_update)
    }

    /// Lines in flight of the streams that a copy reads and writes: most programs do both.
    pub fn streams(&self) -> f64 {
        (self.memory_latency().value / self.copy.value).max(1.0)
    }
}

/// Nanoseconds a simple operation on one busy core of `machine`, as a comment of its calibration
/// file tells. Of a file without that comment, by [`Machine::cycles_per_operation`] at the clock of
/// all cores busy, which may be lower than that of one. `None` where nothing was measured.
pub fn operation(machine: &Machine) -> Option<f64> {
    let file = std::fs::read_to_string(machine.calibration()?).unwrap_or_default();
    let cycles = machine.cycles_per_operation.powi(2) / 4.0;
    text::operation(&file).or_else(|| Some(cycles * 1e3 / f64::from(machine.mhz.max(1))))
}

/// Whether a time is `usual` or off by [`TOLERANCE`] at most.
pub fn is_near(time: f64, usual: f64) -> bool {
    time <= usual * TOLERANCE && usual <= time * TOLERANCE
}

/// The first CPU of a machine, and the nearest one of another core under its last-level cache.
pub fn neighbours(machine: &Machine) -> Option<(u32, u32)> {
    let cluster = machine.cluster(machine.last_level(WorkerId(0)));
    let workers = &machine.workers()[cluster.workers.start as usize..cluster.workers.end as usize];
    let here = machine.workers().first()?;
    let there = workers.iter().find(|worker| worker.core != here.core)?;
    Some((here.os_index?, there.os_index?))
}
