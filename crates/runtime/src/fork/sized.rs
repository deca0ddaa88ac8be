//! Forks that declare their sizes.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
};

use befit_machine::Bytes;
use befit_sched::{ForkOrder, Task};

use super::{Frame, OpenFork, join_open};
use crate::{engine::NoUnwind, fit::Work, latch::Latch, pool::Worker};

/// [`crate::join`] where at least one half declares its size.
#[inline(always)]
pub(super) fn join<A, B>(worker: &Worker, a: A, b: B) -> (A::Output, B::Output)
where
    A: Work + Send,
    B: Work + Send,
    A::Output: Send,
    B::Output: Send,
{
    if let (Some(size_a), Some(size_b)) = (a.size(), b.size())
        && size_a.max(size_b) as u64 <= worker.thresholds().private.0
        && !worker.is_asked()
    {
        return plain_calls(a, b);
    }
    join_large(worker, a, b)
}

/// At least one half does not befit a private cache, or does not say so, or an idle worker asks for forks. Out of line,
/// so that it costs the plain calls no registers.
#[inline(never)]
fn join_large<A, B>(worker: &Worker, a: A, b: B) -> (A::Output, B::Output)
where
    A: Work + Send,
    B: Work + Send,
    A::Output: Send,
    B::Output: Send,
{
    let parent = worker.task();
    if worker.places(parent, &child(parent, 0, &a)) || worker.places(parent, &child(parent, 1, &b)) {
        return join_placed(worker, parent, a, b);
    }
    join_open(worker, a, b)
}

/// Both halves befit this worker's private cache and nobody is idle: there is no fork at all.
#[inline(always)]
fn plain_calls<A: Work, B: Work>(a: A, b: B) -> (A::Output, B::Output) {
    match catch_unwind(AssertUnwindSafe(|| a.run())) {
        Ok(a) => (a, b.run()),
        Err(panic) => after_a_panic(b, panic),
    }
}

#[cold]
#[inline(never)]
fn after_a_panic<B: Work>(b: B, panic: Box<dyn Any + Send>) -> ! {
    drop(catch_unwind(AssertUnwindSafe(|| b.run())));
    resume_unwind(panic)
}

/// The policy must place at least one half: both go through it, and this worker runs what the policy gives it until
/// both are done.
#[cold]
#[inline(never)]
fn join_placed<A, B>(worker: &Worker, parent: &Task, a: A, b: B) -> (A::Output, B::Output)
where
    A: Work + Send,
    B: Work + Send,
    A::Output: Send,
    B::Output: Send,
{
    let (task_a, task_b) = (child(parent, 0, &a), child(parent, 1, &b));
    let (a, b) = (Frame::new(a), Frame::new(b));
    // Two frames on this stack become known to others, so it must not be unwound before both are done.
    let no_unwind = NoUnwind;
    let limit = worker.forks().limit();
    // SAFETY: the frame is live until the wait below has seen its latch set, as are seat and limit, which are the
    // worker's; work and output are `Send`; it is handed out here only.
    let job_a = unsafe { OpenFork::hand_out(a.as_open(), Latch::new(worker.seat()), limit) };
    // SAFETY: as above.
    let job_b = unsafe { OpenFork::hand_out(b.as_open(), Latch::new(worker.seat()), limit) };
    // A worker's queue gives back what came last.
    let jobs = match worker.fork_order(parent) {
        ForkOrder::ChildFirst => [(job_b, task_b), (job_a, task_a)],
        ForkOrder::ParentFirst => [(job_a, task_a), (job_b, task_b)],
    };
    // SAFETY: handed out above.
    let latch_a = unsafe { a.latch() };
    // SAFETY: as above.
    let latch_b = unsafe { b.latch() };
    worker.give_and_wait(&jobs, [latch_a, latch_b]);
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

/// Runs a half that declares its size as a plain call: what it forks is a child of that task.
#[inline(always)]
pub(super) fn run_child<W: Work>(index: u32, work: W) -> W::Output {
    Worker::with_current_again(|worker| {
        let inner = worker.inner_task(child(worker.task(), index, &work));
        let _until_return = worker.enter(&inner);
        work.run()
    })
}

/// The `index`-th child of `parent`, with what `work` declares.
#[inline(always)]
fn child<W: Work>(parent: &Task, index: u32, work: &W) -> Task {
    let bytes = |n: usize| Bytes(n as u64);
    parent.child(index, work.size().map(bytes), work.strand().map(bytes))
}
