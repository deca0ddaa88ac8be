//! The usual machine: each worker below a private pair of LRU caches below an inclusive LRU
//! last-level cache.
//!
//! [`super::general`] is right for every machine and pays for it: most of its instructions look up
//! what is the same for all accesses of such a machine. Here the three levels are three arrays of
//! sets of known length, the rules are written out, and what is common and cannot be foreseen (a
//! write or a read, a hit in the last-level cache, a dirty victim) is computed without a branch: on
//! the host a branch that goes either way at random costs as much as forty instructions.
//!
//! | file | |
//! |---|---|
//! | [`shape`] | which machines are usual |
//! | [`seats`] | where each worker's caches are, and what it counts |
//! | [`rows`] | the directory: who has which line |
//! | [`access`] | the way of one access |
//! | [`copies`] | what it does to other workers' copies |
//! | [`room`] | where the lines go that make room, where that is not the common case |
//! | [`ahead`] | what a later access will look at is brought near |
//! | [`batch`] | the same for sixteen accesses at once |
//! | [`counts`] | what was counted, per cache |
//! | [`inspect`] | the contents, for [`super::Hierarchy::check`] |
//!
//! Same rules, same outcome as the general way: a property test holds both against the obvious
//! model.

mod access;
mod ahead;
mod batch;
mod copies;
mod counts;
mod inspect;
mod room;
mod rows;
mod seats;
mod shape;

use crate::{
    lanes::{Entries, Tags},
    sets::ORPHAN,
};
pub(super) use ahead::Plan;
pub(super) use batch::Batch;
use batch::Starts;
use rows::{MOST_CORES, MOST_WORKERS, Rows};
use seats::{Place, Seat};
pub(super) use shape::Shape;

/// Flag of an entry of an outer cache: the inner cache took the line in with a write. As long as it
/// has it, it is dirty there; when it has made room it was written back, and is dirty here. So
/// making room in the inner cache needs no look at the outer one.
const PENDING: u32 = ORPHAN;

/// The caches of a usual machine.
#[derive(Clone, Debug)]
pub(super) struct Usual {
    /// How many workers there are.
    workers: u32,
    /// Per worker; those beyond the last are of no worker.
    seats: Box<[Seat; MOST_WORKERS]>,
    starts: Box<Starts>,
    /// Per cache.
    places: Vec<Place>,
    caches: Caches,
}

/// What accesses change, but for what each worker counts.
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
}

impl Usual {
    /// The machine's shape.
    #[inline(always)]
    pub(super) fn shape(&self) -> &Shape {
        &self.caches.shape
    }
}
