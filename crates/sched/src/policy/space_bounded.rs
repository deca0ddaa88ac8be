//! `sb` and `sb-d`: space-bounded scheduling.
//!
//! Simhadri, Blelloch, Fineman, Gibbons & Kyrola, *Experimental analysis of space-bounded
//! schedulers* (SPAA 2014 / TOPC 2016), section 4. A task *befits* the smallest cache M with S ≤
//! σM. One that befits a smaller cache than its parent does is *maximal*: it is *anchored* at a
//! cluster of that cache, and all of it runs on that cluster's workers. Two things hold always:
//!
//! - *anchored*: a maximal task runs under one cache that it befits;
//! - *bounded*: at every cache, the sizes of the tasks anchored there and min(μM, strand size) of
//!   each live strand that passes through it (is anchored above and runs below) sum to at most M.
//!
//! Each cluster has a queue of what its anchored tasks forked, in *buckets*. Bucket 0 takes what
//! stays anchored here; bucket k ≥ 1 takes tasks that befit caches k levels further down. A worker
//! that looks for work climbs from its leaf to the root, and at each cluster tries the buckets in
//! order.
//!
//! `sb-d` splits each cluster's bucket 0, the largest tasks' and the most contended, into a queue
//! per child cluster: a worker takes the newest of its own child cluster's, else the oldest of a
//! random sibling's.
//!
//! # Readings, where the source leaves a choice
//! - Simhadri et al. lock a cluster at a time, from leaf to root, and hold each lock for what it
//!   claims. Here the claims of all caches under one child of the root (a socket) are behind one
//!   lock (`ledger.rs`). A path is checked and claimed at once, so no claim is ever rolled back,
//!   and a refused worker was refused for a reason that a later `done` will lift.
//! - A bucket is a stack. A worker tries its newest entry, and leaves it where it does not fit.
//!   Then it tries the next few: another worker may take the first, and nobody would be told that
//!   one behind it fits.
//! - A strand claims space in the caches strictly below its anchor. A maximal task that skips
//!   levels (anchored at an L1 out of an L3's bucket) also claims min(μM, S) in each cache between,
//!   until it ends, since its data passes through.
//! - A continuation belongs to its task: bucket 0 of the task's anchor, never anchored anew.
//! - A task of undeclared size has its parent's (see [`TaskInfo`]), so it stays at its parent's
//!   anchor.
//! - Strands of which no size is known at all claim nothing as they pass through a cache. If each
//!   claimed μM, 1/μ of them at most would run under one cache, and further workers would stay idle
//!   for the sake of a size that was never declared.
//! - Tasks may wait for one another otherwise than by forks. Where nothing happens for half a
//!   second, an idle worker begins a task though it does not fit, as if its size were not known
//!   ([`Ask::still_for`]). Both properties then hold of the other tasks. It is as long as that
//!   because strands that take long, or that the system lets wait, look the same.
//! - Of strands of which no size is known at all, a worker takes its own newest, else the oldest of
//!   all, as in work stealing. From one shared stack it would take another worker's newest, which
//!   is the smallest part of that worker's work. Then a search that ends at the first find might
//!   never get to the second half.

use std::{
    collections::VecDeque,
    fmt::Debug,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    time::Duration,
};

use befit_machine::{Bytes, ClusterId, Machine, WorkerId};

use super::{
    ledger::Ledger,
    queue::{Accepts, others},
};
use crate::{
    Ask, Capabilities, Env, Finds, Guarded, Handle, LockId, Options, Ready, Scheduler, Stage,
    Strand, TaskInfo, Thresholds,
};

/// So long nothing must happen before a task begins though there is no room for it.
const STILL: Duration = Duration::from_millis(500);

/// So many entries of a bucket a worker tries at most, where the first ones do not fit.
const TRIED: usize = 8;

/// A bucket, or a part of one; the newest is at the back.
type Stack<T> = VecDeque<Ready<T>>;

