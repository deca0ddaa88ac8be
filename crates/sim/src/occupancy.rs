//! How full the caches are of what the policy lets in, over time.

use befit_machine::{Bytes, ClusterId, Machine, WorkerId};
use befit_sched::{Handle, Scheduler};

use crate::{Claimed, Occupancy, clock::Ticks};

/// Follows the claims on each cache.
#[derive(Debug)]
pub(crate) struct Claims {
    /// Per cluster. Empty where the policy claims nothing.
    clusters: Vec<Claim>,
    /// Per worker: the caches above it, whose claims its calls of the policy change.
    paths: Vec<Vec<ClusterId>>,
    /// The outermost caches, and each change of the claims on them, where that was asked for.
    traced: (Vec<ClusterId>, Vec<Claimed>),
}

#[derive(Clone, Copy, Debug, Default)]
struct Claim {
    now: u64,
    since: Ticks,
    max: u64,
    /// Bytes times ticks.
    sum: u128,
}

impl Claims {
    pub(crate) fn new<T: Handle>(machine: &Machine, policy: &dyn Scheduler<T>) -> Self {
        let claims = policy.occupancy(ClusterId::ROOT).is_some();
        let count = if claims { machine.clusters().len() } else { 0 };
        let workers = if claims { machine.workers().len() as u32 } else { 0 };
        let path = |w: u32| machine.path(WorkerId(w)).filter(|c| *c != ClusterId::ROOT).collect();
        let paths = (0..workers).map(path).collect();
        Self { clusters: vec![Claim::default(); count], paths, traced: Default::default() }
    }

    /// Notes what worker `w`'s call of the policy, which ended at `now`, has changed. Calls come
    /// nearly in the order of time.
    pub(crate) fn note<T: Handle>(&mut self, w: WorkerId, now: Ticks, policy: &dyn Scheduler<T>) {
        let Some(path) = self.paths.get(w.index()) else { return };
        for cluster in path {
            let claim = &mut self.clusters[cluster.index()];
            let occupied = policy.occupancy(*cluster).unwrap_or_default().0;
            if occupied != claim.now {
                claim.until(now);
                claim.now = occupied;
                claim.max = claim.max.max(occupied);
                if self.traced.0.contains(cluster) {
                    let (cluster, bytes) = (*cluster, Bytes(occupied));
                    self.traced.1.push(Claimed { cluster, at: now.whole(), bytes });
                }
            }
        }
    }

    /// Writes down each change of the claims on the outermost caches.
    pub(crate) fn trace(&mut self, machine: &Machine) {
        self.traced.0 = machine.cluster(ClusterId::ROOT).children.clone();
    }

    /// What was written down.
    pub(crate) fn changes(&mut self) -> Vec<Claimed> {
        std::mem::take(&mut self.traced.1)
    }

    /// The largest and the mean from the start to `end`.
    pub(crate) fn finish(mut self, end: Ticks) -> Vec<Occupancy> {
        let of = |claim: &mut Claim| {
            claim.until(end);
            let mean = claim.sum.checked_div(u128::from(end.0)).unwrap_or(0);
            Occupancy { max: Bytes(claim.max), mean: Bytes(mean as u64) }
        };
        self.clusters.iter_mut().map(of).collect()
    }
}

impl Claim {
    fn until(&mut self, now: Ticks) {
        self.sum += u128::from(self.now) * u128::from(now.since(self.since).0);
        self.since = self.since.max(now);
    }
}
