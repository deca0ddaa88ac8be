//! The counters of one worker, and their counts once they are read.

use std::{
    ops::AddAssign,
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use befit_machine::{ClusterId, Level, Machine, WorkerId};

use super::{
    WorkerTime,
    times::{Clock, Times},
};

/// The highest cache level that steals are told apart by; hwloc knows five.
const MOST_LEVELS: usize = 9;

/// The index of `level` in a list that starts with memory.
fn index_of(level: Option<Level>) -> usize {
    level.map_or(0, |level| usize::from(level.0).min(MOST_LEVELS))
}

/// The counts of one worker since its pool was built.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct WorkerStatistics {
    /// Calls of `join` that were not inlined (see [`join`](crate::join())).
    pub forks: u64,
    /// Halves of forks that were published: given to the scheduler. All others never left their
    /// worker.
    pub published: u64,
    /// Calls of `spawn`, of scopes or detached.
    pub spawned: u64,
    /// Of the halves published and the tasks spawned, those that had a size of their own, declared
    /// or [learned](crate::ThreadPoolBuilder::sizes). All others were taken to be as large as the
    /// tasks that they came from.
    pub sized: u64,
    /// Tasks that the scheduler gave to this worker.
    pub executed: u64,
    /// Of these, tasks that the scheduler anchored at a cache.
    pub anchored: u64,
    /// Tasks taken from the queue of a worker under the same last-level cache.
    pub near_steals: u64,
    /// Tasks taken from the queue of any other worker.
    pub far_steals: u64,
    /// Looks into another worker's queue that found nothing.
    pub failed_steals: u64,
    /// Times that it went to sleep.
    pub sleeps: u64,
    /// Where its time went; in pools that measure it, see
    /// [`ThreadPoolBuilder::timed`](crate::ThreadPoolBuilder::timed).
    pub time: Option<WorkerTime>,
    /// By the level of the smallest common cache, at [`index_of`] it.
    pub(super) steals: [u64; MOST_LEVELS + 1],
}

impl WorkerStatistics {
    /// Tasks taken from the queues of workers with which the smallest common cache is of `level`;
    /// `None`: of those with which it has no cache in common. Over the machine's levels and `None`
    /// they sum to near and far steals.
    pub fn steals_at(&self, level: Option<Level>) -> u64 {
        self.steals[index_of(level)]
    }

    /// The counts that are listed by name.
    pub(super) fn named(&mut self) -> [(&'static str, &mut u64); 8] {
        [
            ("forks", &mut self.forks),
            ("published", &mut self.published),
            ("spawned", &mut self.spawned),
            ("sized", &mut self.sized),
            ("executed", &mut self.executed),
            ("anchored", &mut self.anchored),
            ("failed_steals", &mut self.failed_steals),
            ("sleeps", &mut self.sleeps),
        ]
    }
}

impl AddAssign for WorkerStatistics {
    fn add_assign(&mut self, mut other: Self) {
        for ((_, sum), (_, count)) in self.named().into_iter().zip(other.named()) {
            *sum += *count;
        }
        for (sum, steals) in self.steals.iter_mut().zip(other.steals) {
            *sum += steals;
        }
        self.near_steals += other.near_steals;
        self.far_steals += other.far_steals;
        self.time = match (self.time, other.time) {
            (Some(one), Some(two)) => Some(one + two),
            (one, two) => one.or(two),
        };
    }
}

/// A counter that only its owner writes.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    /// One more. Only on the owner's thread: a load and a store, not a read-modify-write.
    #[inline(always)]
    pub(crate) fn bump(&self) {
        self.add(1);
    }

    /// So many more; as [`Self::bump`].
    #[inline(always)]
    pub(crate) fn add(&self, count: u64) {
        self.set(self.get().wrapping_add(count));
    }

    /// So many less than were counted; as [`Self::bump`].
    pub(crate) fn take_back(&self, count: u64) {
        self.set(self.get().wrapping_sub(count));
    }