/// The space-bounded scheduler, central or distributed.
#[derive(Debug)]
pub(crate) struct SpaceBounded<T> {
    name: &'static str,
    ledger: Ledger,
    queues: Vec<ClusterQueue<T>>,
    /// Whether any task has had a size. Until then nothing is placed, and `get` can find any job
    /// that an ask accepts.
    sized: AtomicBool,
}

/// The buckets of one cluster.
#[derive(Debug)]
struct ClusterQueue<T> {
    /// Entries in all buckets: a hint, written under the lock. Workers pass an empty queue
    /// without taking its lock.
    len: AtomicUsize,
    buckets: Guarded<Buckets<T>>,
    /// Which part of bucket 0 is a worker's own: that of its child cluster. By worker, from
    /// `first_worker` on.
    own_part: Vec<usize>,
    first_worker: u32,
    /// The largest size that bucket k takes, k = 1, 2, …: σM of the largest cache k levels further
    /// down.
    bounds: Thresholds,
}

#[derive(Debug)]
struct Buckets<T> {
    /// Bucket 0, tasks that stay anchored here: one stack, or one for each child cluster.
    here: Vec<Stack<T>>,
    /// The tasks of bucket 0 whose size is unknown.
    unknown: Unknown<T>,
    /// Bucket k at index k − 1.
    deeper: Vec<Stack<T>>,
}

impl<T: Handle> SpaceBounded<T> {
    /// `sb`, with one stack for each bucket; or `sb-d`, with each cluster's bucket 0 split by child
    /// cluster.
    pub(crate) fn new(split: bool, machine: &Machine, options: Options) -> Self {
        let name = if split { "sb-d" } else { "sb" };
        let queue = |id| ClusterQueue::new(machine, ClusterId(id), options, split);
        let queues: Vec<_> = (0..machine.clusters().len() as u32).map(queue).collect();
        let ledger = Ledger::new(machine, options, LockId(queues.len() as u32));
        Self { name, ledger, queues, sized: AtomicBool::new(false) }
    }

    /// Climbs from the worker's leaf to `ask.within`. A cluster with occupancy above (1−μ)M ends
    /// the walk: nothing anchored above it may pass.
    fn climb(&self, w: WorkerId, ask: &Ask<'_, T>, env: &mut dyn Env) -> Option<Ready<T>> {
        for (step, &cluster) in self.ledger.path(w).iter().enumerate() {
            let admit = |ready: &Ready<T>, env: &mut dyn Env| {
                self.ledger.admit(w, step, &ready.task, ready.stage, env)
            };
            let look = Look { w, accepts: ask.accepts, admit };
            let found = self.queues[cluster.index()].take(look, env);
            if found.is_some() {
                return found;
            }
            if cluster == ask.within || !self.ledger.passable(cluster) {
                return None;
            }
        }
        None
    }

    /// A task that has not begun, from anywhere, as if its size were not known: it is anchored
    /// nowhere and claims nothing.
    fn take_stalled(&self, w: WorkerId, env: &mut dyn Env) -> Option<Ready<T>> {
        let admit = |ready: &Ready<T>, _: &mut dyn Env| {
            let mut task = ready.task;
            task.anchor = ClusterId::ROOT;
            (task.size, task.strand) = (TaskInfo::UNKNOWN, TaskInfo::UNKNOWN);
            (ready.stage == Stage::Start).then_some(task)
        };
        let take = |queue: &ClusterQueue<T>| queue.take(Look { w, accepts: None, admit }, env);
        self.queues.iter().find_map(take)
    }
}

