//! What each strand moved, from what the engine counts of its worker.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

use befit_machine::WorkerId;
use crossbeam_utils::CachePadded;

use crate::{Env, WorkerCounts};

/// What the strands of each worker have done.
///
/// A source is asked once a strand, where it ends: the counts since the last strand's end are this
/// one's, with the few lines that the policy itself touched in between. Only where a worker had
/// nothing to do, or ran a strand that is not counted, is the source asked where the strand begins,
/// too.
///
/// Where several threads of a pool are one worker, a strand's counts may be taken for another's.
#[derive(Debug)]
pub(super) struct Meters(Vec<CachePadded<Meter>>);

#[derive(Debug, Default)]
struct Meter {
    /// The source was asked where the strand that runs began, or the last one ended.
    begun: AtomicBool,
    /// The task of a strand that has ended and is not entered in the table yet (0: none).
    task: AtomicU32,
    /// Its private misses, last-level misses and instructions.
    counts: [AtomicU64; 3],
}

impl Meters {
    pub(super) fn new(workers: usize) -> Self {
        Self((0..workers).map(|_| CachePadded::default()).collect())
    }

    /// A strand begins on `w`.
    pub(super) fn begin(&self, w: WorkerId, env: &mut dyn Env) {
        let begun = &self.0[w.index()].begun;
        if !begun.load(Relaxed) {
            env.counts();
            begun.store(true, Relaxed);
        }
    }

    /// A strand ends on `w`, and nothing of what the worker does counts until the next begins.
    pub(super) fn end(&self, w: WorkerId, env: &mut dyn Env) -> Option<WorkerCounts> {
        env.counts().filter(|_| self.0[w.index()].begun.load(Relaxed))
    }

    /// From now until its next strand begins, `w` works for no task.
    pub(super) fn pause(&self, w: WorkerId) {
        self.0[w.index()].begun.store(false, Relaxed);
    }

    /// Keeps what a strand of `task` did, until the table is looked into in any case. Returns what
    /// was kept before.
    pub(super) fn keep(
        &self,
        w: WorkerId,
        task: u32,
        counts: WorkerCounts,
    ) -> Option<(u32, WorkerCounts)> {
        let before = self.take(w);
        let meter = &self.0[w.index()];
        let counts = [counts.private_misses, counts.llc_misses, counts.instructions];
        meter.counts.iter().zip(counts).for_each(|(kept, count)| kept.store(count, Relaxed));
        meter.task.store(task, Relaxed);
        before
    }

    /// What was kept of `w`, with the task that it belongs to.
    pub(super) fn take(&self, w: WorkerId) -> Option<(u32, WorkerCounts)> {
        let meter = &self.0[w.index()];
        let task = meter.task.load(Relaxed);
        if task == 0 {
            return None;
        }
        meter.task.store(0, Relaxed);
        let [private_misses, llc_misses, instructions] =
            meter.counts.each_ref().map(|kept| kept.load(Relaxed));
        Some((task, WorkerCounts { private_misses, llc_misses, instructions }))
    }
}
