//! `pdf`: parallel depth-first. Of all that is ready, workers take what comes first in the serial
//! order.
//!
//! G. E. Blelloch and P. B. Gibbons, *Effectively sharing a cache among threads* (SPAA 2004): on P
//! workers under one cache of size C + PD (D the span), a schedule in this order misses no more
//! than one worker does with a cache of size C, because all workers are near each other in serial
//! order. S. Chen et al., *Scheduling threads for constructive cache sharing on CMPs* (SPAA 2007),
//! measure it against work stealing. It is made for workers that share a cache; where they do not,
//! neighbours in serial order are spread over all caches.
//!
//! The order is that of *places*. A task's place is its parent's with its own number among the
//! siblings appended; places compare like words in a dictionary, but a word comes after those that
//! begin with it: what a task does after its forks comes after all that they do.
//!
//! Deviations: a worker goes on with the first child after a fork, without asking, though another's
//! task may come before it (the schedule is not preemptive). Levels whose forks an engine kept
//! private are taken for first children: a worker takes these first, so the forks that one worker
//! has pending are in the right order.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, HashMap},
    fmt::Debug,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use befit_machine::{ClusterId, WorkerId};

use crate::{
    Ask, Capabilities, Env, Finds, Guarded, Handle, LockId, Ready, Scheduler, Stage, TaskInfo,
};

/// A place in serial order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Place(Box<[u32]>);

impl Ord for Place {
    fn cmp(&self, other: &Self) -> Ordering {
        let differs = self.0.iter().zip(&other.0).find(|(own, others)| own != others);
        differs.map_or(other.0.len().cmp(&self.0.len()), |(own, others)| own.cmp(others))
    }
}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Place {
    /// The place of a task that forks stand between this one and.
    fn below(&self, task: &TaskInfo) -> Self {
        let own = self.0.iter().copied();
        let skipped = (task.depth as usize).saturating_sub(self.0.len() + 1);
        let number = (task.depth > 0).then_some(task.index);
        Self(own.chain(std::iter::repeat_n(0, skipped)).chain(number).collect())
    }
}

/// What is ready, by place, and the places of tasks that have not ended.
#[derive(Debug)]
struct State<T> {
    /// By place, and by number where several have the same: programs that began at once.
    ready: BTreeMap<(Place, u64), Ready<T>>,
    /// By [`TaskInfo::mark`].
    places: HashMap<u64, Place>,
    /// The last mark.
    last: u64,
}

/// One queue in serial order. `add` and `get` take O(d log n) for n ready tasks of depth d.
#[derive(Debug)]
pub(crate) struct DepthFirst<T> {
    state: Guarded<State<T>>,
    /// A hint, written under the lock: how many are ready.
    len: AtomicUsize,
}

impl<T: Handle> DepthFirst<T> {
    pub(crate) fn new() -> Self {
        let state = State { ready: BTreeMap::new(), places: HashMap::new(), last: 0 };
        Self { state: Guarded::new(LockId(0), state), len: AtomicUsize::new(0) }
    }
}

impl<T: Handle> Scheduler<T> for DepthFirst<T> {
    fn name(&self) -> &'static str {
        "pdf"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { finds: Finds::Everything, ..Capabilities::default() }
    }

    fn add(&self, _: WorkerId, mut ready: Ready<T>, env: &mut dyn Env) -> ClusterId {
        self.state.with(env, |state, _| {
            state.last += 1;
            let known = state.places.get(&ready.task.mark);
            let place = match ready.stage {
                Stage::Start => {
                    let place = known.unwrap_or(&Place::default()).below(&ready.task);
                    ready.task.mark = state.last;
                    state.places.insert(state.last, place.clone());
                    place
                }
                Stage::Continuation => known.cloned().unwrap_or_default(),
            };
            state.ready.insert((place, state.last), ready);
            self.len.store(state.ready.len(), Relaxed);
        });
        ClusterId::ROOT
    }

    fn get(&self, _: WorkerId, ask: Ask<'_, T>, env: &mut dyn Env) -> Option<Ready<T>> {
        self.state.with(env, |state, _| {
            let found = match ask.accepts {
                None => state.ready.pop_first().map(|(_, ready)| ready),
                Some(accepts) => {
                    let mut ready = state.ready.iter();
                    let found = ready.find(|(_, ready)| accepts(&ready.job));
                    let key = found.map(|(key, _)| key.clone())?;
                    state.ready.remove(&key)
                }
            };
            self.len.store(state.ready.len(), Relaxed);
            found
        })
    }

    fn has_own(&self, _: WorkerId) -> bool {
        self.len.load(Relaxed) > 0
    }

    fn task_ended(&self, _: WorkerId, task: &TaskInfo, env: &mut dyn Env) -> Option<ClusterId> {
        self.state.with(env, |state, _| state.places.remove(&task.mark));
        None
    }
}