impl<T: Handle> Scheduler<T> for SpaceBounded<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn add(&self, w: WorkerId, ready: Ready<T>, env: &mut dyn Env) -> ClusterId {
        let anchor = ready.task.anchor;
        if ready.task.size != TaskInfo::UNKNOWN && !self.sized.load(Ordering::Relaxed) {
            self.sized.store(true, Ordering::Relaxed);
        }
        self.queues[anchor.index()].put(w, ready, env);
        anchor
    }

    fn capabilities(&self) -> Capabilities {
        // Once a task has a size, a worker that may run only what it waits for could wait for space
        // that no task gives back.
        let sized = self.sized.load(Ordering::Relaxed);
        Capabilities {
            finds: if sized { Finds::IfThereIsRoom } else { Finds::Everything },
            places_by_size: true,
            may_refuse: true,
            ..Capabilities::default()
        }
    }

    fn get(&self, w: WorkerId, ask: Ask<'_, T>, env: &mut dyn Env) -> Option<Ready<T>> {
        let found = self.climb(w, &ask, env);
        let may_have_any =
            ask.still_for >= STILL && ask.accepts.is_none() && ask.within == ClusterId::ROOT;
        if found.is_some() || !may_have_any { found } else { self.take_stalled(w, env) }
    }

    fn has_own(&self, w: WorkerId) -> bool {
        let has_entries =
            |cluster: &ClusterId| self.queues[cluster.index()].len.load(Ordering::SeqCst) > 0;
        self.ledger.path(w).iter().any(has_entries)
    }

    fn resume(&self, w: WorkerId, task: &TaskInfo, env: &mut dyn Env) {
        self.ledger.resume(w, task, env);
    }

    fn done(&self, w: WorkerId, strand: &Strand, env: &mut dyn Env) -> Option<ClusterId> {
        self.ledger.strand_done(w, &strand.task, env)
    }

    fn task_ended(&self, _: WorkerId, task: &TaskInfo, env: &mut dyn Env) -> Option<ClusterId> {
        if task.maximal { self.ledger.task_ended(task, env) } else { None }
    }

    fn occupancy(&self, cluster: ClusterId) -> Option<Bytes> {
        Some(self.ledger.occupied(cluster))
    }

    fn check(&self) {
        self.ledger.check();
    }
}

impl<T: Handle> ClusterQueue<T> {
    fn new(machine: &Machine, id: ClusterId, options: Options, split: bool) -> Self {
        let cluster = machine.cluster(id);
        let parts = if split { cluster.children.len().max(1) } else { 1 };
        let part_of = |w: u32| {
            let child = cluster.children.iter().position(|c| machine.cluster(*c).has(WorkerId(w)));
            child.unwrap_or(0).min(parts - 1)
        };
        let below = largest_below(machine, id);
        let buckets = Buckets {
            here: (0..parts).map(|_| Stack::new()).collect(),
            unknown: Unknown::new(cluster.workers.len()),
            deeper: below.iter().map(|_| Stack::new()).collect(),
        };
        Self {
            len: AtomicUsize::new(0),
            buckets: Guarded::new(LockId(id.0), buckets),
            own_part: cluster.workers.clone().map(part_of).collect(),
            first_worker: cluster.workers.start,
            bounds: Thresholds::new(below, options.sigma),
        }
    }

    fn put(&self, w: WorkerId, ready: Ready<T>, env: &mut dyn Env) {
        let bucket = match ready.stage {
            Stage::Continuation => 0,
            Stage::Start => self.bounds.befit_by(ready.task.size),
        };
        self.buckets.with(env, |buckets, _| {
            match bucket {
                _ if ready.task.size == TaskInfo::UNKNOWN => {
                    buckets.unknown.push(self.index_of(w), ready);
                }
                0 => buckets.here[self.own_part(w)].push_back(ready),
                k => buckets.deeper[k - 1].push_back(ready),
            }
            self.len.fetch_add(1, Ordering::SeqCst);
        });
    }

