//! What a simulated run looked like: who ran what when.

use befit_machine::{Bytes, ClusterId, Cycles, Lines, WorkerId};
use befit_program::TaskId;

use crate::clock::Ticks;

/// One simulated run. It takes memory linear in the tasks that the policy gave out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trace {
    /// What workers ran when, in the order in which they stopped.
    pub stays: Vec<Stay>,
    /// Tasks taken from other workers' queues.
    pub steals: Vec<Steal>,
    /// How much of the outermost caches the policy had given out, at each change.
    pub claims: Vec<Claimed>,
    /// Per cluster (by `ClusterId`): the misses of its cache; of memory, the lines read from it.
    pub misses: Vec<Lines>,
}

/// The time from when a worker took something from the policy to when it had nothing left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stay {
    /// The worker.
    pub worker: WorkerId,
    /// When it began.
    pub begin: Cycles,
    /// When it stopped.
    pub end: Cycles,
    /// The task that it took.
    pub task: TaskId,
    /// The cluster that the task is bound to, or at home in.
    pub anchor: ClusterId,
}

/// A task taken from another worker's queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Steal {
    /// The worker that took it.
    pub thief: WorkerId,
    /// The worker whose queue it was in.
    pub victim: WorkerId,
    /// When.
    pub at: Cycles,
}

/// What a policy has given out of a cache from a time on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Claimed {
    /// The cache's cluster.
    pub cluster: ClusterId,
    /// From when on.
    pub at: Cycles,
    /// How much.
    pub bytes: Bytes,
}

/// A trace under way.
#[derive(Debug)]
pub(crate) struct Tracing {
    trace: Trace,
    /// Per worker: what it runs, since when.
    now: Vec<Option<(Ticks, TaskId, ClusterId)>>,
}

impl Tracing {
    pub(crate) fn new(workers: usize) -> Self {
        Self { trace: Trace::default(), now: vec![None; workers] }
    }

    pub(crate) fn begins(&mut self, w: WorkerId, at: Ticks, task: TaskId, anchor: ClusterId) {
        self.ends(w, at);
        self.now[w.index()] = Some((at, task, anchor));
    }

    pub(crate) fn ends(&mut self, worker: WorkerId, at: Ticks) {
        if let Some((begin, task, anchor)) = self.now[worker.index()].take() {
            let (begin, end) = (begin.whole(), at.whole());
            self.trace.stays.push(Stay { worker, begin, end, task, anchor });
        }
    }

    /// Whatever still runs ends at `end`.
    pub(crate) fn finish(
        mut self,
        end: Ticks,
        steals: Vec<Steal>,
        claims: Vec<Claimed>,
        misses: Vec<Lines>,
    ) -> Trace {
        (0..self.now.len() as u32).for_each(|w| self.ends(WorkerId(w), end));
        Trace { steals, claims, misses, ..self.trace }
    }
}
