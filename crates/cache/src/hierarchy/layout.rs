//! The machine's tree as the access path needs it: flat arrays and bit masks.
//!
//! A *chain* is a maximal run of caches with exactly the same workers above each other: a core's
//! private L1 and L2, say. The directory has one bit per chain, not per cache: half as many on most
//! machines.

use befit_machine::{Cache, Cluster, ClusterId, Inclusion, Machine, Worker};

use crate::{
    CacheError,
    sets::{Geometry, ORPHAN},
};

/// Caches that one access may pass.
pub(super) const MAX_DEPTH: usize = 8;
/// Words of the directory that name chains: 64 chains each, less one bit for [`Layout::modified`].
/// Where these are too few, the directory lists chains instead.
pub(super) const MAX_WORDS: usize = 8;
/// Caches are not prefetched with no more entries than this (4 KiB of the host's memory) on
/// machines of no more workers than that.
const NEAR: u32 = 1024;
const FEW: usize = 128;
/// Caches that a line's lists can name.
const MOST_CACHES: usize = 1 << 16;
pub(super) const NONE: u32 = u32::MAX;

/// One cache; its place in [`Layout::caches`] is its cluster's number less one (the root has no
/// cache).
#[derive(Clone, Copy, Debug)]
pub(super) struct CacheInfo {
    /// The cache above, or [`NONE`].
    pub(super) parent: u32,
    /// The next cache below in the same chain, or [`NONE`].
    pub(super) inner: u32,
    pub(super) chain: u32,
    /// The parent is of the same chain.
    pub(super) inner_of_chain: bool,
    pub(super) inclusive: bool,
    pub(super) exclusive: bool,
    /// Whether its lines are dirty is kept in the directory, not in its entries: see
    /// [`super::general`].
    pub(super) tracked: bool,
    /// Bit of the directory's row that says that it lost the line to a write.
    pub(super) lost: u32,
    /// The workers under it: from the first to before the last.
    pub(super) workers: (u32, u32),
    pub(super) geometry: Geometry,
}

/// One chain.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    /// Its caches, the innermost first.
    pub(super) caches: Vec<u32>,
    /// It has chains below.
    pub(super) shared: bool,
    /// It is a single tracked cache with chains below: whether a line is dirty is in the directory
    /// only.
    pub(super) tracked: bool,
    /// Geometry of its outermost cache.
    pub(super) outermost: Geometry,
}

/// How a cache hands on a line that it evicts. The first three are short cuts of the general way
/// for the caches of most machines; see `general/evict.rs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// The innermost of a chain, not inclusive, below no victim cache. If the line is neither dirty
    /// nor an orphan it may be forgotten: the next cache of the chain has it.
    Inner,
    /// The outer of a chain of two, not inclusive, below a tracked cache.
    Outer,
    /// A tracked cache that is a chain by itself.
    Tracked,
    /// None of these.
    Other,
}

/// One cache on a worker's path, with all that an access needs of it.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct PathStep {
    pub(super) geometry: Geometry,
    pub(super) cache: u32,
    pub(super) chain: u32,
    /// As [`CacheInfo::lost`].
    pub(super) lost: u32,
    /// As [`CacheInfo::workers`].
    pub(super) workers: (u32, u32),
    pub(super) role: Role,
    /// Of an [`Role::Inner`], the next cache of the chain; of an [`Role::Outer`], the one below.
    pub(super) neighbour: Geometry,
    /// A victim cache with caches below on this path: lines are not brought into it on a miss.
    pub(super) victims_only: bool,
    /// Flags of a line that an access brings into it.
    pub(super) fill: u32,
}

/// One worker's way to memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    /// Its steps, the innermost first, in [`Layout::steps`].
    pub(super) start: u32,
    pub(super) end: u32,
    /// How many of the first steps are of a chain with no other chain below.
    pub(super) private: u32,
    /// The first step whose cache is large enough to prefetch its sets.
    pub(super) far: u32,
}

/// The tree, flat.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) caches: Vec<CacheInfo>,
    pub(super) chains: Vec<Chain>,
    pub(super) paths: Vec<Path>,
    pub(super) steps: Vec<PathStep>,
    /// Words of a row that name chains; 0 where the directory lists them.
    pub(super) words: usize,
    /// Words of a row.
    pub(super) row: usize,
    /// Bit of a row: some cache may hold the line dirty.
    pub(super) modified: u32,
    /// Per chain, `words` words: the chains below it.
    pub(super) below: Vec<u64>,
    /// Per step, `words` words: the chains below its cache's chain.
    pub(super) below_step: Vec<u64>,
    /// Per worker, `words` words: the chains not on its path.
    pub(super) others: Vec<u64>,
    /// Per step, `words` words: the chains that have the line once an access filled the path up to
    /// here.
    pub(super) filled: Vec<u64>,
    /// Per chain, the workers under it.
    pub(super) under: Vec<(u32, u32)>,
    /// Per chain, which child of the root it is under.
    pub(super) roots: Vec<u32>,
    /// Per cache, those directly below.
    pub(super) children: Vec<Vec<u32>>,
    /// The children of the root.
    pub(super) outermost: Outermost,
}

