//! Which worker stands under which last-level cache, and which of the workers take part.

use std::{
    ops::Range,
    sync::atomic::{AtomicBool, Ordering},
};

use befit_machine::{Bytes, ClusterId, Machine, WorkerId};

use crate::TaskInfo;

/// The largest cache that belongs to a single core, whose hardware threads share it; of cores that
/// differ, the smallest such. 0 if no core has one.
pub(in crate::policy) fn private_cache(machine: &Machine) -> Bytes {
    let core = |w: u32| machine.workers()[w as usize].core;
    let largest = |w: u32| {
        let above = machine.path(WorkerId(w)).map(|id| machine.cluster(id));
        let own = above.filter(|it| it.workers.clone().all(|other| core(other) == core(w)));
        own.filter_map(|it| it.cache).map(|it| it.size).max()
    };
    (0..machine.workers().len() as u32).filter_map(largest).min().unwrap_or_default()
}

/// The sockets of a machine.
#[derive(Debug)]
pub(in crate::policy) struct Sockets {
    clusters: Vec<ClusterId>,
    workers: Vec<Range<u32>>,
    /// Per worker.
    of: Vec<u32>,
    /// Per worker: whether it has ever looked for work. A pool may have fewer threads than its
    /// machine has workers, and waits for none that are not there.
    seen: Vec<AtomicBool>,
    /// Bytes of the smallest of the last-level caches.
    pub(in crate::policy) cache: u64,
}

impl Sockets {
    pub(in crate::policy) fn new(machine: &Machine) -> Self {
        let count = machine.workers().len() as u32;
        let of_worker: Vec<_> = (0..count).map(|w| machine.last_level(WorkerId(w))).collect();
        let mut clusters = of_worker.clone();
        clusters.dedup();
        let of = of_worker
            .iter()
            .map(|c| clusters.iter().position(|d| c == d).unwrap_or(0) as u32)
            .collect();
        Self {
            workers: clusters.iter().map(|c| machine.cluster(*c).workers.clone()).collect(),
            cache: clusters.iter().map(|c| machine.cluster(*c).size().0).min().unwrap_or(u64::MAX),
            clusters,
            of,
            seen: (0..count).map(|_| AtomicBool::new(false)).collect(),
        }
    }

    /// Whether each worker stands under a cache. One that does not counts as of a socket of its
    /// own, whose cluster is memory, with all workers.
    pub(in crate::policy) fn have_caches(&self) -> bool {
        !self.clusters.contains(&ClusterId::ROOT)
    }

    /// Whether there are tiers to make: several last-level caches, and one at least that is shared.
    pub(in crate::policy) fn have_tiers(&self) -> bool {
        self.have_caches()
            && self.clusters.len() > 1
            && self.workers.iter().any(|workers| workers.len() > 1)
    }

    pub(in crate::policy) fn count(&self) -> usize {
        self.clusters.len()
    }

    pub(in crate::policy) fn of(&self, w: WorkerId) -> usize {
        self.of[w.index()] as usize
    }

    pub(in crate::policy) fn cluster(&self, socket: usize) -> ClusterId {
        self.clusters[socket]
    }

    /// The socket that `task` is bound to, else that of `w`.
    pub(in crate::policy) fn of_task(&self, task: &TaskInfo, w: WorkerId) -> usize {
        let bound = self.clusters.iter().position(|cluster| *cluster == task.anchor);
        bound.unwrap_or(self.of(w))
    }

    pub(in crate::policy) fn workers(&self, socket: usize) -> Range<u32> {
        self.workers[socket].clone()
    }

    /// `w` looks for work.
    pub(in crate::policy) fn see(&self, w: WorkerId) {
        let seen = &self.seen[w.index()];
        if !seen.load(Ordering::Relaxed) {
            seen.store(true, Ordering::Relaxed);
        }
    }

    /// The socket's head core: the first of its workers that has ever looked for work, if any.
    pub(in crate::policy) fn head(&self, socket: usize) -> Option<WorkerId> {
        let mut workers = self.workers(socket).map(WorkerId);
        workers.find(|w| self.seen[w.index()].load(Ordering::Relaxed))
    }
}
