//! The lower layer: [`join`] is two inlined calls where no fork is needed, else a *pending fork*, a
//! frame on the stack.
//!
//! `README.md` beside this file specifies how forks are kept and published.

mod frame;
mod inlined_region;
mod steal_request;

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    thread,
};

use befit_sched::{ForkOrder, TaskInfo};

pub(crate) use self::{
    frame::{ForkList, Frame, PendingFork},
    inlined_region::InlinedRegions,
    steal_request::{
        Opened, Reachable, StealRequests, is_inlined, stack_pointer, steal_requests_of_this_thread,
    },
};
use super::{
    current_or_global,
    engine::{About, NoUnwind},
    latch::Latch,
    worker::Worker,
};
use crate::{Fit, Work, api::calls};

/// [`crate::join`]: two inlined calls, or a fork.
#[inline]
pub(crate) fn join<A, B>(a: A, b: B) -> (A::Output, B::Output)
where
    A: Work<Closure: Send> + Send,
    B: Work<Closure: Send> + Send,
    A::Output: Send,
    B::Output: Send,
{
    if is_inlined() {
        return calls(a.into_closure(), b.into_closure());
    }
    if A::SIZED && B::SIZED {
        // Put together anew: where the calls are inlined, sizes and closures then stay in
        // registers.
        return join_at_length(Fit::of(a), Fit::of(b));
    }
    join_at_length(a, b)
}

/// [`join`] where a fork may be needed. It is out of line, so that inlined calls pay for nothing
/// but themselves.
#[inline(never)]
pub(crate) fn join_at_length<A, B>(a: A, b: B) -> (A::Output, B::Output)
where
    A: Work + Send,
    B: Work + Send,
    A::Output: Send,
    B::Output: Send,
{
    current_or_global(|worker| join_on(worker, a, b))
}

/// As [`join`], on a worker.
fn join_on<A, B>(worker: &Worker, a: A, b: B) -> (A::Output, B::Output)
where
    A: Work + Send,
    B: Work + Send,
    A::Output: Send,
    B::Output: Send,
{
    if A::SIZED || B::SIZED || worker.looks_at_forks() {
        join_sized(worker, a, b)
    } else {
        join_pending(worker, a, b, None, true)
    }
}

/// The fork proper: links `b` into the worker's list, runs `a`, and then `b`, unless another thread
/// has taken it. What the halves fork are children of `tasks`, or of the running task if that is
/// none. `may_be_inlined`: both halves may run without forks if they are predicted to take little
/// time.
fn join_pending<A, B>(
    worker: &Worker,
    a: A,
    b: B,
    tasks: Option<[&TaskInfo; 2]>,
    may_be_inlined: bool,
) -> (A::Output, B::Output)
where
    A: Work + Send,
    B: Work + Send,
    A::Output: Send,
    B::Output: Send,
{
    let frame = Frame::new(b, worker.inlined_regions().depth());
    let site = may_be_inlined.then(Frame::<B>::site);
    // SAFETY: the frame stays on this stack until it is popped below, which nothing in between can
    // skip: `a`'s panics are caught, and the pool's own code aborts rather than unwinds; work and
    // output are `Send`; should it be published, the frame stays until its latch is seen set.
    unsafe { worker.push_fork(frame.as_pending(), site) };
    let mut forked = worker.inlined_regions().begin_fork(worker.requests(), site);
    let [task_a, task_b] = tasks.map_or([None; 2], |[a, b]| [Some(a), Some(b)]);
    let a = match catch_unwind(AssertUnwindSafe(|| run_child(worker, task_a, a))) {
        Ok(a) => a,
        Err(panic) => after_a_panic(worker, &frame, task_b, panic),
    };
    forked.first_has_ended();
    if !worker.unlinks(frame.as_pending()) {
        return join_published(worker, &frame, a);
    }
    // SAFETY: this is its owner, and no other thread has it.
    let b = unsafe { frame.take_work() };
    // Another worker may have requested a fork: older ones may be private, and `b` may make none.
    worker.serve(0, site);
    (a, run_child(worker, task_b, b))
}

/// The end of a fork whose second half was published.
#[cold]
#[inline(never)]
fn join_published<A, B: Work>(worker: &Worker, frame: &Frame<B>, a: A) -> (A, B::Output) {
    match wait_for(worker, frame) {
        Ok(b) => (a, b),
        Err(panic) => resume_unwind(panic),
    }
}