/// The children of the root, from left to right.
#[derive(Clone, Debug)]
pub(super) struct Outermost {
    clusters: Vec<ClusterId>,
    packages: Vec<u32>,
    /// Per worker: its package, and the child that it stands under, or the next to the right.
    workers: Vec<(u32, u32)>,
}

impl Outermost {
    fn new(machine: &Machine) -> Self {
        let clusters = machine.cluster(ClusterId::ROOT).children.clone();
        let end = |c: &ClusterId| machine.cluster(*c).workers.end;
        // They stand from left to right, and there may be as many as workers.
        let place = |w: u32| clusters.partition_point(|c| end(c) <= w) as u32;
        let of = |(w, worker): (u32, &Worker)| (worker.package, place(w));
        let workers = (0..).zip(machine.workers()).map(of).collect();
        Self { clusters, packages: machine.packages(), workers }
    }

    /// Whether these two are of one package.
    pub(super) fn are_near(&self, one: u32, other: u32) -> bool {
        self.packages[one as usize] == self.packages[other as usize]
    }

    /// The cluster of child number `child`.
    pub(super) fn cluster(&self, child: u32) -> ClusterId {
        self.clusters[child as usize]
    }

    /// How far `child` is from `worker`: among those that have a line, the nearest supplies it.
    #[inline(always)]
    pub(super) fn distance(&self, worker: usize, child: u32) -> u32 {
        let ((package, own), count) = (self.workers[worker], self.clusters.len() as u32);
        let right = (child + count - own) % count;
        right + if self.packages[child as usize] == package { 0 } else { count }
    }
}

/// How error messages name the cache of cluster number `cluster`.
pub(super) fn name(cluster: usize, cache: &Cache) -> String {
    format!("the {} cache of cluster {cluster}", cache.level)
}

/// One worker's path, sliced out of the layout; `words` masks a step.
#[derive(Clone, Copy)]
pub(super) struct Steps<'a> {
    pub(super) steps: &'a [PathStep],
    /// As [`Layout::below_step`].
    pub(super) below: &'a [u64],
    /// As [`Layout::filled`].
    pub(super) filled: &'a [u64],
    /// As [`Layout::others`].
    pub(super) others: &'a [u64],
}

impl Steps<'_> {
    /// The innermost cache on the path that has one of the chains `others`, none of which is on the
    /// path, below it.
    #[inline(always)]
    pub(super) fn common(&self, layout: &Layout, others: &[u32]) -> Option<u32> {
        let first = |chain: &u32| layout.under[*chain as usize].0;
        let meets = |step: &&PathStep| others.iter().any(|chain| has(step.workers, first(chain)));
        self.steps.iter().find(meets).map(|step| step.cache)
    }
}

impl Path {
    /// Its steps, in [`Layout::steps`].
    #[inline(always)]
    pub(super) fn range(&self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Those of them whose sets are worth prefetching.
    #[inline(always)]
    pub(super) fn far(&self) -> std::ops::Range<usize> {
        self.far as usize..self.end as usize
    }
}

impl Layout {
    /// Flattens `machine`'s tree, whose caches (those of the clusters from 1 on) have these
    /// `geometries`.
    /// Rows of the directory have at most so many words that name chains; where more are needed,
    /// it has lists.
    pub(super) fn new(
        machine: &Machine,
        geometries: &[Geometry],
        most_words: usize,
    ) -> Result<Self, CacheError> {
        let (clusters, workers) = (machine.clusters(), machine.workers());
        let (mut caches, chains) = chains(clusters, workers, geometries);
        let bits = chains.len() + 1;
        // As many as some copy of the access path is compiled for.
        let words = match bits.div_ceil(64) {
            1 => 1,
            2..=4 => 4,
            5..=MAX_WORDS => MAX_WORDS,
            _ => 0,
        };
        let words = if words > most_words { 0 } else { words };
        if words == 0 && caches.len() > MOST_CACHES {
            let count = caches.len();
            return Err(CacheError(format!(
                "{count} caches are more than the {MOST_CACHES} that can be modelled"
            )));
        }
        for (i, info) in caches.iter_mut().enumerate() {
            info.lost = if words == 0 { i } else { bits + i } as u32;
        }
        let mut layout = Self {
            row: if words == 0 { 0 } else { (bits + caches.len()).div_ceil(64).max(words) },
            modified: chains.len() as u32,
            below: vec![0; chains.len() * words],
            under: chains.iter().map(|c| caches[c.caches[0] as usize].workers).collect(),
            caches,
            chains,
            paths: Vec::new(),
            steps: Vec::new(),
            words,
            others: Vec::new(),
            filled: Vec::new(),
            below_step: Vec::new(),
            roots: Vec::new(),
            children: vec![Vec::new(); geometries.len()],
            outermost: Outermost::new(machine),
        };
        let root = |(first, _): &(u32, u32)| layout.outermost.workers[*first as usize].1;
        layout.roots = layout.under.iter().map(root).collect();
        for (i, info) in layout.caches.iter().enumerate() {
            if let Some(children) = layout.children.get_mut(info.parent as usize) {
                children.push(i as u32);
            }
        }
        layout.find_shared();
        layout.mark_below();
        for (i, worker) in workers.iter().enumerate() {
            layout.add_path(i, worker, workers.len() <= FEW)?;
        }
        Ok(layout)
    }