    /// Takes the first entry, bucket by bucket, that is accepted and admitted: bucket 0, of known
    /// size and then unknown, and the deeper ones.
    fn take(&self, look: Look<'_, T, impl Admit<T>>, env: &mut dyn Env) -> Option<Ready<T>> {
        if self.len.load(Ordering::SeqCst) == 0 {
            return None;
        }
        self.buckets.with(env, |buckets, env| {
            let here = match look.accepts {
                None => self.take_here(&look, &mut buckets.here, env),
                Some(_) => look.take_first(&mut buckets.here, env),
            };
            let found = here
                .or_else(|| look.take_unknown(&mut buckets.unknown, self.index_of(look.w), env))
                .or_else(|| look.take_first(&mut buckets.deeper, env))?;
            self.len.fetch_sub(1, Ordering::SeqCst);
            Some(found)
        })
    }

    /// Bucket 0: the newest of the worker's own part, else the oldest of another, from a random one
    /// on.
    fn take_here(
        &self,
        look: &Look<'_, T, impl Admit<T>>,
        here: &mut [Stack<T>],
        env: &mut dyn Env,
    ) -> Option<Ready<T>> {
        let own = self.own_part(look.w);
        let found = look.take_one(&mut here[own], env);
        if found.is_some() || here.len() == 1 || here.iter().all(Stack::is_empty) {
            return found;
        }
        others(0..here.len(), own, env).find_map(|part| look.take_in(&mut here[part], true, env))
    }

    fn own_part(&self, w: WorkerId) -> usize {
        // A task can be made ready by a worker from elsewhere: the last child of a sync may end
        // under another cluster only if it was anchored higher, so this is rare; part 0 is as good
        // as any.
        self.own_part.get(w.0.wrapping_sub(self.first_worker) as usize).copied().unwrap_or(0)
    }

    /// Which of the cluster's workers it is; the first, if it is none of them.
    fn index_of(&self, w: WorkerId) -> usize {
        let index = w.0.wrapping_sub(self.first_worker) as usize;
        if index < self.own_part.len() { index } else { 0 }
    }
}

/// Tasks of unknown size, by the worker that put them there.
#[derive(Debug)]
struct Unknown<T> {
    /// Each with its number in the order of their coming; the newest at the back.
    by_worker: Vec<VecDeque<(u64, Ready<T>)>>,
    /// The number of the next.
    next: u64,
}

impl<T: Handle> Unknown<T> {
    fn new(workers: usize) -> Self {
        Self { by_worker: (0..workers.max(1)).map(|_| VecDeque::new()).collect(), next: 0 }
    }

    fn push(&mut self, worker: usize, ready: Ready<T>) {
        self.by_worker[worker].push_back((self.next, ready));
        self.next += 1;
    }

    /// Where the worker's own newest lies of those that are accepted, else the oldest of all.
    /// Time: O(1), else O(workers) where anything is accepted.
    fn find(&self, worker: usize, accepts: Accepts<'_, T>) -> Option<(usize, usize)> {
        let accepted = |(_, ready): &(u64, Ready<T>)| accepts.is_none_or(|f| f(&ready.job));
        if let Some(at) = self.by_worker[worker].iter().rposition(accepted) {
            return Some((worker, at));
        }
        let oldest = |(by, queue): (usize, &VecDeque<(u64, Ready<T>)>)| {
            let at = queue.iter().position(accepted)?;
            Some((queue[at].0, by, at))
        };
        let (_, by, at) = self.by_worker.iter().enumerate().filter_map(oldest).min()?;
        Some((by, at))
    }
}

/// Admits an entry, or refuses it (`None`). The returned task carries the policy's notes.
trait Admit<T>: Fn(&Ready<T>, &mut dyn Env) -> Option<TaskInfo> {}

impl<T, F: Fn(&Ready<T>, &mut dyn Env) -> Option<TaskInfo>> Admit<T> for F {}

/// A worker that looks for work, and what it may take.
struct Look<'a, T, A> {
    w: WorkerId,
    accepts: Accepts<'a, T>,
    admit: A,
}

