//! The tree itself: clusters (a cache with the workers under it) and workers.

use std::{
    ops::Range,
    path::{Path, PathBuf},
};

use crate::{Bytes, ClusterId, Cycles, Level, Prices, WorkerId};

/// How a cache picks the line that makes room.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Replacement {
    /// The least recently used line of the set.
    #[default]
    Lru,
    /// A binary tree of bits per set that points away from recent use.
    TreePlru,
    /// Uniformly at random (seeded).
    Random,
}

/// The relation of a cache's lines to those of the caches below (nearer to the cores).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Inclusion {
    /// Holds every line that a cache below holds; evicting one here evicts it there.
    Inclusive,
    /// Filled together with the caches below, but evicts independently.
    #[default]
    NonInclusive,
    /// A victim cache: filled only by the victims of the caches below.
    Exclusive,
}

/// A last-level cache's wire to the fabric: bytes a cycle (of the fastest core) that pass it at
/// most.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Link {
    /// Into the cache.
    pub read: f64,
    /// Out of it: write-backs, and lines that other last-level caches ask for.
    pub write: f64,
}

/// One cache.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cache {
    /// 1 is nearest to the core.
    pub level: Level,
    /// Capacity.
    pub size: Bytes,
    /// Line length.
    pub line: Bytes,
    /// Lines per set; 1 is direct-mapped, 0 is fully associative.
    pub ways: u32,
    /// Which line makes room.
    pub replacement: Replacement,
    /// Relation to the caches below.
    pub inclusion: Inclusion,
    /// From the load's issue to its data when it hits here.
    pub latency: Cycles,
    /// From a load's issue to its data when another cache below this one has the line and must hand
    /// it over. `None` where it is not known: as [`latency`](Self::latency).
    pub transfer: Option<Cycles>,
    /// Cycles from one line of a stream to the next, when they hit here. `None` where it is not
    /// known: latency / [`Memory::streams`].
    pub stream: Option<f64>,
    /// Of a last-level cache: its wire to the fabric. `None` where it never binds, or is not known.
    pub link: Option<Link>,
}

/// A cache with the workers under it; the root is memory and has no cache.
#[derive(Clone, PartialEq, Debug)]
pub struct Cluster {
    /// None for the root (memory).
    pub cache: Option<Cache>,
    /// None for the root.
    pub parent: Option<ClusterId>,
    /// From left to right; may be empty where workers stand directly under this cache.
    pub children: Vec<ClusterId>,
    /// The workers under this cluster, contiguous by construction.
    pub workers: Range<u32>,
    /// Steps from the root, whose depth is 0.
    pub depth: u32,
}

impl Cluster {
    /// The number of workers under it.
    pub fn worker_count(&self) -> u32 {
        self.workers.end - self.workers.start
    }
    /// Whether worker `w` is under it.
    pub fn has(&self, w: WorkerId) -> bool {
        self.workers.contains(&w.0)
    }
    /// Capacity; memory is boundless.
    pub fn size(&self) -> Bytes {
        self.cache.map_or(Bytes(u64::MAX), |c| c.size)
    }
}

/// One hardware thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Worker {
    /// The innermost cluster it stands under.
    pub leaf: ClusterId,
    /// The operating system's number for it, where the machine is a real one.
    pub os_index: Option<u32>,
    /// The core it belongs to, numbered from left to right; hardware threads of one core share it.
    pub core: u32,
    /// The package (socket) it belongs to, numbered from left to right; 0 where no source tells.
    pub package: u32,
    /// Speed against the machine's fastest core, in percent: 100, or less for efficiency cores.
    pub speed: u32,
}

/// How pages are spread over the memory controllers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Placement {
    /// Page by page, round robin over all controllers.
    #[default]
    Interleaved,
    /// At the controller nearest to the worker that touches the page first.
    FirstTouch,
    /// Round robin over the first k controllers (the space-bounded study's bandwidth gap).
    Bound(u32),
}

impl Placement {
    /// The same, on at most so many controllers.
    pub(crate) fn within(self, controllers: u32) -> Self {
        match self {
            Self::Bound(k) => Self::Bound(k.min(controllers)),
            any => any,
        }
    }
}

/// Where a clean line comes from that another last-level cache holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CleanSource {
    /// From memory: only a cache that has the line modified supplies it.
    Memory,
    /// From that cache, which forwards it.
    #[default]
    Cache,
}

