//! The space-bounded schedulers' occupancy: how many bytes of each cache are claimed.
//!
//! The claims under each child of the root (a socket, in most machines) change under one lock.
//! Every path from a worker to the root lies in one socket, so one lock covers it.

use std::sync::atomic::{AtomicU64, Ordering};

use befit_machine::{Bytes, ClusterId, Machine, WorkerId};

use crate::{Counting, Env, Guarded, LockId, Options, Stage, TaskInfo, Thresholds};

/// The claims on every cache of a machine.
#[derive(Debug)]
pub(super) struct Ledger {
    caches: Vec<Cache>,
    /// Per worker: its clusters from leaf to root.
    paths: Vec<Vec<ClusterId>>,
    /// Per worker: what befits the caches of its path.
    thresholds: Vec<Thresholds>,
    /// The lock of each child of the root, held while claims under it change.
    sockets: Vec<Guarded<()>>,
}

/// One cluster's limits, and the bytes that are claimed.
#[derive(Debug)]
struct Cache {
    /// M in bytes; `u64::MAX` for memory.
    size: u64,
    /// The most that a passing strand claims: μM, or M where strands count in full.
    passing_cap: u64,
    counting: Counting,
    parent: Option<ClusterId>,
    /// Index into `sockets`; none for the root, of which nothing is claimed.
    socket: Option<usize>,
    /// Bytes claimed. Changed under the socket's lock, read without it.
    occupied: AtomicU64,
}

impl Cache {
    fn occupied(&self) -> u64 {
        self.occupied.load(Ordering::SeqCst)
    }

    /// Whether a task or strand of `bytes` may pass through to a smaller cache. Under capped
    /// counting this is occupancy ≤ (1−μ)M, whatever its own claim. Under full counting its claim
    /// must be free.
    fn passable(&self, bytes: u64) -> bool {
        let claims = match self.counting {
            Counting::Capped => self.passing_cap,
            Counting::Full => self.passing_claim(bytes),
        };
        self.size == u64::MAX || self.occupied() <= self.size - claims
    }

    /// What a task or strand of `bytes` claims where it passes through: nothing if its size is
    /// unknown.
    fn passing_claim(&self, bytes: u64) -> u64 {
        if bytes == TaskInfo::UNKNOWN.0 { 0 } else { bytes.min(self.passing_cap) }
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
    /// A ledger without claims. Its locks are named from `first_lock` on.
    pub(super) fn new(machine: &Machine, options: Options, first_lock: LockId) -> Self {
        let sockets = &machine.cluster(ClusterId::ROOT).children;
        let socket_of = |first_worker: u32| {
            sockets.iter().position(|s| machine.cluster(*s).has(WorkerId(first_worker)))
        };
        let caches = machine.clusters().iter().map(|cluster| Cache {
            size: cluster.size().0,
            passing_cap: match options.counting {
                Counting::Capped => Thresholds::share(cluster.size(), options.mu).0,
                Counting::Full => cluster.size().0,
            },
            counting: options.counting,
            parent: cluster.parent,
            socket: cluster.parent.and_then(|_| socket_of(cluster.workers.start)),
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
            sockets: (0..sockets.len() as u32)
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

    /// Lets a strand of `task` run on worker `w` if the bounded property allows, and claims its
    /// space; else returns `None` and claims nothing. The strand was queued at the cluster at step
    /// `at` of the worker's path.
    ///
    /// A task that starts is anchored at the innermost cache of the path that it befits. If that
    /// lies below step `at`, the task is maximal, and the returned task carries its new anchor. It
    /// claims
    /// - its size at the anchor,
    /// - min(μM, size) of each cache *between* the anchor and step `at`, and
    /// - min(μM, strand size) of each cache *below* the anchor, as every strand does.
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
        self.with_socket_locked(path[0], env, || {
            let passes = |clusters: &[ClusterId], bytes: u64| {
                clusters.iter().all(|c| self.cache(*c).passable(bytes))
            };
            let all_passable = passes(below, task.strand.0) && passes(between, task.size.0);
            let anchor_cache = self.cache(path[anchor]);
            if !all_passable
                || (maximal && anchor_cache.occupied() + task.size.0 > anchor_cache.size)
            {
                return None;
            }
            self.claim_passing(below, task.strand.0);
            self.claim_passing(between, task.size.0);
            let mut task = *task;
            if maximal {
                anchor_cache.claim(task.size.0);
                task.anchor = path[anchor];
                task.maximal = true;
                // Its claims end below this cluster: see `task_ended`.
                task.mark = u64::from(path[at].0);
            }
            Some(task)
        })
    }

    /// Claims for a strand that goes on where it is, even beyond a cache's size.
    pub(super) fn resume(&self, w: WorkerId, task: &TaskInfo, env: &mut dyn Env) {
        let below = self.below_anchor(w, task);
        if task.strand != TaskInfo::UNKNOWN {
            let claim = || self.claim_passing(below, task.strand.0);
            self.with_socket_locked(self.path(w)[0], env, claim);
        }
    }

    /// Gives a strand's claims back. Returns the highest cluster that has more space now; none
    /// after a strand of unknown size, which has claimed nothing.
    pub(super) fn strand_done(
        &self,
        w: WorkerId,
        task: &TaskInfo,
        env: &mut dyn Env,
    ) -> Option<ClusterId> {
        let below = self.below_anchor(w, task);
        let highest = *below.last().filter(|_| task.strand != TaskInfo::UNKNOWN)?;
        self.with_socket_locked(highest, env, || {
            self.give_back_passing(below.iter().copied(), task.strand.0)
        });
        Some(highest)
    }

    /// Gives a maximal task's claims back: at its anchor, and up to the cluster that it was queued
    /// at. Returns the highest cluster that has more space now.
    pub(super) fn task_ended(&self, task: &TaskInfo, env: &mut dyn Env) -> Option<ClusterId> {
        let up = || std::iter::successors(Some(task.anchor), |c| self.cache(*c).parent);
        let claimed = || up().take_while(|c| u64::from(c.0) != task.mark);
        self.with_socket_locked(task.anchor, env, || {
            self.cache(task.anchor).give_back(task.size.0);
            self.give_back_passing(claimed().skip(1), task.size.0);
        });
        claimed().last()
    }

    /// Panics unless the bounded property holds. It need not hold after [`Self::resume`], which
    /// cannot refuse.
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
            cache.claim(cache.passing_claim(bytes));
        }
    }

    fn give_back_passing(&self, clusters: impl Iterator<Item = ClusterId>, bytes: u64) {
        for cache in clusters.map(|c| self.cache(c)) {
            cache.give_back(cache.passing_claim(bytes));
        }
    }

    /// Runs `f` under the lock of the socket that `cluster` is in. The root is in none; nothing of
    /// it is claimed.
    fn with_socket_locked<R>(
        &self,
        cluster: ClusterId,
        env: &mut dyn Env,
        f: impl FnOnce() -> R,
    ) -> R {
        match self.cache(cluster).socket {
            Some(socket) => self.sockets[socket].with(env, |(), _| f()),
            None => f(),
        }
    }
}
