//! A coherent hierarchy of caches: one per cluster of a machine.
//!
//! The files: [`layout`] flattens the machine's tree, [`directory`] knows who has which line, [`access`] is the way of
//! one access through the caches, [`coherence`] what it does to other workers' copies, [`evict`] where the lines go
//! that make room, [`check`] asserts what must always hold. `README.md` of the crate describes the protocol.

mod access;
mod check;
mod coherence;
mod directory;
mod evict;
mod host;
mod layout;
mod prefetch;
#[cfg(test)]
mod tests;
mod usual;

use befit_machine::{ClusterId, Lines, Machine, WorkerId};

use crate::{
    Access, CacheError, ClusterCounts,
    lanes::{Host, LINE},
    sets::Store,
};
use directory::Directory;
use layout::Layout;
use usual::Usual;

/// The caches of a machine, kept coherent.
///
/// Lines are named by dense numbers `0..lines`; who calls decides which address has which number. All counts start at
/// zero and all caches empty. The same accesses in the same order give the same outcome for the same seed.
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
    /// Per worker, where the machine is the usual one.
    usual: Vec<Usual>,
    state: State,
    host: Host,
}

/// What accesses change. (The layout is apart so that the access path can hold on to parts of it.)
#[derive(Clone, Debug)]
struct State {
    store: Store,
    directory: Directory,
    tallies: Vec<Tally>,
    lines: u32,
    memory_reads: u64,
    memory_writes: u64,
    remote_hits: u64,
    sibling_hits: u64,
}

/// What is counted of one cache while it runs.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    /// Accesses of workers that stand directly under it; the others are its children's misses.
    direct: u64,
    misses: u64,
    coherence_misses: u64,
    writebacks: u64,
    invalidations: u64,
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

impl Hierarchy {
    /// Empty caches for `machine` and line numbers `0..lines`; `seed` feeds random replacement.
    ///
    /// Takes about 4 bytes per cache line of the machine, and per line of memory one bit per cache and one per chain
    /// of private caches (16 bytes on `xeon-7560`). O(that) in time.
    ///
    /// # Errors
    /// [`CacheError`] where the machine cannot be modelled: caches with different line lengths, a size that line or
    /// ways do not divide, tree-PLRU with ways that are no power of two or above 64, more than eight caches between a
    /// worker and memory, more than 511 chains of caches; or where `lines` is above 2³⁰ − 1.
    pub fn new(machine: &Machine, lines: u32, seed: u64) -> Result<Self, CacheError> {
        if lines > LINE {
            return Err(CacheError::TooManyLines { lines, most: LINE });
        }
        let clusters = machine.clusters();
        let caches = layout::caches(clusters)?;
        let name = |i: usize| layout::name(i + 1, &clusters[i + 1]);
        let (store, geometries) = Store::new(&caches, name, |i| seed_of(seed, i as u64 + 1))?;
        let layout = Layout::new(machine, &geometries)?;
        let state = State {
            directory: Directory::new(&layout, lines),
            tallies: vec![Tally::default(); caches.len()],
            store,
            lines,
            memory_reads: 0,
            memory_writes: 0,
            remote_hits: 0,
            sibling_hits: 0,
        };
        Ok(Self { usual: usual::find(&layout), layout, state, host: Host::detect() })
    }

    /// Asks the host to bring near what [`Self::access`] of the same line will look at. Changes nothing; of use some
    /// ten accesses ahead.
    #[inline]
    pub fn prefetch(&self, worker: WorkerId, line: u32) {
        match self.usual.get(worker.index()) {
            Some(usual) => self.state.prefetch_usual(usual, line),
            None => self.state.prefetch(&self.layout, worker, line),
        }
    }

    /// Asks the host to bring near what else the access will look at: what the directory says of the lines that will
    /// have to make room, and, for a write, the sets of other workers' copies. Changes nothing; of use some four
    /// accesses ahead, once [`Self::prefetch`] of the same line has taken effect.
    #[inline]
    pub fn prepare(&self, worker: WorkerId, line: u32, write: bool) {
        match self.usual.get(worker.index()) {
            Some(usual) => self.state.prepare_usual(&self.layout, usual, &Touch { worker, line, write }),
            None => self.state.prepare(&self.layout, worker, line, write),
        }
    }

    /// Worker `worker` reads or writes `line`. O(ways of the caches passed).
    ///
    /// # Panics
    /// Where `worker` is not of the machine or `line` not below the `lines` given to [`Self::new`].
    #[inline]
    pub fn access(&mut self, worker: WorkerId, line: u32, write: bool) -> Access {
        host::access(self, Touch { worker, line, write })
    }

    /// [`Self::access`] for each of `touches` in turn, with prefetching ahead; `each` is told the outcomes.
    ///
    /// # Panics
    /// As [`Self::access`].
    pub fn run(&mut self, touches: &[Touch], each: impl FnMut(&Touch, Access)) {
        host::run(self, touches, each);
    }

    /// Counts of the cache of `cluster` since the start; zeros for the root. O(caches).
    pub fn counts(&self, cluster: ClusterId) -> ClusterCounts {
        let this = cluster.0.wrapping_sub(1);
        let Some(tally) = self.state.tallies.get(this as usize) else { return ClusterCounts::default() };
        let children = self.layout.caches.iter().zip(&self.state.tallies).filter(|(info, _)| info.parent == this);
        ClusterCounts {
            accesses: Lines(tally.direct + children.map(|(_, child)| child.misses).sum::<u64>()),
            misses: Lines(tally.misses),
            coherence_misses: Lines(tally.coherence_misses),
            writebacks: Lines(tally.writebacks),
            invalidations: Lines(tally.invalidations),
        }
    }

    /// Lines read from memory.
    pub fn memory_reads(&self) -> Lines {
        Lines(self.state.memory_reads)
    }

    /// Lines written to memory.
    pub fn memory_writes(&self) -> Lines {
        Lines(self.state.memory_writes)
    }

    /// Accesses that found their line under another child of the root only.
    pub fn remote_hits(&self) -> Lines {
        Lines(self.state.remote_hits)
    }

    /// Accesses that found their line only in another worker's cache under a common cache that did not have it.
    pub fn sibling_hits(&self) -> Lines {
        Lines(self.state.sibling_hits)
    }
}

/// The seed of cluster `i`'s own generator, so that each cache's random choices depend on its own accesses only.
fn seed_of(seed: u64, i: u64) -> u64 {
    seed ^ i.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The cluster of the cache at place `cache` of the layout.
#[inline(always)]
fn cluster_of(cache: u32) -> ClusterId {
    ClusterId(cache + 1)
}
