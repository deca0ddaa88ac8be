//! The space-bounded schedulers' book of claims: how much of each cache is occupied.
//!
//! One ledger for each child of the root (a socket, in most machines), behind one lock: every path
//! from a worker to the root lies in one of them.

use std::sync::atomic::{AtomicU64, Ordering};

use befit_machine::{Bytes, ClusterId, Machine, WorkerId};

use crate::{Counting, Env, Guarded, LockId, Options, Stage, TaskInfo, Thresholds};

/// The claims on every cache of a machine.
#[derive(Debug)]
pub(super) struct Ledger {
    caches: Vec<Cache>,
    /// Per worker: its clusters from leaf to root.
    paths: Vec<Vec<ClusterId>>,
    /// Per worker: what befits them.
    thresholds: Vec<Thresholds>,
    /// Per child of the root: held while claims under it change.
    pages: Vec<Guarded<()>>,
}

/// One cluster's limits, and the bytes that are claimed.
#[derive(Debug)]
struct Cache {
    /// M in bytes; `u64::MAX` for memory.
    size: u64,
    /// The most that a passing strand claims: μM, or M where strands count in full.
    share: u64,
    counting: Counting,
    parent: Option<ClusterId>,
    /// Index into `pages`; none for the root, of which nothing is claimed.
    page: Option<usize>,
    /// Bytes claimed. Changed under the page's lock, read without it.
    occupied: AtomicU64,
}

impl Cache {
    fn occupied(&self) -> u64 {
        self.occupied.load(Ordering::SeqCst)
    }

    /// Whether something of `bytes` may pass through: capped, whether occupancy ≤ (1−μ)M, whatever
    /// it would claim; in full, whether what it would claim is free.
    fn passable(&self, bytes: u64) -> bool {
        let claims = match self.counting {
            Counting::Capped => self.share,
            Counting::Full => self.passing(bytes),
        };
        self.size == u64::MAX || self.occupied() <= self.size - claims
    }

    /// What something of `bytes` claims as it passes through: nothing if its size is not known.
    fn passing(&self, bytes: u64) -> u64 {
        if bytes == TaskInfo::UNKNOWN.0 { 0 } else { bytes.min(self.share) }
    }

    fn claim(&self, bytes: u64) {
        self.occupied.store(self.occupied() + bytes, Ordering::SeqCst);
    }

    fn give_back(&self, bytes: u64) {
        let occupied = self.occupied().checked_sub(bytes).expect("a claim is given back once");
        self.occupied.store(occupied, Ordering::SeqCst);
    }
}

impl Ledger {
    /// Nothing claimed. Its locks are named from `first_lock` on.
    pub(super) fn new(machine: &Machine, options: Options, first_lock: LockId) -> Self {
        let sockets = &machine.cluster(ClusterId::ROOT).children;
        let page_of = |first_worker: u32| {
            sockets.iter().position(|s| machine.cluster(*s).has(WorkerId(first_worker)))
        };
        let caches = machine.clusters().iter().map(|cluster| Cache {
            size: cluster.size().0,
            share: match options.counting {
                Counting::Capped => Thresholds::share(cluster.size(), options.mu).0,
                Counting::Full => cluster.size().0,
            },
            counting: options.counting,
            parent: cluster.parent,
            page: cluster.parent.and_then(|_| page_of(cluster.workers.start)),
            occupied: AtomicU64::new(0),
        });
        let paths: Vec<Vec<_>> = (0..machine.workers().len() as u32)
            .map(|w| machine.path(WorkerId(w)).collect())
            .collect();
        let sizes = |path: &Vec<ClusterId>| {
            Thresholds::new(path.iter().map(|c| machine.cluster(*c).size()), options.sigma)
        };
        Self {
            caches: caches.collect(),
            thresholds: paths.iter().map(sizes).collect(),
            paths,
            pages: (0..sockets.len() as u32)
                .map(|i| Guarded::new(LockId(first_lock.0 + i), ()))
                .collect(),
        }
    }

    /// Worker `w`'s clusters from leaf to root.
    pub(super) fn path(&self, w: WorkerId) -> &[ClusterId] {
        &self.paths[w.index()]
    }

    /// Whether anything anchored above `cluster`, however small, may run below it.
    pub(super) fn passable(&self, cluster: ClusterId) -> bool {
        self.cache(cluster).passable(1)
    }

    /// Bytes of `cluster` that are claimed; 0 for the root.
    pub(super) fn occupied(&self, cluster: ClusterId) -> Bytes {
        Bytes(self.cache(cluster).occupied())
    }

