//! A coherent hierarchy of caches: one per cluster of a machine.
//!
//! - [`layout`] flattens the machine's tree.
//! - [`general`] takes any machine's accesses through its caches; [`inclusive`] those of most
//!   machines with an inclusive last-level cache, several times faster.
//! - [`host`] picks the copy compiled for the host's lanes.
//! - [`check`] asserts the invariants.
//!
//! `README.md` of the crate describes the protocol.

mod check;
mod general;
mod host;
mod inclusive;
mod layout;
#[cfg(test)]
mod tests;

use befit_machine::{ClusterId, Lines, Machine, WorkerId};

use crate::{
    Access, CacheError, ClusterCounts,
    lanes::{Host, LINE},
    sets::Store,
};
use general::General;
pub use inclusive::PrefetchPlan;
use inclusive::{Inclusive, Shape};
use layout::{Layout, MAX_WORDS};

/// The caches of a machine, kept coherent.
///
/// Lines are named by dense numbers `0..lines`; the caller decides which address has which number.
/// All counts start at zero and all caches empty. The same accesses in the same order give the same
/// outcome for the same seed.
///
/// ```
/// use befit_cache::{Found, Hierarchy};
/// use befit_machine::{Machine, WorkerId};
///
/// let machine = Machine::find("xeon-7560").unwrap();
/// let mut caches = Hierarchy::new(&machine, 1 << 20, 1).unwrap();
/// let (near, far) = (WorkerId(0), WorkerId(31));
/// assert_eq!(caches.access(near, 42, false).found, Found::Memory);
/// assert_eq!(caches.access(near, 42, true).found, Found::Own(machine.workers()[0].leaf));
/// // Another socket reads it: the modified copy is written back and both share the line.
/// let access = caches.access(far, 42, false);
/// let from = machine.last_level(near);
/// let expected = Found::Remote { from, modified: true };
/// assert_eq!((access.found, access.written_back), (expected, 1));
/// // A write takes the line away from the others.
/// assert!(caches.access(far, 42, true).invalidated);
/// ```
#[derive(Clone, Debug)]
pub struct Hierarchy {
    layout: Layout,
    model: Model,
    lines: u32,
    host: Host,
}

/// The caches, modelled the way that suits the machine.
#[derive(Clone, Debug)]
enum Model {
    General(General),
    Inclusive(Box<Inclusive>),
}

/// Counts of the whole machine: see the methods of [`Hierarchy`] of these names.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    memory_reads: Lines,
    memory_writes: Lines,
    remote_hits: Lines,
    sibling_hits: Lines,
}

/// One worker reads or writes one line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineAccess {
    /// The worker.
    pub worker: WorkerId,
    /// Dense line number.
    pub line: u32,
    /// A store.
    pub write: bool,
}

impl Hierarchy {
    /// Empty caches for `machine` and line numbers `0..lines`; `seed` feeds random replacement.
    ///
    /// Takes 4 bytes per cache line of the machine, where a set takes a multiple of 32 bytes, and
    /// in the inclusive model's last level 64. Takes per line of memory one bit per cache and one
    /// per chain of private caches (16 bytes on `xeon-7560`); on machines of more than 511 chains
    /// 128 bytes, and 2 per chain that has the line and per cache that lost it beyond 56 of both.
    /// O(that) in time. Where the lines of memory take more than half a GiB together, or the chains
    /// are more than 511, they take it only as they are touched.
    ///
    /// # Errors
    /// [`CacheError`] where the machine cannot be modelled: caches with different line lengths, a
    /// size that line or ways do not divide, tree-PLRU with ways that are no power of two or above
    /// 64, more than eight caches between a worker and memory, more than 65,536 caches; or where
    /// `lines` is above 2³⁰ − 1.
    pub fn new(machine: &Machine, lines: u32, seed: u64) -> Result<Self, CacheError> {
        Self::with_words(machine, lines, seed, MAX_WORDS)
    }

    /// [`Self::new`] with lists in place of a directory's rows of more than `most` words.
    fn with_words(
        machine: &Machine,
        lines: u32,
        seed: u64,
        most: usize,
    ) -> Result<Self, CacheError> {
        if lines > LINE {
            let more = format!("{lines} lines of memory are more than the {LINE}");
            return Err(CacheError(more + " that can be modelled"));
        }
        let caches = layout::caches(machine.clusters())?;
        let name = |i: usize| layout::name(i + 1, &caches[i]);
        let mut geometries = Store::geometries(&caches, name)?;
        let mut layout = Layout::new(machine, &geometries, most)?;
        let model = match Shape::find(&layout, lines).filter(|_| layout.words > 0) {
            Some(shape) => Model::Inclusive(Box::new(Inclusive::new(shape, &layout))),
            None => {
                let store = Store::new(&caches, &mut geometries, |i| seed_of(seed, i as u64 + 1));
                layout = Layout::new(machine, &geometries, most)?;
                Model::General(General::new(&layout, store, lines))
            }
        };
        Ok(Self { layout, model, lines, host: Host::detect() })
    }

    #[inline]
    fn plan(&self, access: &LineAccess) -> PrefetchPlan {
        match &self.model {
            Model::Inclusive(inclusive) => inclusive.plan(access),
            Model::General(_) => PrefetchPlan::nowhere(access),
        }
    }

