//! Forks that declare their sizes.

use std::panic::resume_unwind;

use befit_sched::{ForkOrder, TaskInfo};

use super::{Frame, PendingFork, join_open};
use crate::{
    engine::{NoUnwind, sizes_of},
    fit::{Fit, Work},
    latch::Latch,
    pool::{Worker, current_or_global},
};

/// [`super::join_at_length`] of two halves that declare their sizes. In pieces, each of which fits
/// into a register: whole, both would be put together in memory before it is known whether a fork
/// is needed, also where it is not.
#[inline(never)]
pub(super) fn join_at_length<A, B, X, Y>(
    size_a: Option<usize>,
    strand_a: Option<usize>,
    a: A,
    size_b: Option<usize>,
    strand_b: Option<usize>,
    b: B,
) -> (X, Y)
where
    A: FnOnce() -> X + Send,
    B: FnOnce() -> Y + Send,
    X: Send,
    Y: Send,
{
    let a = Fit { work: a, size: size_a, strand: strand_a };
    let b = Fit { work: b, size: size_b, strand: strand_b };
    current_or_global(|worker| join(worker, a, b))
}

/// [`crate::join`] where at least one half declares its size, or the policy wants to see every
/// fork.
pub(super) fn join<A, B>(worker: &Worker, a: A, b: B) -> (A::Output, B::Output)
where
    A: Work + Send,
    B: Work + Send,
    A::Output: Send,
    B::Output: Send,
{
    let parent = worker.task();
    let (task_a, task_b) = (child(parent, 0, &a), child(parent, 1, &b));
    if worker.shows_forks() || worker.places(parent, &task_a) || worker.places(parent, &task_b) {
        return join_placed(worker, parent, (a, task_a), (b, task_b));
    }
    let may_be_plain = worker.may_be_plain(task_a.size.0.max(task_b.size.0));
    join_open(worker, a, b, may_be_plain)
}

/// The policy must place at least one half, or wants to see both: both go through it, and this
/// worker runs what the policy gives it until both are done.
#[cold]
#[inline(never)]
fn join_placed<A, B>(
    worker: &Worker,
    parent: &TaskInfo,
    (a, task_a): (A, TaskInfo),
    (b, task_b): (B, TaskInfo),
) -> (A::Output, B::Output)
where
    A: Work + Send,
    B: Work + Send,
    A::Output: Send,
    B::Output: Send,
{
    let depth = worker.inlined_regions().depth();
    let (a, b) = (Frame::new(a, depth), Frame::new(b, depth));
    // Two frames on this stack become known to others, so it must not be unwound before both are
    // done.
    let no_unwind = NoUnwind;
    let (requests, lineage) = (worker.requests(), worker.lineage());
    // SAFETY: the frame is live until the wait below has seen its latch set, as are parker, asks
    // and place, which are the worker's; work and output are `Send`; it is handed out here only.
    let job_a = unsafe {
        PendingFork::publish(a.as_pending(), Latch::new(worker.parker()), requests, lineage)
    };
    // SAFETY: as above.
    let job_b = unsafe {
        PendingFork::publish(b.as_pending(), Latch::new(worker.parker()), requests, lineage)
    };
    // A worker's queue gives back what came last.
    let jobs = match worker.fork_order(parent) {
        ForkOrder::ChildFirst => [(job_b, task_b), (job_a, task_a)],
        ForkOrder::ParentFirst => [(job_a, task_a), (job_b, task_b)],
    };
    // SAFETY: handed out above.
    let latch_a = unsafe { a.latch() };
    // SAFETY: as above.
    let latch_b = unsafe { b.latch() };
    worker.counters().forks.bump();
    worker.count_handed_out(2);
    worker.give_and_wait(&jobs, [(latch_a, a.as_ancestor()), (latch_b, b.as_ancestor())]);
    no_unwind.over();
    // SAFETY: the wait saw its latch set; taken here only.
    let a = unsafe { a.take_result() };
    // SAFETY: as above.
    let b = unsafe { b.take_result() };
    match (a, b) {
        (Ok(a), Ok(b)) => (a, b),
        (Err(panic), _) | (_, Err(panic)) => resume_unwind(panic),
    }
}

/// Runs a half that declares its size: what it forks is a child of that task.
pub(super) fn run_child<W: Work>(worker: &Worker, index: u32, work: W) -> W::Output {
    let task = child(worker.task(), index, &work);
    let inner = worker.inner_task(&task);
    let _until_return = worker.enter(&inner);
    work.run()
}

/// The `index`-th child of `parent`, with what `work` declares.
fn child<W: Work>(parent: &TaskInfo, index: u32, work: &W) -> TaskInfo {
    let (size, strand) = sizes_of(work);
    parent.child(index, size, strand)
}