    /// The path of the worker with index `worker`.
    #[inline(always)]
    pub(super) fn steps<const H: usize>(&self, path: Path, worker: usize) -> Steps<'_> {
        let (start, end) = (path.start as usize, path.end as usize);
        Steps {
            steps: &self.steps[start..end],
            below: &self.below_step[start * H..end * H],
            filled: &self.filled[start * H..end * H],
            others: &self.others[worker * H..][..H],
        }
    }

    /// Finds the chains that have others below.
    fn find_shared(&mut self) {
        for i in 0..self.chains.len() {
            let outermost = self.chains[i].caches[self.chains[i].caches.len() - 1];
            let parent = self.caches[outermost as usize].parent;
            if parent != NONE {
                let above = self.caches[parent as usize].chain;
                self.chains[above as usize].shared = true;
            }
        }
        for chain in &mut self.chains {
            chain.tracked = chain.shared
                && matches!(chain.caches[..], [one] if self.caches[one as usize].tracked);
        }
    }

    fn mark_below(&mut self) {
        if self.words == 0 {
            return;
        }
        for (i, chain) in self.chains.iter().enumerate() {
            for above in above(&self.caches, chain.caches[chain.caches.len() - 1]) {
                let chain = self.caches[above as usize].chain as usize;
                set(&mut self.below[chain * self.words..], i);
            }
        }
    }

    /// The role of a cache, and the neighbour that goes with it.
    fn role(&self, info: &CacheInfo) -> (Role, Geometry) {
        let get = |cache: u32| self.caches.get(cache as usize);
        match (get(info.parent), get(info.inner)) {
            (Some(above), None)
                if info.inner_of_chain && !info.inclusive && !above.exclusive && !above.tracked =>
            {
                (Role::Inner, above.geometry)
            }
            (Some(above), Some(below))
                if !info.inner_of_chain
                    && below.inner == NONE
                    && !info.inclusive
                    && !info.exclusive
                    && above.tracked =>
            {
                (Role::Outer, below.geometry)
            }
            (None, None) if info.tracked => (Role::Tracked, info.geometry),
            _ => (Role::Other, info.geometry),
        }
    }

    /// The path of `worker`; `few`: all workers' innermost caches together stay near.
    fn add_path(&mut self, number: usize, worker: &Worker, few: bool) -> Result<(), CacheError> {
        let start = self.steps.len();
        let mut others = vec![0; self.words];
        let named = if self.words == 0 { 0 } else { self.chains.len() };
        (0..named).for_each(|i| set(&mut others, i));
        let mut filled = vec![0; self.words];
        let mut cache = worker.leaf.0.wrapping_sub(1);
        while cache != NONE {
            let info = self.caches[cache as usize];
            let innermost = self.steps.len() == start;
            let victims_only = info.exclusive && !innermost;
            let outer_is_victims_only =
                info.inner_of_chain && self.caches[info.parent as usize].exclusive;
            let fill = if outer_is_victims_only { ORPHAN } else { 0 };
            let (role, neighbour) = self.role(&info);
            let CacheInfo { geometry, chain, lost, workers, .. } = info;
            self.steps.push(PathStep {
                geometry,
                neighbour,
                cache,
                chain,
                lost,
                workers,
                role,
                victims_only,
                fill,
            });
            if self.words > 0 {
                clear(&mut others, info.chain as usize);
            }
            if self.words > 0 && !victims_only {
                set(&mut filled, info.chain as usize);
            }
            self.filled.extend_from_slice(&filled);
            let below = &self.below[info.chain as usize * self.words..][..self.words];
            self.below_step.extend_from_slice(below);
            cache = info.parent;
        }
        let steps = &self.steps[start..];
        if steps.len() > MAX_DEPTH {
            let levels = steps.len();
            return Err(CacheError(format!(
                "worker {number} has {levels} caches on its way to memory, more than the \
                 {MAX_DEPTH} that can be modelled"
            )));
        }
        let private = match steps.first() {
            Some(first) if !self.chains[first.chain as usize].shared => {
                steps.iter().take_while(|s| s.chain == first.chain).count()
            }
            _ => 0,
        };
        let is_near = |s: &&PathStep| few && s.geometry.sets * s.geometry.stride <= NEAR;
        let near = steps.iter().take_while(is_near).count();
        let end = self.steps.len() as u32;
        self.paths.push(Path {
            start: start as u32,
            end,
            private: private as u32,
            far: (start + near) as u32,
        });
        self.others.extend(others);
        Ok(())
    }
}

