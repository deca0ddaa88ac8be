//! The innermost layer: what a fork costs where none is needed.
//!
//! Within a *plain stretch* (when there is one: [`super::inlined_region`]) `join` is two calls.
//! Before them it compares its place on the stack with one word of the thread's, which says both
//! how far the stretch may reach and that nobody has asked for a fork. That is all, so that
//! programs need no cut-off of their own.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
};

use super::StealRequests;

#[cfg(not(loom))]
mod current {
    use std::{mem::MaybeUninit, ptr::NonNull};

    use super::StealRequests;

    thread_local! {
        /// Those of a thread that is no worker never change: it is in no stretch.
        static STEAL_REQUESTS: StealRequests = const { StealRequests::new() };
    }

    /// Whether the calling thread is a worker in a plain stretch, of whom nobody wants anything.
    #[inline(always)]
    pub(crate) fn is_inlined() -> bool {
        // Its address is about the caller's stack pointer.
        let here = MaybeUninit::<u8>::uninit();
        STEAL_REQUESTS.with(|requests| requests.is_inlined((&raw const here).addr()))
    }

    /// The stack pointer, about.
    #[inline(never)]
    pub(crate) fn stack_pointer() -> usize {
        let here = MaybeUninit::<u8>::uninit();
        (&raw const here).addr()
    }

    /// The calling thread's asks; good until it ends.
    pub(crate) fn steal_requests_of_this_thread() -> NonNull<StealRequests> {
        STEAL_REQUESTS.with(|requests| NonNull::from(requests))
    }
}

#[cfg(loom)]
mod current {
    //! The models have neither workers nor stretches.
    use std::ptr::NonNull;

    use super::StealRequests;

    pub(crate) fn is_inlined() -> bool {
        false
    }

    pub(crate) fn stack_pointer() -> usize {
        usize::MAX / 2
    }

    pub(crate) fn steal_requests_of_this_thread() -> NonNull<StealRequests> {
        NonNull::from(Box::leak(Box::new(StealRequests::new())))
    }
}

pub(crate) use self::current::{is_inlined, stack_pointer, steal_requests_of_this_thread};

/// `a`, then `b`, also if `a` panics.
#[inline(always)]
pub(super) fn calls<A: FnOnce() -> X, B: FnOnce() -> Y, X, Y>(a: A, b: B) -> (X, Y) {
    match catch_unwind(AssertUnwindSafe(a)) {
        Ok(a) => (a, b()),
        Err(panic) => after_a_panic(b, panic),
    }
}

#[cold]
#[inline(never)]
fn after_a_panic<B: FnOnce() -> Y, Y>(b: B, panic: Box<dyn Any + Send>) -> ! {
    drop(catch_unwind(AssertUnwindSafe(b)));
    resume_unwind(panic)
}