/// The end of a fork whose first half panicked.
#[cold]
#[inline(never)]
fn after_a_panic<B: Work>(
    worker: &Worker,
    frame: &Frame<B>,
    task: Option<&TaskInfo>,
    panic: Box<dyn Any + Send>,
) -> ! {
    if !worker.unlinks(frame.as_pending()) {
        drop(wait_for(worker, frame));
    } else {
        // SAFETY: this is its owner, and no other thread has it.
        let b = unsafe { frame.take_work() };
        drop(catch_unwind(AssertUnwindSafe(|| run_child(worker, task, b))));
    }
    resume_unwind(panic)
}

/// Waits for a second half that was published; it is the youngest pending fork.
fn wait_for<B: Work>(worker: &Worker, frame: &Frame<B>) -> thread::Result<B::Output> {
    // Also where the latch is set already: the halves may have run at the same time, and
    // then their time is no measure.
    worker.inlined_regions().waits();
    // SAFETY: it has been published.
    let latch = unsafe { frame.latch() };
    if !latch.probe() {
        worker.give_and_wait(&[], &[(latch, frame.as_ancestor())]);
    }
    worker.forks().pop_published();
    // SAFETY: this is its owner, the wait saw the latch set, and this is the only place that takes
    // it.
    unsafe { frame.take_result() }
}

/// Runs a fork's half. What it forks is a child of `task`, or of the running task.
#[inline(always)]
fn run_child<W: Work>(worker: &Worker, task: Option<&TaskInfo>, work: W) -> W::Output {
    let Some(task) = task else { return work.run() };
    let inner = worker.inner_task(task);
    let _until_return = worker.enter(&inner);
    work.run()
}

/// [`join`] where at least one half declares its size, or the policy may have to see it although
/// none does.
fn join_sized<A, B>(worker: &Worker, a: A, b: B) -> (A::Output, B::Output)
where
    A: Work + Send,
    B: Work + Send,
    A::Output: Send,
    B::Output: Send,
{
    let parent = worker.task();
    let (task_a, a_is_sized) = child(worker, parent, 0, &a);
    let (task_b, b_is_sized) = child(worker, parent, 1, &b);
    let (task_a, task_b) = (task_a.beside(task_b.size), task_b.beside(task_a.size));
    if (worker.shows_forks() && !worker.hides_fork(Frame::<B>::site()))
        || worker.must_be_placed(parent, &task_a)
        || worker.must_be_placed(parent, &task_b)
    {
        worker.counters().sized.add(u64::from(a_is_sized) + u64::from(b_is_sized));
        return join_placed(worker, parent, (a, task_a), (b, task_b));
    }
    let tasks = (a_is_sized || b_is_sized).then_some([&task_a, &task_b]);
    let may_be_inlined = tasks.is_none_or(|tasks| worker.may_be_inlined(tasks));
    join_pending(worker, a, b, tasks, may_be_inlined)
}

/// [`join`] where the policy must place at least one half, or must see both. Both are published at
/// once, and this worker runs what the policy gives it until both are done.
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
    // Two frames on this stack are published: it must not be unwound before both are done.
    let no_unwind = NoUnwind;
    let (requests, lineage) = (worker.requests(), worker.lineage());
    // SAFETY: the frame is live until the wait below has seen its latch set, as are the worker's
    // parker, requests and lineage; work and output are `Send`; it is published here only.
    let job_a = unsafe {
        PendingFork::publish(a.as_pending(), Latch::new(worker.parker()), requests, lineage)
    };
    // SAFETY: as above.
    let job_b = unsafe {
        PendingFork::publish(b.as_pending(), Latch::new(worker.parker()), requests, lineage)
    };
    // A worker's queue gives back what came last.
    let jobs = match worker.engine().policy.fork_order(parent) {
        ForkOrder::ChildFirst => [(job_b, task_b), (job_a, task_a)],
        ForkOrder::ParentFirst => [(job_a, task_a), (job_b, task_b)],
    };
    // SAFETY: published above.
    let latch_a = unsafe { a.latch() };
    // SAFETY: as above.
    let latch_b = unsafe { b.latch() };
    worker.counters().forks.bump();
    worker.count_published(2);
    worker.give_and_wait(&jobs, &[(latch_a, a.as_ancestor()), (latch_b, b.as_ancestor())]);
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

/// The `index`-th child of `parent`, with what is known of `work`; and whether it has a size of its
/// own.
fn child<W: Work>(worker: &Worker, parent: &TaskInfo, index: u32, work: &W) -> (TaskInfo, bool) {
    let about = About::work(work);
    let (size, strand) = if worker.looks_at_forks() {
        let depth = worker.inlined_regions().depth() + 1;
        // SAFETY: the closure is here.
        unsafe { worker.sizes(&about, index, depth, worker.running()) }
    } else {
        about.declared
    };
    (parent.child(index, size, strand), size.is_some())
}