    /// Plans an access, and asks the host to bring near the line's row and sets. Changes nothing,
    /// and the plan stays right whatever happens to the caches; of use some ten accesses ahead.
    ///
    /// # Panics
    /// As [`Self::access`]; on some machines only once the plan is used.
    #[inline]
    #[must_use]
    pub fn prefetch(&self, access: LineAccess) -> PrefetchPlan {
        let LineAccess { worker, line, write } = access;
        let mut plan = PrefetchPlan::default();
        self.prefetch_all(worker, [(line, write)].into_iter(), std::slice::from_mut(&mut plan));
        plan
    }

    /// [`Self::prefetch`] for lines of one worker, of which each is written or not: into as many of
    /// `plans` as there are lines, at most.
    ///
    /// # Panics
    /// As [`Self::prefetch`].
    #[inline]
    pub fn prefetch_all(
        &self,
        worker: WorkerId,
        lines: impl Iterator<Item = (u32, bool)>,
        plans: &mut [PrefetchPlan],
    ) {
        let accesses = lines.map(|(line, write)| LineAccess { worker, line, write });
        match &self.model {
            Model::Inclusive(inclusive) => {
                let plan = inclusive.planner(worker);
                for (to, access) in plans.iter_mut().zip(accesses) {
                    *to = plan(&access);
                    inclusive.prefetch(to);
                }
            }
            Model::General(general) => {
                for (to, access) in plans.iter_mut().zip(accesses) {
                    *to = PrefetchPlan::nowhere(&access);
                    general.prefetch(&self.layout, &access);
                }
            }
        }
    }

    /// Asks the host to bring near the rest: the directory's rows of the lines that the access will
    /// evict and, for a write, the sets of other workers' copies. Changes nothing; of use some four
    /// accesses ahead, once [`Self::prefetch`] has taken effect.
    #[inline]
    pub fn prepare(&self, plan: &PrefetchPlan) {
        match &self.model {
            Model::Inclusive(inclusive) => inclusive.prepare(plan),
            Model::General(general) => general.prepare(&self.layout, &plan.access()),
        }
    }

    /// [`Self::access`], as planned.
    ///
    /// # Panics
    /// Where the plan is of another machine it panics or gives wrong results.
    #[inline]
    pub fn access_planned(&mut self, plan: &PrefetchPlan) -> Access {
        host::access(self, plan)
    }

    /// Worker `worker` reads or writes `line`. O(ways of the caches passed).
    ///
    /// # Panics
    /// Where `worker` is not of the machine or `line` not below the `lines` given to [`Self::new`].
    #[inline]
    pub fn access(&mut self, worker: WorkerId, line: u32, write: bool) -> Access {
        let plan = self.plan(&LineAccess { worker, line, write });
        self.access_planned(&plan)
    }

    /// [`Self::access`] for each of `accesses` in turn, with prefetching ahead; `each` gets the
    /// outcomes.
    ///
    /// # Panics
    /// As [`Self::access`].
    pub fn run(&mut self, accesses: &[LineAccess], each: impl FnMut(&LineAccess, Access)) {
        host::run(self, accesses, each);
    }

    /// Counts of the cache of `cluster` since the start; zeros for the root. O(caches).
    pub fn counts(&self, cluster: ClusterId) -> ClusterCounts {
        let cache = cluster.0.wrapping_sub(1) as usize;
        let counts = match &self.model {
            Model::Inclusive(inclusive) => inclusive.counts(cache),
            Model::General(general) => general.counts(&self.layout, cache),
        };
        counts.unwrap_or_default()
    }

    /// Lines read from memory. O(workers), as those below.
    pub fn memory_reads(&self) -> Lines {
        self.totals().memory_reads
    }

    /// Lines written to memory.
    pub fn memory_writes(&self) -> Lines {
        self.totals().memory_writes
    }

    /// Accesses that found their line under another child of the root only.
    pub fn remote_hits(&self) -> Lines {
        self.totals().remote_hits
    }

    /// Accesses that found their line only in another worker's cache under a common cache that did
    /// not have it.
    pub fn sibling_hits(&self) -> Lines {
        self.totals().sibling_hits
    }

    fn totals(&self) -> Totals {
        match &self.model {
            Model::Inclusive(inclusive) => inclusive.totals(),
            Model::General(general) => general.totals,
        }
    }

    /// Whether the cache of `cluster` holds `line`; not a use. False for the root. O(ways).
    pub fn holds(&self, cluster: ClusterId, line: u32) -> bool {
        let cache = cluster.0.wrapping_sub(1) as usize;
        cache < self.layout.caches.len() && line < self.lines && self.entry(cache, line).is_some()
    }

    /// Sets of the cache of `cluster`, and ways of each; none for the root.
    pub fn sets_and_ways(&self, cluster: ClusterId) -> Option<(u32, u32)> {
        let info = self.layout.caches.get(cluster.0.wrapping_sub(1) as usize)?;
        Some((info.geometry.sets, info.geometry.ways))
    }

    /// The set that `line` falls into in the cache of `cluster`; 0 for the root.
    pub fn set_of(&self, cluster: ClusterId, line: u32) -> u32 {
        let info = self.layout.caches.get(cluster.0.wrapping_sub(1) as usize);
        info.map_or(0, |info| info.geometry.set_of(line))
    }
}

/// The seed of cluster `i`'s own generator, so that each cache's random choices depend on its own
/// accesses only.
fn seed_of(seed: u64, i: u64) -> u64 {
    seed ^ i.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The cluster of the cache at place `cache` of the layout.
#[inline(always)]
fn cluster_of(cache: u32) -> ClusterId {
    ClusterId(cache + 1)
}

/// The numbers of the bits that are set.
#[inline(always)]
fn bits(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros();
        // Clears the lowest bit.
        (word != 0).then(|| {
            word &= word - 1;
            bit
        })
    })
}
