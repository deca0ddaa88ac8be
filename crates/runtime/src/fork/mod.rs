//! The lower layer: [`join`], as cheap as a fork can be while nobody needs its second half.
//!
//! `README.md` beside this file says how forks are kept and handed out.

mod context;
mod frame;
mod list;
#[cfg(all(test, loom))]
mod loom;
mod sized;
#[cfg(all(test, not(loom)))]
mod tests;

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    thread,
};

use befit_sched::Task;

pub use self::context::{FnContext, join_context};
pub(crate) use self::{
    frame::{Frame, OpenFork},
    list::ForkList,
};
use crate::{
    fit::Work,
    pool::{Worker, global},
};

/// Runs `a` and `b`, maybe in parallel, and returns both results.
///
/// The calling thread runs `a`; meanwhile another may run `b`, else the calling thread does so afterwards. Called
/// outside a pool, it runs in the global pool, which is built at the first such call. Either may be a plain closure or
/// one with its size ([`fit`](crate::fit())).
///
/// A fork that no other thread takes costs a few stores on the stack: no lock, no allocation, no atomic
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
/// Both are run to their end whatever happens; then, if `a` panicked, the panic goes on in the caller; else, if `b`
/// panicked, its does.
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
    A: Work + Send,
    B: Work + Send,
    A::Output: Send,
    B::Output: Send,
{
    Worker::with_current(|worker| match worker {
        Some(worker) => join_on(worker, a, b),
        None => global().install_outside(Task::root(None, None), |worker| join_on(worker, a, b)),
    })
}

/// As [`join`], on a worker.
#[inline(always)]
pub(crate) fn join_on<A, B>(worker: &Worker, a: A, b: B) -> (A::Output, B::Output)
where
    A: Work + Send,
    B: Work + Send,
    A::Output: Send,
    B::Output: Send,
{
    if A::SIZED || B::SIZED { sized::join(worker, a, b) } else { join_open(worker, a, b) }
}

/// The fork proper: links `b` into the worker's list, runs `a`, and then `b`, unless another thread has taken it.
///
/// What it costs is mostly stores, those that save registers across the calls included. Therefore nothing is kept
/// across the call of `a` that can be found again, and everything that is not a common case is out of line.
#[inline(always)]
fn join_open<A, B>(worker: &Worker, a: A, b: B) -> (A::Output, B::Output)
where
    A: Work + Send,
    B: Work + Send,
    A::Output: Send,
    B::Output: Send,
{
    let frame = Frame::new(b);
    let forks = worker.forks();
    if forks.may_push() {
        // SAFETY: there is room; the frame stays on this stack until it is popped below, which nothing in between can
        // skip: `a`'s panics are caught, and the pool's own code aborts rather than unwinds.
        unsafe { forks.push(frame.as_open()) };
    } else {
        // SAFETY: as above; further, work and output are `Send`, and the frame stays until its latch is seen set.
        unsafe { worker.push_slowly(frame.as_open()) };
    }

    let a = match catch_unwind(AssertUnwindSafe(|| run_child(0, a))) {
        Ok(a) => a,
        Err(panic) => after_a_panic(&frame, panic),
    };

    Worker::with_current_again(|worker| {
        if worker.forks().youngest_is_handed_out() {
            return after_handing_out(worker, &frame, a);
        }
        worker.forks().pop();
        // SAFETY: this is its owner, and it has not been handed out.
        let b = unsafe { frame.take_work() };
        (a, run_child(1, b))
    })
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
fn after_a_panic<B: Work>(frame: &Frame<B>, panic: Box<dyn Any + Send>) -> ! {
    Worker::with_current_again(|worker| {
        if worker.forks().youngest_is_handed_out() {
            drop(wait_for(worker, frame));
        } else {
            worker.forks().pop();
            // SAFETY: this is its owner, and it has not been handed out.
            let b = unsafe { frame.take_work() };
            drop(catch_unwind(AssertUnwindSafe(|| run_child(1, b))));
        }
    });
    resume_unwind(panic)
}

/// Waits for a second half that was handed out; it is the youngest open fork.
fn wait_for<B: Work>(worker: &Worker, frame: &Frame<B>) -> thread::Result<B::Output> {
    // SAFETY: it has been handed out.
    worker.wait(unsafe { frame.latch() });
    worker.forks().pop_handed_out();
    // SAFETY: this is its owner, the wait saw the latch set, and this is the only place that takes it.
    unsafe { frame.take_result() }
}

/// Runs a fork's half as a plain call. Where it declares its size, what it forks is a child of that.
#[inline(always)]
fn run_child<W: Work>(index: u32, work: W) -> W::Output {
    if W::SIZED { sized::run_child(index, work) } else { work.run() }
}
