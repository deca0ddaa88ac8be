//! The innermost layer: what a fork costs where none is needed.
//!
//! Within a *plain stretch* (when there is one: [`super::stretch`]) `join` is two calls. Before
//! them it compares its place on the stack with one word of the thread's, which says both how far
//! the stretch may reach and that nobody has asked for a fork. That is all, so that programs need
//! no cut-off of their own.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
};

use super::Asks;

#[cfg(not(loom))]
mod current {
    use std::{mem::MaybeUninit, ptr::NonNull};

    use super::Asks;

    thread_local! {
        /// Those of a thread that is no worker never change: it is in no stretch.
        static ASKS: Asks = const { Asks::new() };
    }

    /// Whether the calling thread is a worker in a plain stretch, of whom nobody wants anything.
    #[inline(always)]
    pub(crate) fn is_plain() -> bool {
        // Its address is about the caller's stack pointer.
        let here = MaybeUninit::<u8>::uninit();
        ASKS.with(|asks| asks.is_plain((&raw const here).addr()))
    }

    /// The stack pointer, about.
    #[inline(never)]
    pub(crate) fn stack_pointer() -> usize {
        let here = MaybeUninit::<u8>::uninit();
        (&raw const here).addr()
    }

    /// The calling thread's asks; good until it ends.
    pub(crate) fn asks_of_this_thread() -> NonNull<Asks> {
        ASKS.with(|asks| NonNull::from(asks))
    }
}

#[cfg(loom)]
mod current {
    //! The models have neither workers nor stretches.
    use std::ptr::NonNull;

    use super::Asks;

    pub(crate) fn is_plain() -> bool {
        false
    }

    pub(crate) fn stack_pointer() -> usize {
        usize::MAX / 2
    }

    pub(crate) fn asks_of_this_thread() -> NonNull<Asks> {
        NonNull::from(Box::leak(Box::new(Asks::new())))
    }
}

pub(crate) use self::current::{asks_of_this_thread, is_plain, stack_pointer};

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
