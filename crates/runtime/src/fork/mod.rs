//! The lower layer: [`join`], two plain calls where no fork is needed, and a frame on the stack
//! where nobody takes it.
//!
//! `README.md` beside this file says how forks are kept and handed out.

mod context;
mod frame;
mod grain;
mod inlined;
mod inlined_region;
mod list;
#[cfg(all(test, loom))]
mod loom;
mod sized;
mod steal_request;
#[cfg(all(test, not(loom)))]
mod tests;

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    thread,
};

pub use self::context::{FnContext, join_context};
pub(crate) use self::{
    frame::{Frame, PendingFork},
    inlined::{is_inlined, stack_pointer, steal_requests_of_this_thread},
    inlined_region::InlinedRegions,
    list::ForkList,
    steal_request::StealRequests,
};
use crate::{
    fit::Work,
    pool::{Worker, current_or_global},
};

/// Runs `a` and `b`, maybe in parallel, and returns both results.
///
/// The calling thread runs `a`; meanwhile another may run `b`, else the calling thread does so
/// afterwards. (Schedulers that place tasks may have other threads run both: `sb` where sizes ask
/// for it, `cats` and its like while they measure.) Called outside a pool, it runs in the global
/// pool, which is built at the first such call. Either may be a plain closure or one with its size
/// ([`fit`](crate::fit())).
///
/// Fork as finely as the program is written: where halves take less than is worth a fork, and
/// nobody is out of work, `join` calls them one after the other. It finds out where that is by
/// itself. A fork that no other thread takes costs a frame on the stack: no allocation, no atomic
/// read-modify-write.
///
/// ```
/// fn fib(n: u32) -> u64 {
///     if n < 2 {
///         return n.into();
///     }
///     let (a, b) = befit::join(|| fib(n - 1), || fib(n - 2));
///     a + b
/// }
/// assert_eq!(fib(20), 6765);
/// ```
///
/// # Panics
/// Both are run to their end whatever happens; then, if `a` panicked, the panic goes on in the
/// caller; else, if `b` panicked, its does.
///
/// # What may not be sent
/// `b` may run on another thread, so what it uses must be [`Send`]:
/// ```compile_fail,E0277
/// let shared = std::rc::Rc::new(1);
/// let copy = shared.clone();
/// befit::join(move || *shared, move || *copy);
/// ```
/// and so must what it returns:
/// ```compile_fail,E0277
/// befit::join(|| 1, || std::rc::Rc::new(2));
/// ```
#[inline]
pub fn join<A, B>(a: A, b: B) -> (A::Output, B::Output)
where
    A: Work<Closure: Send> + Send,
    B: Work<Closure: Send> + Send,
    A::Output: Send,
    B::Output: Send,
{
    if is_inlined() {
        return inlined::calls(a.into_closure(), b.into_closure());
    }
    if A::SIZED && B::SIZED {
        let (sizes_a, sizes_b) = ((a.size(), a.strand()), (b.size(), b.strand()));
        return sized::join_at_length(
            sizes_a.0,
            sizes_a.1,
            a.into_closure(),
            sizes_b.0,
            sizes_b.1,
            b.into_closure(),
        );
    }
    join_at_length(a, b)
}

/// [`join`] where a fork may be needed. Out of line, so that plain calls pay for nothing but
/// themselves.
#[inline(never)]
fn join_at_length<A, B>(a: A, b: B) -> (A::Output, B::Output)
where
    A: Work + Send,
    B: Work + Send,
    A::Output: Send,
    B::Output: Send,
{
    current_or_global(|worker| join_on(worker, a, b))
}

/// As [`join`], on a worker.
pub(crate) fn join_on<A, B>(worker: &Worker, a: A, b: B) -> (A::Output, B::Output)
where
    A: Work + Send,
    B: Work + Send,
    A::Output: Send,
    B::Output: Send,
{
    if A::SIZED || B::SIZED || worker.shows_forks() {
        sized::join(worker, a, b)
    } else {
        join_open(worker, a, b, true)
    }
}

/// The fork proper: links `b` into the worker's list, runs `a`, and then `b`, unless another thread
/// has taken it. `may_be_plain`: both halves may run without forks if they are foreseen to take
/// little time.
fn join_open<A, B>(worker: &Worker, a: A, b: B, may_be_plain: bool) -> (A::Output, B::Output)
where
    A: Work + Send,
    B: Work + Send,
    A::Output: Send,
    B::Output: Send,
{
    let frame = Frame::new(b, worker.inlined_regions().depth());
    // SAFETY: the frame stays on this stack until it is popped below, which nothing in between can
    // skip: `a`'s panics are caught, and the pool's own code aborts rather than unwinds; work and
    // output are `Send`; should it be handed out, the frame stays until its latch is seen set.
    unsafe { worker.open(frame.as_pending()) };
    let mut forked =
        worker.inlined_regions().forked(worker.requests(), may_be_plain.then(Frame::<B>::site));
    let a = match catch_unwind(AssertUnwindSafe(|| run_child(worker, 0, a))) {
        Ok(a) => a,
        Err(panic) => after_a_panic(worker, &frame, panic),
    };
    forked.first_has_ended();
    if worker.forks().youngest_is_published() {
        return after_handing_out(worker, &frame, a);
    }
    worker.forks().pop();
    // SAFETY: this is its owner, and it has not been handed out.
    let b = unsafe { frame.take_work() };
    // Forks that are older may be wanted, and `b` may make none.
    worker.serve(0);
    (a, run_child(worker, 1, b))
}

/// The end of a fork whose second half was handed out.
#[cold]
#[inline(never)]
fn after_handing_out<A, B: Work>(worker: &Worker, frame: &Frame<B>, a: A) -> (A, B::Output) {
    match wait_for(worker, frame) {
        Ok(b) => (a, b),
        Err(panic) => resume_unwind(panic),
    }
}

/// The end of a fork whose first half panicked.
#[cold]
#[inline(never)]
fn after_a_panic<B: Work>(worker: &Worker, frame: &Frame<B>, panic: Box<dyn Any + Send>) -> ! {
    if worker.forks().youngest_is_published() {
        drop(wait_for(worker, frame));
    } else {
        worker.forks().pop();
        // SAFETY: this is its owner, and it has not been handed out.
        let b = unsafe { frame.take_work() };
        drop(catch_unwind(AssertUnwindSafe(|| run_child(worker, 1, b))));
    }
    resume_unwind(panic)
}

/// Waits for a second half that was handed out; it is the youngest open fork.
fn wait_for<B: Work>(worker: &Worker, frame: &Frame<B>) -> thread::Result<B::Output> {
    // Even if it does not: the halves may have run at the same time.
    worker.inlined_regions().waits();
    // SAFETY: it has been handed out.
    let latch = unsafe { frame.latch() };
    if !latch.probe() {
        worker.give_and_wait(&[], [(latch, frame.as_ancestor())]);
    }
    worker.forks().pop_published();
    // SAFETY: this is its owner, the wait saw the latch set, and this is the only place that takes
    // it.
    unsafe { frame.take_result() }
}

/// Runs a fork's half. Where it declares its size, what it forks is a child of that.
fn run_child<W: Work>(worker: &Worker, index: u32, work: W) -> W::Output {
    if W::SIZED { sized::run_child(worker, index, work) } else { work.run() }
}