/// How a core finds the page of an address: in its TLB, or by a walk through the page tables.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pages {
    /// Pages of 4 KiB whose places one core's largest TLB holds. At most [`MOST_PAGES`].
    pub tlb: u32,
    /// Cycles of a walk, where all that it reads is in the core's nearest cache.
    pub walk: f64,
    /// Walks that a core makes at once.
    pub walks: f64,
    /// Lines of the lowest level of page tables that a walk reads: 1, and in a virtual machine 2,
    /// the guest's and the host's. At most [`MOST_TABLES`].
    pub tables: u32,
    /// Which frames of memory they lie in.
    pub frames: Frames,
}

/// Which frames of memory a program's pages lie in. It decides which sets of caches they share.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Frames {
    /// Side by side, as within a huge page.
    #[default]
    SideBySide,
    /// Any, as systems give them out one by one.
    Random,
}

/// More pages than any TLB holds.
pub const MOST_PAGES: u32 = 1 << 20;
/// More runs of neighbouring lines than any prefetcher follows.
pub const MOST_RUNS: u32 = 1 << 14;
/// More lines than any walk reads of the lowest level of page tables.
pub const MOST_TABLES: u32 = 8;

/// Main memory, and the wires to it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Memory {
    /// From the load's issue to its data, with idle controllers.
    pub latency: Cycles,
    /// How many controllers; where there are as many as depth-1 clusters each belongs to one.
    pub controllers: u32,
    /// Sustained bandwidth of one controller, in bytes per core cycle.
    pub bandwidth: f64,
    /// Where pages go.
    pub placement: Placement,
    /// How many independent misses a core has in flight at most: no more overlap.
    pub parallelism: f64,
    /// How many lines of a streaming run are in flight, with those that prefetchers asked for: one
    /// comes every latency / streams. `None` where it is not known: as many as `parallelism`.
    pub streams: Option<f64>,
    /// Recorded operations (loads, stores, basic blocks) that a core has in flight: misses of one
    /// such window are in flight together. 0 for a core that waits for each.
    pub window: u32,
    /// Runs of neighbouring lines, each touched with those of others in between, that a core's
    /// prefetchers follow at once. 0: none but those that recordings mark as streams.
    pub runs: u32,
    /// From the load's issue to its data when another last-level cache of the same package supplies
    /// it.
    pub remote_latency: Cycles,
    /// The same for a last-level cache of another package.
    pub far_latency: Cycles,
    /// From where a clean line comes that another last-level cache holds.
    pub clean: CleanSource,
    /// Bytes a cycle that one package's fabric or mesh passes, for all its caches together. `None`
    /// where it never binds, or is not known.
    pub fabric: Option<f64>,
    /// Bytes a cycle, in each direction, of each package's link to the others. `None` as above.
    pub package_link: Option<f64>,
    /// How its pages are found. `None` where that takes no time, or is not known.
    pub pages: Option<Pages>,
}

impl Memory {
    /// Lines of a streaming run that are in flight: at least 1.
    pub fn streams(&self) -> f64 {
        self.streams.unwrap_or(self.parallelism).max(1.0)
    }
}

/// How a core issues instructions, where a machine's source says.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Issue {
    /// Instructions that one recorded operation (load, store or basic block) stands for.
    pub instructions: f64,
    /// Instructions that the core issues in a cycle at most.
    pub width: f64,
}

impl Issue {
    /// Cycles that one recorded operation costs beyond the caches.
    pub fn cycles_per_operation(self) -> f64 {
        self.instructions / self.width
    }
}

/// A machine: the tree of its caches.
#[derive(Clone, PartialEq, Debug)]
pub struct Machine {
    /// As printed in results.
    pub name: String,
    /// Clock of its fastest core, in MHz.
    pub mhz: u32,
    /// Main memory, the root of the tree.
    pub memory: Memory,
    /// Average cycles that one recorded operation (load, store or basic block) costs beyond the
    /// caches.
    pub cycles_per_operation: f64,
    /// The figures that this cost follows from, where they are known.
    pub issue: Option<Issue>,
    /// What scheduling and page faults cost.
    pub prices: Prices,
    pub(crate) calibration: Option<PathBuf>,
    pub(crate) clusters: Vec<Cluster>,
    pub(crate) workers: Vec<Worker>,
}

