//! Two closures, one after the other.

use std::{
    marker::PhantomData,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
};

use befit_record::inside;

use super::{declared, in_region};
use crate::Work;

/// Runs `a`, then `b`, and records them as two children that one sync waits for. Like the real one
/// it runs `b` even if `a` panics, and then goes on with `a`'s panic.
#[inline]
pub fn join<A, B>(a: A, b: B) -> (A::Output, B::Output)
where
    A: Work + Send,
    B: Work + Send,
    A::Output: Send,
    B::Output: Send,
{
    in_region(|| {
        let both = inside::Scope::new();
        let a = catch_unwind(AssertUnwindSafe(|| both.task(declared(&a), || a.run())));
        let b = catch_unwind(AssertUnwindSafe(|| both.task(declared(&b), || b.run())));
        match (a, b) {
            (Ok(a), Ok(b)) => (a, b),
            (Err(panic), _) | (Ok(_), Err(panic)) => resume_unwind(panic),
        }
    })
}

/// As [`join`]; nothing migrates.
#[inline]
pub fn join_context<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    join(
        move || a(FnContext { not_send: PhantomData }),
        move || b(FnContext { not_send: PhantomData }),
    )
}

/// What a half of a [`join_context`] is told.
#[derive(Debug)]
pub struct FnContext {
    not_send: PhantomData<*const ()>,
}

impl FnContext {
    /// No.
    #[inline]
    pub fn migrated(&self) -> bool {
        false
    }
}