    /// Only on the owner's thread.
    #[inline(always)]
    pub(super) fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }

    #[inline(always)]
    pub(super) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// One worker's counters; see [`WorkerStatistics`] for their meaning.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) forks: Counter,
    pub(crate) published: Counter,
    pub(crate) spawned: Counter,
    pub(crate) sized: Counter,
    pub(crate) executed: Counter,
    pub(crate) failed_steals: Counter,
    pub(crate) sleeps: Counter,
    workers: usize,
    /// Steals by victim; there from the first steal on. They are told apart by distance only when
    /// they are read, so counting does not need to know the caches.
    steals: OnceLock<Box<[Counter]>>,
    /// By cluster.
    anchors: Box<[Counter]>,
    pub(crate) times: Times,
}

impl Counters {
    /// Zeros, for one of so many workers, under a scheduler that may anchor tasks at so many
    /// clusters. Its time is measured by `clock`, if there is one.
    pub(crate) fn new(workers: usize, clusters: usize, clock: Option<Clock>) -> Self {
        Self { workers, anchors: zeros(clusters), times: Times::new(clock), ..Self::default() }
    }

    /// A task was taken from the queue of `victim`.
    pub(crate) fn stolen_from(&self, victim: WorkerId) {
        self.steals.get_or_init(|| zeros(self.workers))[victim.index()].bump();
        self.times.stole(victim);
    }

    /// The scheduler gave this worker a task that is anchored at `cluster`.
    pub(crate) fn anchored_at(&self, cluster: ClusterId) {
        self.anchors[cluster.index()].bump();
    }

    /// The counts, but for the time, of `worker` of `machine`.
    pub(super) fn read(&self, machine: &Machine, worker: WorkerId) -> WorkerStatistics {
        let mut counts = WorkerStatistics {
            forks: self.forks.get(),
            published: self.published.get(),
            spawned: self.spawned.get(),
            sized: self.sized.get(),
            executed: self.executed.get(),
            anchored: self.anchors().sum(),
            failed_steals: self.failed_steals.get(),
            sleeps: self.sleeps.get(),
            ..WorkerStatistics::default()
        };
        let last_level = machine.last_level(worker);
        for (victim, steals) in self.steals.get().into_iter().flatten().enumerate() {
            let (victim, steals) = (WorkerId(victim as u32), steals.get());
            // Where there is no cache at all, every victim is far.
            if last_level != ClusterId::ROOT && machine.cluster(last_level).has(victim) {
                counts.near_steals += steals;
            } else {
                counts.far_steals += steals;
            }
            let mut clusters = machine.path(worker).map(|id| machine.cluster(id));
            let common = clusters.find(|cluster| cluster.cache.is_some() && cluster.has(victim));
            let level = common.and_then(|cluster| cluster.cache).map(|cache| cache.level);
            counts.steals[index_of(level)] += steals;
        }
        counts
    }

    /// Tasks anchored at each cluster.
    pub(super) fn anchors(&self) -> impl Iterator<Item = u64> + '_ {
        self.anchors.iter().map(Counter::get)
    }
}

pub(super) fn zeros(count: usize) -> Box<[Counter]> {
    (0..count).map(|_| Counter::default()).collect()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn counts(machine: &str, thief: u32, victims: &[u32]) -> WorkerStatistics {
        let machine: Machine = machine.parse().unwrap();
        let counters = Counters::new(machine.workers().len(), 0, None);
        victims.iter().for_each(|victim| counters.stolen_from(WorkerId(*victim)));
        counters.read(&machine, WorkerId(thief))
    }

    #[test]
    fn a_steal_is_counted_at_the_smallest_cache_that_thief_and_victim_share() {
        let machine = "pack:2 l3:1(size=8MiB) l2:2(size=1MiB) core:2 pu:1";
        let counts = counts(machine, 5, &[4, 6, 7, 0]);
        let levels = [Some(Level(1)), Some(Level(2)), Some(Level(3)), None];
        assert_eq!(levels.map(|level| counts.steals_at(level)), [0, 1, 2, 1]);
        assert_eq!((counts.near_steals, counts.far_steals), (3, 1));
    }

    #[test]
    fn without_caches_everyone_is_far() {
        let counts = counts("pu:2", 0, &[1]);
        assert_eq!((counts.near_steals, counts.far_steals, counts.steals_at(None)), (0, 1, 1));
    }
}
