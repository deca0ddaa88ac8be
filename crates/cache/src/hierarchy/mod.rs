//! A coherent hierarchy of caches: one per cluster of a machine.
//!
//! [`layout`] flattens the machine's tree; [`general`] takes any machine's accesses through its
//! caches, [`usual`] those of most machines with an inclusive last-level cache, several times
//! faster; [`host`] picks the copy compiled for the host's lanes; [`check`] asserts what must
//! always hold. `README.md` of the crate describes the protocol.

mod check;
mod contents;
mod general;
mod host;
mod layout;
#[cfg(test)]
mod tests;
mod usual;

use befit_machine::{ClusterId, Lines, Machine, WorkerId};

use crate::{
    Access, CacheError, ClusterCounts,
    lanes::{Host, LINE},
    sets::Store,
};
use general::General;
use layout::Layout;
use usual::{Shape, Usual};

/// The caches of a machine, kept coherent.
///
/// Lines are named by dense numbers `0..lines`; who calls decides which address has which number.
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
/// assert_eq!((access.found, access.written_back), (Found::Remote, 1));
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
    Usual(Box<Usual>),
}

/// One line touch of one worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touch {
    /// Who.
    pub worker: WorkerId,
    /// Dense line number.
    pub line: u32,
    /// A store.
    pub write: bool,
}

/// A touch, and the places where its access will look: found once, for all that is done with it. Of
/// use only to the hierarchy that made it and its clones.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plan(usual::Plan);

impl Plan {
    /// The line touched.
    #[inline]
    #[must_use]
    pub fn line(&self) -> u32 {
        self.0.line
    }
}

impl Hierarchy {
    /// Empty caches for `machine` and line numbers `0..lines`; `seed` feeds random replacement.
    ///
    /// Takes about 4 bytes per cache line of the machine, and per line of memory one bit per cache
    /// and one per chain of private caches (16 bytes on `xeon-7560`). O(that) in time.
    ///
    /// # Errors
    /// [`CacheError`] where the machine cannot be modelled: caches with different line lengths, a
    /// size that line or ways do not divide, tree-PLRU with ways that are no power of two or above
    /// 64, more than eight caches between a worker and memory, more than 511 chains of caches; or
    /// where `lines` is above 2³⁰ − 1.
    pub fn new(machine: &Machine, lines: u32, seed: u64) -> Result<Self, CacheError> {
        if lines > LINE {
            return Err(CacheError::TooManyLines { lines, most: LINE });
        }
        let clusters = machine.clusters();
        let caches = layout::caches(clusters)?;
        let name = |i: usize| layout::name(i + 1, &clusters[i + 1]);
        let mut geometries = Store::geometries(&caches, name)?;
        let mut layout = Layout::new(machine, &geometries)?;
        let model = match Shape::find(&layout, lines) {
            Some(shape) => Model::Usual(Box::new(Usual::new(shape, &layout))),
            None => {
                let store = Store::new(&caches, &mut geometries, |i| seed_of(seed, i as u64 + 1));
                layout = Layout::new(machine, &geometries)?;
                Model::General(General::new(&layout, store, lines))
            }
        };
        Ok(Self { layout, model, lines, host: Host::detect() })
    }

    /// The plan of one access. It changes nothing, and stays right whatever happens to the caches.
    ///
    /// # Panics
    /// As [`Self::access`]; on some machines only once the plan is used.
    #[inline]
    #[must_use]
    pub fn plan(&self, touch: Touch) -> Plan {
        Plan(match &self.model {
            Model::Usual(usual) => usual.plan(&touch),
            Model::General(_) => usual::Plan::nowhere(&touch),
        })
    }

    /// Asks the host to bring near what the access will look at. Changes nothing; of use some ten
    /// accesses ahead.
    #[inline]
    pub fn prefetch(&self, Plan(plan): &Plan) {
        match &self.model {
            Model::Usual(usual) => usual.prefetch(plan),
            Model::General(general) => {
                general.prefetch(&self.layout, plan.touch().worker, plan.line)
            }
        }
    }

    /// Asks the host to bring near what else the access will look at: what the directory says of
    /// the lines that will have to make room, and, for a write, the sets of other workers' copies.
    /// Changes nothing; of use some four accesses ahead, once [`Self::prefetch`] of the same plan
    /// has taken effect.
    #[inline]
    pub fn prepare(&self, Plan(plan): &Plan) {
        match &self.model {
            Model::Usual(usual) => usual.prepare(plan),
            Model::General(general) => {
                let Touch { worker, line, write } = plan.touch();
                general.prepare(&self.layout, worker, line, write);
            }
        }
    }

    /// [`Self::access`], as planned.
    ///
    /// # Panics
    /// Where the plan is of another machine.
    #[inline]
    pub fn access_planned(&mut self, Plan(plan): &Plan) -> Access {
        host::access(self, plan)
    }

    /// Worker `worker` reads or writes `line`. O(ways of the caches passed).
    ///
    /// # Panics
    /// Where `worker` is not of the machine or `line` not below the `lines` given to [`Self::new`].
    #[inline]
    pub fn access(&mut self, worker: WorkerId, line: u32, write: bool) -> Access {
        let plan = self.plan(Touch { worker, line, write });
        self.access_planned(&plan)
    }

    /// [`Self::access`] for each of `touches` in turn, with prefetching ahead; `each` is told the
    /// outcomes.
    ///
    /// # Panics
    /// As [`Self::access`].
    pub fn run(&mut self, touches: &[Touch], each: impl FnMut(&Touch, Access)) {
        host::run(self, touches, each);
    }

    /// Counts of the cache of `cluster` since the start; zeros for the root. O(caches).
    pub fn counts(&self, cluster: ClusterId) -> ClusterCounts {
        let cache = cluster.0.wrapping_sub(1) as usize;
        let counts = match &self.model {
            Model::Usual(usual) => usual.counts(cache),
            Model::General(general) => general.counts(&self.layout, cache),
        };
        counts.unwrap_or_default()
    }

    /// Lines read from memory. O(caches), as those below.
    pub fn memory_reads(&self) -> Lines {
        Lines(match &self.model {
            Model::Usual(usual) => usual.memory_reads(),
            Model::General(general) => general.memory_reads,
        })
    }

    /// Lines written to memory.
    pub fn memory_writes(&self) -> Lines {
        Lines(match &self.model {
            Model::Usual(usual) => usual.memory_writes(),
            Model::General(general) => general.memory_writes,
        })
    }

    /// Accesses that found their line under another child of the root only.
    pub fn remote_hits(&self) -> Lines {
        Lines(match &self.model {
            Model::Usual(usual) => usual.remote_hits(),
            Model::General(general) => general.remote_hits,
        })
    }

    /// Accesses that found their line only in another worker's cache under a common cache that did
    /// not have it.
    pub fn sibling_hits(&self) -> Lines {
        Lines(match &self.model {
            // The last-level cache has all that is below it.
            Model::Usual(_) => 0,
            Model::General(general) => general.sibling_hits,
        })
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
