//! The inclusive machine: each worker below a private pair of LRU caches below an inclusive LRU
//! last-level cache, at most 64 workers.
//!
//! [`super::general`] models every machine, and spends most of its instructions on looking up what
//! is the same for all accesses of such a machine. Here the three levels are three arrays of sets
//! of known length, and the rules are written out. Frequent conditions that the host cannot predict
//! (a write or a read, a hit in the last-level cache, a dirty victim) are computed without a
//! branch: a mispredicted branch costs as much as forty instructions.
//!
//! | file | |
//! |---|---|
//! | [`shape`] | which machines are modelled here |
//! | [`worker`] | a worker's caches, its masks of sharers and its counts |
//! | [`rows`] | the directory: which caches share a line |
//! | [`access`] | one access |
//! | [`evict`] | copies that a write takes away, and victims off the common path |
//! | [`plan`] | where an access will look, found and brought near before its turn |
//! | [`batch`] | the same for sixteen accesses at once |
//! | [`inspect`] | counts per cache, and the contents for [`super::Hierarchy::check`] |
//!
//! Rules and outcomes are those of the general model: a property test holds both against the
//! obvious one.

mod access;
mod batch;
mod evict;
mod inspect;
mod plan;
mod rows;
mod shape;
mod worker;

use befit_machine::ClusterId;

use crate::{
    lanes::{Entries, Tags},
    sets::ORPHAN,
};
pub(super) use batch::Batch;
use batch::Starts;
pub use plan::PrefetchPlan;
use rows::{MOST_CORES, MOST_WORKERS, Rows};
pub(super) use shape::Shape;
use worker::{CacheOwner, WorkerState};

/// Flag of an entry of an outer cache: the inner cache took the line in with a write. As long as
/// the inner cache has the line, it is dirty there; once evicted there, it was written back and is
/// dirty here. So an eviction from the inner cache needs no look at the outer one.
const PENDING: u32 = ORPHAN;

/// The caches of an inclusive machine.
#[derive(Clone, Debug)]
pub(super) struct Inclusive {
    worker_count: u32,
    /// Per worker; those beyond the last are copies of the first.
    workers: Box<[WorkerState; MOST_WORKERS]>,
    starts: Box<Starts>,
    /// Per cache.
    owners: Vec<CacheOwner>,
    caches: Caches,
}

/// The state that accesses change, but for the counts of each worker.
#[derive(Clone, Debug)]
struct Caches {
    shape: Shape,
    /// The sets of all innermost caches, core by core.
    inner: Vec<Entries>,
    /// The same of the caches above them.
    outer: Vec<Entries>,
    /// The sets of the last-level caches, socket by socket.
    last: Vec<Tags>,
    rows: Rows,
    /// Lines lost to other workers' writes, by level and by core or socket.
    lost: [[u64; MOST_CORES]; 3],
    /// The clusters of the last-level caches, socket by socket.
    sockets: [ClusterId; 16],
}

impl Inclusive {
    /// The machine's shape.
    #[inline(always)]
    pub(super) fn shape(&self) -> &Shape {
        &self.caches.shape
    }
}
