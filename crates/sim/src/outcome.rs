//! What a simulation found.

use befit_machine::{Bytes, Cycles, Level, Lines};
use befit_sched::{Breakdown, Tiers};

use crate::{Account, Contended};

/// What one simulated run found. Times are virtual; counts are of cache lines.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// From the start to the last worker's last strand.
    pub time: Cycles,
    /// The program's work T₁: the time of all its operations on the machine's fastest core, without
    /// any wait.
    pub work: Cycles,
    /// Its span T∞: the same for the longest chain of operations that must follow one another.
    pub span: Cycles,
    /// Per cache level, ascending, summed over the caches of the level.
    pub levels: Vec<LevelCounts>,
    /// Lines read from memory.
    pub memory_reads: Lines,
    /// Lines written back to memory.
    pub memory_writes: Lines,
    /// Last-level misses served by another last-level cache. Clean lines that one holds are not
    /// among them where the machine takes those from memory.
    pub remote_hits: Lines,
    /// Those of them whose last-level cache is of another package.
    pub far_hits: Lines,
    /// Misses served by another worker's cache below a common cache that did not hold the line.
    pub sibling_hits: Lines,
    /// Per worker, where its time went; the parts of each sum to `time`.
    pub workers: Vec<Breakdown<Cycles>>,
    /// Strands taken from another worker's queue.
    pub steals: u64,
    /// Those of them whose victim stands under the same last-level cache.
    pub near_steals: u64,
    /// Looks into another worker's queue that found nothing.
    pub failed_steals: u64,
    /// Per cluster (by `ClusterId`): maximal tasks anchored there.
    pub anchors: Vec<u64>,
    /// Per cluster: how much of its cache the policy had given out. Empty under policies that give
    /// none.
    pub occupancy: Vec<Occupancy>,
    /// Tasks, the root included.
    pub tasks: u64,
    /// Strands run.
    pub strands: u64,
    /// Per task (by `TaskId`): the number of the worker that ran its first strand.
    pub started_on: Vec<u32>,
    /// What a policy with two tiers has found out.
    pub tiers: Option<Tiers>,
    /// Where the time of all workers together went; the parts sum to `time` × workers, but for
    /// rounding. All zeros where [`Settings::accounted`](crate::Settings::accounted) is off.
    pub account: Account,
    /// Lines that went to and fro between workers, those that were waited for longest first. None
    /// where [`Settings::accounted`](crate::Settings::accounted) is off.
    pub contended: Vec<Contended>,
}

/// How much of one cache a space-bounded policy had given out. In the root, of which nothing is
/// claimed, always none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Occupancy {
    /// The most at any time: never more than the cache holds.
    pub max: Bytes,
    /// The mean over the running time.
    pub mean: Bytes,
}

/// Counts of all caches of one level: numbers of lines, or their spreads over several runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LevelCounts<T = Lines> {
    /// The level.
    pub level: Level,
    /// Accesses that reached it.
    pub accesses: T,
    /// Those that missed.
    pub misses: T,
    /// Misses on a line lost to another worker's write.
    pub coherence_misses: T,
    /// Those of them on the lines that a sample has whole because workers fight for them.
    pub fought_misses: T,
}
