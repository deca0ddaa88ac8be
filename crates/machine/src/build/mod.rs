//! Turns a nested description into a [`Machine`], and refuses impossible ones.
//!
//! Every source (a synthetic string, an XML file, the host) only nests [`Part`]s; numbering,
//! depths, worker ranges and all checks happen here, once.
//!
//! ```
//! use befit_machine::{Bytes, MachineSpec, Part};
//!
//! // A performance core with an L2 of its own beside two efficiency cores that share one.
//! let l1 = || Part::cache(1, Bytes::kib(32), 8, vec![Part::worker(None)]);
//! let core = |speed| Part::core(speed, vec![l1()]);
//! let spec = MachineSpec::new("hybrid", vec![Part::cache(3, Bytes::mib(12), 12, vec![
//!     Part::cache(2, Bytes::mib(1), 16, vec![core(100)]),
//!     Part::cache(2, Bytes::mib(2), 16, vec![core(70), core(70)]),
//! ])]);
//! assert_eq!(spec.build().unwrap().workers().len(), 3);
//! ```

mod check;
#[cfg(test)]
mod tests;

use crate::{
    Bytes, Cache, Cluster, ClusterId, Issue, Level, Machine, MachineError, Memory, Prices, Worker,
    assumed,
};

/// The most workers or clusters that one machine may have: above any real machine, small enough
/// that a short hostile description costs some 50 MB at most. That is what four times as many
/// [`Part`]s take, which a synthetic string may unfold into before they are counted here.
pub const MOST_OBJECTS: usize = 1 << 16;

/// A machine described from the outside in.
#[derive(Clone, PartialEq, Debug)]
pub struct MachineSpec {
    /// As printed in results.
    pub name: String,
    /// Clock of its fastest core, in MHz.
    pub mhz: u32,
    /// Main memory.
    pub memory: Memory,
    /// As in [`Machine::cycles_per_operation`].
    pub cycles_per_operation: f64,
    /// As in [`Machine::issue`]; where it is given, `cycles_per_operation` follows from it.
    pub issue: Option<Issue>,
    /// As in [`Machine::prices`].
    pub prices: Prices,
    /// The parts directly under memory, from left to right.
    pub parts: Vec<Part>,
}

/// A part of a machine.
#[derive(Clone, PartialEq, Debug)]
pub enum Part {
    /// A data or unified cache.
    Cache {
        /// Names it in errors; its level (`L2`) where empty.
        label: String,
        /// Its parameters.
        cache: Cache,
        /// The parts under it.
        parts: Vec<Part>,
    },
    /// A core: its hardware threads, and the caches that stand between it and them in the
    /// description (if any).
    Core {
        /// Names it in errors.
        label: String,
        /// As in [`Worker::speed`].
        speed: u32,
        /// The parts under it.
        parts: Vec<Part>,
    },
    /// Holds parts together without a cache of its own: a die, a book. Leaves no trace in the
    /// machine.
    Group(Vec<Part>),
    /// A package (socket). Its workers know which they belong to; one inside another is a group.
    Package(Vec<Part>),
    /// A hardware thread. Outside of any core it is a core of its own, at full speed.
    Worker {
        /// As in [`Worker::os_index`].
        os_index: Option<u32>,
    },
}

impl Part {
    /// A least-recently-used, non-inclusive cache with 64-byte lines and the assumed latency of its
    /// level.
    pub fn cache(level: u8, size: Bytes, ways: u32, parts: Vec<Part>) -> Self {
        let cache = assumed::cache(Level(level), size, None, Some(ways));
        Self::Cache { label: String::new(), cache, parts }
    }
    /// A core of the given speed in percent.
    pub fn core(speed: u32, parts: Vec<Part>) -> Self {
        Self::Core { label: String::new(), speed, parts }
    }
    /// A hardware thread.
    pub fn worker(os_index: Option<u32>) -> Self {
        Self::Worker { os_index }
    }
}