impl<T: Handle, A: Admit<T>> Look<'_, T, A> {
    /// Takes, of the accepted tasks of unknown size, the newest that the worker put there, else the
    /// oldest.
    fn take_unknown(
        &self,
        unknown: &mut Unknown<T>,
        worker: usize,
        env: &mut dyn Env,
    ) -> Option<Ready<T>> {
        let (by, at) = unknown.find(worker, self.accepts)?;
        let task = (self.admit)(&unknown.by_worker[by].get(at)?.1, env)?;
        let (_, ready) = unknown.by_worker[by].remove(at)?;
        Some(Ready { task, ..ready })
    }

    /// Takes from the first stack of which an entry is admitted.
    fn take_first(&self, stacks: &mut [Stack<T>], env: &mut dyn Env) -> Option<Ready<T>> {
        stacks.iter_mut().find_map(|stack| self.take_one(stack, env))
    }

    /// Takes the newest entry. For an ask that accepts only some, takes the oldest of them. Another
    /// worker has put it there, so the oldest is the largest.
    fn take_one(&self, stack: &mut Stack<T>, env: &mut dyn Env) -> Option<Ready<T>> {
        self.take_in(stack, self.accepts.is_some(), env)
    }

    /// Takes the first accepted entry, from the old end or from the new one on; or, where that does
    /// not fit, one of the next few.
    fn take_in(&self, stack: &mut Stack<T>, from_old: bool, env: &mut dyn Env) -> Option<Ready<T>> {
        let len = stack.len();
        let places = (0..len).map(|i| if from_old { i } else { len - 1 - i });
        let accepted = |ready: &Ready<T>| self.accepts.is_none_or(|accepts| accepts(&ready.job));
        let mut tried = places.filter(|at| accepted(&stack[*at])).take(TRIED);
        let mut refused = None;
        let (at, task) = tried.find_map(|at| {
            let ready = &stack[at];
            // What is as large as the last one does not fit either.
            let claims = Some((ready.task.size, ready.task.strand, ready.stage));
            if std::mem::replace(&mut refused, claims) == claims {
                return None;
            }
            Some((at, (self.admit)(ready, env)?))
        })?;
        let ready = stack.remove(at)?;
        Some(Ready { task, ..ready })
    }
}

/// The size of the largest cache 1, 2, … levels below cluster `id`.
fn largest_below(machine: &Machine, id: ClusterId) -> Vec<Bytes> {
    let mut sizes = Vec::new();
    let mut row = machine.cluster(id).children.clone();
    while !row.is_empty() {
        sizes.extend(row.iter().map(|c| machine.cluster(*c).size()).max());
        row = row.iter().flat_map(|c| machine.cluster(*c).children.iter().copied()).collect();
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::QuietEnv;

    #[test]
    fn regression_a_siblings_oldest_is_taken_without_moving_the_others() {
        // Each moved all that was younger: hours for a million.
        let machine = "pack:2 l3:1(size=1048576) core:2 l2:1(size=65536) pu:1".parse().unwrap();
        let sb_d = SpaceBounded::new(true, &machine, Options::default());
        let mut env = QuietEnv(fastrand::Rng::with_seed(7));
        for job in 0..1000 {
            let task = TaskInfo::root(Some(Bytes::mib(64)), None);
            sb_d.add(WorkerId(0), Ready { job, task, stage: Stage::Start }, &mut env);
        }
        let newest = |env: &mut QuietEnv| {
            let place = |buckets: &mut Buckets<u32>, _: &mut dyn Env| {
                buckets.here[0].iter().last().map(std::ptr::from_ref)
            };
            sb_d.queues[0].buckets.with(env, place)
        };
        let place = newest(&mut env);
        let oldest = sb_d.get(WorkerId(2), Ask::ANYTHING, &mut env);
        assert_eq!(oldest.map(|ready| ready.job), Some(0));
        assert_eq!(newest(&mut env), place);
    }
}