/// Whether the worker is one of `workers`.
#[inline(always)]
pub(super) fn has((first, end): (u32, u32), worker: u32) -> bool {
    first <= worker && worker < end
}

/// The caches above `cache`, the nearest first.
pub(super) fn above(caches: &[CacheInfo], cache: u32) -> impl Iterator<Item = u32> + '_ {
    let parent = |c: u32| Some(caches[c as usize].parent).filter(|p| *p != NONE);
    std::iter::successors(parent(cache), move |c| parent(*c))
}

fn set(words: &mut [u64], bit: usize) {
    words[bit / 64] |= 1 << (bit % 64);
}

fn clear(words: &mut [u64], bit: usize) {
    words[bit / 64] &= !(1 << (bit % 64));
}

/// The caches of the clusters from 1 on: every cluster but the root must have one, and all lines of
/// one length.
pub(super) fn caches(clusters: &[Cluster]) -> Result<Vec<Cache>, CacheError> {
    let mut first = None;
    let mut caches = Vec::with_capacity(clusters.len());
    for (i, cluster) in clusters.iter().enumerate().skip(1) {
        let Some(cache) = cluster.cache else {
            return Err(CacheError(format!(
                "cluster {i} has no cache: only the root may have none; leave it out and attach \
                 its children to its parent"
            )));
        };
        let (j, first) = *first.get_or_insert((i, cache));
        if first.line != cache.line {
            let (what, other) = (name(i, &cache), name(j, &first));
            let (line, other_line) = (cache.line, first.line);
            return Err(CacheError(format!(
                "{what} has lines of {line}, {other} lines of {other_line}: give all caches the \
                 same line length"
            )));
        }
        caches.push(cache);
    }
    Ok(caches)
}

/// Each cluster's cache, and the chains that they form.
fn chains(
    clusters: &[Cluster],
    workers: &[Worker],
    geometries: &[Geometry],
) -> (Vec<CacheInfo>, Vec<Chain>) {
    let mut caches: Vec<CacheInfo> = Vec::new();
    let mut chains: Vec<Chain> = Vec::new();
    let mut attached = vec![false; clusters.len()];
    workers.iter().for_each(|w| attached[w.leaf.index()] = true);
    for (i, cluster) in clusters.iter().enumerate().skip(1) {
        // Parents come before their children.
        let parent = cluster.parent.map_or(NONE, |p| p.0.wrapping_sub(1));
        let under = (cluster.workers.start, cluster.workers.end);
        let above = (parent != NONE).then(|| &clusters[parent as usize + 1]);
        let same_workers = above.is_some_and(|a| a.workers == cluster.workers);
        let inner_of_chain = same_workers && !attached[cluster.parent.map_or(0, |p| p.index())];
        let this = i as u32 - 1;
        let chain = if inner_of_chain {
            caches[parent as usize].inner = this;
            let chain = caches[parent as usize].chain;
            chains[chain as usize].caches.insert(0, this);
            chain
        } else {
            chains.push(Chain {
                caches: vec![this],
                shared: false,
                tracked: false,
                outermost: geometries[this as usize],
            });
            chains.len() as u32 - 1
        };
        let inclusion = cluster.cache.map(|c| c.inclusion).unwrap_or_default();
        let inclusive = inclusion == Inclusion::Inclusive;
        caches.push(CacheInfo {
            parent,
            inner: NONE,
            chain,
            inner_of_chain,
            inclusive,
            exclusive: inclusion == Inclusion::Exclusive,
            tracked: inclusive && parent == NONE,
            lost: 0,
            workers: under,
            geometry: geometries[this as usize],
        });
    }
    (caches, chains)
}