impl MachineSpec {
    /// With the assumed clock, memory and cost of an operation ([`crate::assumed`]).
    pub fn new(name: impl Into<String>, parts: Vec<Part>) -> Self {
        Self {
            name: name.into(),
            mhz: assumed::MHZ,
            memory: assumed::memory(assumed::MHZ),
            cycles_per_operation: assumed::CYCLES_PER_OPERATION,
            issue: None,
            prices: assumed::prices(assumed::MHZ),
            parts,
        }
    }

    /// Sets the clock, and what is assumed in seconds to as many cycles of it: memory's latencies
    /// and bandwidth, and the price of waking. Figures that are told are to be set after it.
    pub fn set_mhz(&mut self, mhz: u32) {
        let Memory { latency, remote_latency, far_latency, bandwidth, .. } = assumed::memory(mhz);
        self.mhz = mhz;
        self.memory = Memory { latency, remote_latency, far_latency, bandwidth, ..self.memory };
        self.prices.wake = assumed::prices(mhz).wake;
    }

    /// Divides the assumed bandwidth, which is a whole package's, among the controllers of one:
    /// more of them, as where a package has several NUMA nodes, are not more memory channels.
    pub(crate) fn share_bandwidth(&mut self) {
        let packages = packages(&self.parts).max(1) as f64;
        let controllers = f64::from(self.memory.controllers.max(1));
        self.memory.bandwidth *= (packages / controllers).min(1.0);
    }

    /// Numbers clusters and workers from left to right and checks everything. O(parts).
    ///
    /// # Errors
    /// [`MachineError::Object`], naming the object, where
    /// - there is no worker at all, or a cache or a core without one, or a core inside a core,
    /// - a cache has level 0, no bytes, a line that is no power of two or longer than 64 KiB, or a
    ///   size that is no multiple of line × ways,
    /// - a cache's level is not below that of the cache above it, or its size is above that of the
    ///   cache above it,
    /// - two workers have the same os index, or a speed is not within 1..=100,
    /// - a figure of the memory, a wire or a price is negative, not finite, or zero where it
    ///   divides, or a latency or a price is above 10⁹ cycles,
    /// - there are more than [`MOST_OBJECTS`] workers or clusters, or parts nest deeper than 512.
    pub fn build(&self) -> Result<Machine, MachineError> {
        check::memory(self)?;
        let root =
            Cluster { cache: None, parent: None, children: Vec::new(), workers: 0..0, depth: 0 };
        let mut tree = Builder { clusters: vec![root], workers: Vec::new(), cores: 0, packages: 0 };
        let at = PartPlace { under: ClusterId::ROOT, core: None, package: None, depth: 0 };
        tree.parts(&self.parts, at)?;
        check::workers(&tree.workers)?;
        tree.clusters[0].workers.end = tree.workers.len() as u32;
        Ok(Machine {
            name: self.name.clone(),
            mhz: self.mhz,
            memory: self.memory,
            cycles_per_operation: self
                .issue
                .map_or(self.cycles_per_operation, Issue::cycles_per_operation),
            issue: self.issue,
            prices: self.prices,
            calibration: None,
            clusters: tree.clusters,
            workers: tree.workers,
        })
    }
}

/// How many packages there are; one inside another is part of it.
fn packages(parts: &[Part]) -> usize {
    let of = |part: &Part| match part {
        Part::Package(_) => 1,
        Part::Group(parts) | Part::Cache { parts, .. } | Part::Core { parts, .. } => {
            packages(parts)
        }
        Part::Worker { .. } => 0,
    };
    parts.iter().map(of).sum()
}

/// The size of the largest of the caches among `parts` that stand in no other of them.
pub(crate) fn largest_cache(parts: &[Part]) -> Bytes {
    let of = |part: &Part| match part {
        Part::Cache { cache, .. } => cache.size,
        Part::Group(parts) | Part::Package(parts) | Part::Core { parts, .. } => {
            largest_cache(parts)
        }
        Part::Worker { .. } => Bytes(0),
    };
    parts.iter().map(of).max().unwrap_or_default()
}