impl Machine {
    /// All clusters, parents before their children, the root first.
    pub fn clusters(&self) -> &[Cluster] {
        &self.clusters
    }
    /// All workers, from left to right.
    pub fn workers(&self) -> &[Worker] {
        &self.workers
    }
    /// One cluster.
    pub fn cluster(&self, id: ClusterId) -> &Cluster {
        &self.clusters[id.index()]
    }
    /// From worker `w`'s innermost cluster up to the root, both included.
    pub fn path(&self, w: WorkerId) -> impl Iterator<Item = ClusterId> + '_ {
        std::iter::successors(Some(self.workers[w.index()].leaf), |c| self.cluster(*c).parent)
    }
    /// The outermost cache above worker `w` (its last-level cache), or the root where it has none.
    pub fn last_level(&self, w: WorkerId) -> ClusterId {
        self.path(w).filter(|c| *c != ClusterId::ROOT).last().unwrap_or(ClusterId::ROOT)
    }
    /// For each cluster directly under memory, from left to right: the number of its package.
    /// Packages are numbered from 0; all are 0 where no source tells of packages.
    pub fn packages(&self) -> Vec<u32> {
        let clusters = &self.cluster(ClusterId::ROOT).children;
        let first = |c: &ClusterId| self.cluster(*c).workers.start as usize;
        clusters.iter().map(|c| self.workers[first(c)].package).collect()
    }
    /// The file of measured figures that this machine's come from ([`crate::calibration_file`]).
    pub fn calibration(&self) -> Option<&Path> {
        self.calibration.as_deref()
    }
    /// The cache levels present, in ascending order.
    pub fn levels(&self) -> Vec<Level> {
        let mut levels: Vec<Level> =
            self.clusters.iter().filter_map(|c| c.cache).map(|c| c.level).collect();
        levels.sort();
        levels.dedup();
        levels
    }
}

/// The invariants of every machine; tests of every source check them.
#[cfg(test)]
pub(crate) mod invariants {
    use crate::{ClusterId, Machine, WorkerId};

    /// Panics where `machine` is not a proper tree.
    pub(crate) fn check(machine: &Machine) {
        let clusters = machine.clusters();
        let workers = machine.workers().len() as u32;
        assert!(workers > 0);
        assert_eq!(machine.cluster(ClusterId::ROOT).workers, 0..workers);
        assert_eq!(machine.cluster(ClusterId::ROOT).depth, 0);
        for (at, cluster) in clusters.iter().enumerate() {
            let id = ClusterId(at as u32);
            assert_eq!(cluster.cache.is_none(), id == ClusterId::ROOT);
            assert_eq!(cluster.parent.is_none(), id == ClusterId::ROOT);
            assert!(cluster.worker_count() > 0, "{id:?} is empty");
            let mut next = cluster.workers.start;
            for child in &cluster.children {
                let child_at = machine.cluster(*child);
                assert!(child.0 > id.0, "parents stand before their children");
                assert_eq!(child_at.parent, Some(id));
                assert_eq!(child_at.depth, cluster.depth + 1);
                assert!(child_at.workers.start >= next, "children stand from left to right");
                assert!(child_at.size() <= cluster.size(), "sizes ascend towards memory");
                if let (Some(inner), Some(outer)) = (child_at.cache, cluster.cache) {
                    assert!(inner.level < outer.level, "levels fall towards the cores");
                }
                next = child_at.workers.end;
            }
            assert!(next <= cluster.workers.end);
            if let Some(cache) = cluster.cache {
                assert!(cache.line.0.is_power_of_two());
                assert_eq!(cache.size.0 % (cache.line.0 * u64::from(cache.ways.max(1))), 0);
            }
        }
        let (mut cores, mut packages) = (0, 0);
        for w in (0..workers).map(WorkerId) {
            let path: Vec<ClusterId> = machine.path(w).collect();
            assert_eq!(path.last(), Some(&ClusterId::ROOT));
            assert!(path.iter().all(|c| machine.cluster(*c).has(w)), "the path holds the worker");
            assert_eq!(path.len() as u32, machine.cluster(path[0]).depth + 1);
            let worker = &machine.workers()[w.index()];
            assert!((1..=100).contains(&worker.speed));
            assert!(worker.core <= cores, "cores are numbered from left to right");
            cores = cores.max(worker.core + 1);
            assert!(worker.package <= packages, "packages are numbered from left to right");
            packages = packages.max(worker.package + 1);
        }
    }
}