    /// Lets a strand of `task`, queued at step `at` of worker `w`'s path, run on `w` if the bounded
    /// property allows, and claims its space. Returns the task with its anchor, which is new where
    /// the task is maximal.
    pub(super) fn admit(
        &self,
        w: WorkerId,
        at: usize,
        task: &TaskInfo,
        stage: Stage,
        env: &mut dyn Env,
    ) -> Option<TaskInfo> {
        let path = self.path(w);
        let anchor = match stage {
            Stage::Start => self.thresholds[w.index()].too_small_for(task.size).min(at),
            Stage::Continuation => at,
        };
        let (below, between) = (&path[..anchor], path.get(anchor + 1..at).unwrap_or(&[]));
        let maximal = anchor < at;
        self.on_page(path[0], env, || {
            let passes = |clusters: &[ClusterId], bytes: u64| {
                clusters.iter().all(|c| self.cache(*c).passable(bytes))
            };
            let all_passable = passes(below, task.strand.0) && passes(between, task.size.0);
            let home = self.cache(path[anchor]);
            if !all_passable || (maximal && home.occupied() + task.size.0 > home.size) {
                return None;
            }
            self.claim_passing(below, task.strand.0);
            self.claim_passing(between, task.size.0);
            let mut task = *task;
            if maximal {
                home.claim(task.size.0);
                task.anchor = path[anchor];
                task.maximal = true;
                task.mark = u64::from(path[at].0);
            }
            Some(task)
        })
    }

    /// Claims for a strand that goes on where it is, come what may.
    pub(super) fn resume(&self, w: WorkerId, task: &TaskInfo, env: &mut dyn Env) {
        let below = self.below_anchor(w, task);
        self.on_page(self.path(w)[0], env, || self.claim_passing(below, task.strand.0));
    }

    /// Gives a strand's claims back. Returns the highest cluster that has more room now.
    pub(super) fn strand_done(
        &self,
        w: WorkerId,
        task: &TaskInfo,
        env: &mut dyn Env,
    ) -> Option<ClusterId> {
        let below = self.below_anchor(w, task);
        let highest = *below.last()?;
        self.on_page(highest, env, || self.give_back_passing(below.iter().copied(), task.strand.0));
        Some(highest)
    }

    /// Gives a maximal task's claims back. Returns the highest cluster that has more room now.
    pub(super) fn task_ended(&self, task: &TaskInfo, env: &mut dyn Env) -> Option<ClusterId> {
        let up = || std::iter::successors(Some(task.anchor), |c| self.cache(*c).parent);
        let claimed = || up().take_while(|c| u64::from(c.0) != task.mark);
        self.on_page(task.anchor, env, || {
            self.cache(task.anchor).give_back(task.size.0);
            self.give_back_passing(claimed().skip(1), task.size.0);
        });
        claimed().last()
    }

    /// The bounded property. Does not hold after [`Self::resume`], which cannot refuse.
    pub(super) fn check(&self) {
        for (i, cache) in self.caches.iter().enumerate() {
            let occupied = cache.occupied();
            assert!(
                occupied <= cache.size,
                "bounded property: cluster {i} of {} bytes holds {occupied}",
                cache.size
            );
        }
    }

    fn cache(&self, cluster: ClusterId) -> &Cache {
        &self.caches[cluster.index()]
    }

    /// The caches strictly below the anchor on worker `w`'s path. A task that runs outside its
    /// anchor breaks the anchored property.
    fn below_anchor(&self, w: WorkerId, task: &TaskInfo) -> &[ClusterId] {
        let path = self.path(w);
        let at = path
            .iter()
            .position(|c| *c == task.anchor)
            .expect("anchored property: the worker is under the task's anchor");
        &path[..at]
    }

    fn claim_passing(&self, clusters: &[ClusterId], bytes: u64) {
        for cache in clusters.iter().map(|c| self.cache(*c)) {
            cache.claim(cache.passing(bytes));
        }
    }

    fn give_back_passing(&self, clusters: impl Iterator<Item = ClusterId>, bytes: u64) {
        for cache in clusters.map(|c| self.cache(c)) {
            cache.give_back(cache.passing(bytes));
        }
    }

    /// Runs `f` under the lock of the page that `cluster` is on; the root is on none.
    fn on_page<R>(&self, cluster: ClusterId, env: &mut dyn Env, f: impl FnOnce() -> R) -> R {
        match self.cache(cluster).page {
            Some(page) => self.pages[page].with(env, |(), _| f()),
            None => f(),
        }
    }
}