/// Where parts stand.
#[derive(Clone, Copy)]
struct PartPlace {
    under: ClusterId,
    /// Number and speed of the core that is being filled.
    core: Option<(u32, u32)>,
    package: Option<u32>,
    depth: usize,
}

struct Builder {
    clusters: Vec<Cluster>,
    workers: Vec<Worker>,
    cores: u32,
    packages: u32,
}

impl Builder {
    fn parts(&mut self, parts: &[Part], at: PartPlace) -> Result<(), MachineError> {
        check::depth(at.depth)?;
        let at = PartPlace { depth: at.depth + 1, ..at };
        parts.iter().try_for_each(|part| self.part(part, at))
    }

    fn part(&mut self, part: &Part, at: PartPlace) -> Result<(), MachineError> {
        let before = self.workers.len();
        match part {
            Part::Group(parts) => self.parts(parts, at)?,
            Part::Package(parts) => {
                let package = at.package.unwrap_or(self.packages);
                self.parts(parts, PartPlace { package: Some(package), ..at })?;
                if at.package.is_none() && self.workers.len() > before {
                    self.packages += 1;
                }
            }
            Part::Worker { os_index } => {
                check::room(before, "workers")?;
                let (core, speed) = at.core.unwrap_or((self.cores, 100));
                self.cores = self.cores.max(core + 1);
                // One outside of any package belongs to the one before it.
                let package = at.package.unwrap_or(self.packages.saturating_sub(1));
                let (leaf, os_index) = (at.under, *os_index);
                self.workers.push(Worker { leaf, os_index, core, package, speed });
            }
            Part::Core { label, speed, parts } => {
                let number = self.cores;
                let name = || named(label, || format!("core #{number}"));
                check::core(name, *speed, at.core.is_some())?;
                self.parts(parts, PartPlace { core: Some((number, *speed)), ..at })?;
                if self.workers.len() == before {
                    return Err(MachineError::object(name(), "has no hardware thread"));
                }
            }
            Part::Cache { label, cache, parts } => {
                let under = self.cache(label, *cache, at.under)?;
                self.parts(parts, PartPlace { under, ..at })?;
                if self.workers.len() == before {
                    self.clusters.pop();
                    let name = self.cache_name(label, cache);
                    return Err(MachineError::object(name, "has no worker under it"));
                }
                self.clusters[under.index()].workers.end = self.workers.len() as u32;
            }
        }
        Ok(())
    }

    /// Adds a cluster with `cache`, as yet without workers.
    fn cache(
        &mut self,
        label: &str,
        cache: Cache,
        under: ClusterId,
    ) -> Result<ClusterId, MachineError> {
        let parent = &self.clusters[under.index()];
        check::cache(&cache, parent.cache.as_ref())
            .map_err(|what| MachineError::object(self.cache_name(label, &cache), what))?;
        check::room(self.clusters.len(), "caches")?;
        let id = ClusterId(self.clusters.len() as u32);
        let first = self.workers.len() as u32;
        let depth = parent.depth + 1;
        self.clusters[under.index()].children.push(id);
        self.clusters.push(Cluster {
            cache: Some(cache),
            parent: Some(under),
            children: Vec::new(),
            workers: first..first,
            depth,
        });
        Ok(id)
    }

    /// Its label, or its level and how many of the level came before it.
    fn cache_name(&self, label: &str, cache: &Cache) -> String {
        let same_level = |c: &&Cluster| c.cache.is_some_and(|c| c.level == cache.level);
        let nth = || self.clusters.iter().filter(same_level).count();
        named(label, || format!("{} #{}", cache.level, nth()))
    }
}

fn named(label: &str, otherwise: impl Fn() -> String) -> String {
    if label.is_empty() { otherwise() } else { label.to_owned() }
}
